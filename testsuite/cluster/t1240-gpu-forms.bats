#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The same GPUs cost the same however they are asked for; a better type costs more, a CPU job much less.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_GRES=gpu:a100:4,gpu:t4:4
  fixed_rate 0.6
  cluster_set prices.weights '({tres = "cpu"; weight = "1";}, {tres = "gres/gpu"; weight = "15";},
    {tres = "gres/gpu:a100"; weight = "60";}, {tres = "gres/gpu:t4"; weight = "8";})'
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# charge_of SBATCH-ARGUMENT…: runs a job for one minute's price.
charge_of() {
  accepted games -A physics -t 1 --budget=100 "$@" --wrap true
  wait_settled "$JOB"
  field "$JOB" 0 charged
}

# billing CPUS GPUS WEIGHT → micro-credits for one minute at 0.6 an hour
billing() { price $(($1 + $2 * $3)) 60 0.6; }

@test "four forms of four GPUs on one node with four CPUs" {
  local expected
  expected=$(billing 4 4 15)
  [ "$(charge_of -n 4 -N 1 --gres=gpu:4)" -eq "$expected" ]
  [ "$(charge_of -n 4 -N 1 --gpus=4)" -eq "$expected" ]
  [ "$(charge_of -n 4 -N 1 --gpus-per-node=4)" -eq "$expected" ]
  [ "$(charge_of -n 4 -N 1 --gpus-per-task=1)" -eq "$expected" ]
}

@test "a typed GPU costs its own weight: 240 against 32" {
  [ "$(charge_of -n 1 --gres=gpu:a100:4)" -eq "$(billing 1 4 60)" ]
  [ "$(charge_of -n 1 --gres=gpu:t4:4)" -eq "$(billing 1 4 8)" ]
  [ "$(charge_of -n 1 --gpus=a100:4 -N 1)" -eq "$(billing 1 4 60)" ]
}

@test "a job of CPUs alone costs much less" {
  [ "$(charge_of -n 4)" -eq "$(billing 4 0 0)" ]
}

@test "more GPUs than there are: refused with a clear line" {
  refused "" games -A physics -t 1 -n 1 -N 1 --gres=gpu:a100:5 --budget=100 --wrap true
}

@test "all is well" { all_is_well; }
