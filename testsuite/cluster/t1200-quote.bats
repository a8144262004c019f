#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What a job would cost, to the number: sum and greatest TRES, fractions kept, nothing reserved.

load lib/market

WEIGHTS='({tres = "cpu"; weight = "1";}, {tres = "mem"; weight = "0.25";}, {tres = "gres/gpu"; weight = "15";})'

setup_file() {
  cluster_new
  export CLUSTER_SELECT=CR_Core_Memory
  fixed_rate 0.1
  cluster_set prices.weights "$WEIGHTS"
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

quoted() { cluster_as games smarket quote -A physics -n 2 --mem=32G -t 3:00:00 --json | jq -r '.. | .price? // empty' | head -n 1; }

@test "2 CPUs and 32 GB for 3 hours at 0.100 cost 3.000 by the sum rule" {
  [ "$(micro "$(quoted)")" -eq 3000000 ]
}

@test "for a person the quote tells price, hours and what can be paid; nothing is written" {
  local before
  before=$(ledger "select count(*) from transfer")
  run cluster_as games smarket quote -A physics -n 2 --mem=32G -t 3:00:00
  [ "$status" -eq 0 ]
  [[ $output == *3.00* && $output == *100.00* ]]
  [[ $output == *[Nn]othing*reserved* ]]
  [ "$(ledger "select count(*) from transfer")" -eq "$before" ]
  [ "$(ledger "select count(*) from segment")" -eq 0 ]
}

@test "2.400 by the greatest TRES" {
  cluster_reset prices.rule max_tres
  [ "$(micro "$(quoted)")" -eq 2400000 ]
}

@test "a weight of 0.3 keeps its fraction: 3.480" {
  cluster_reset prices.rule sum prices.weights "${WEIGHTS/0.25/0.3}"
  [ "$(micro "$(quoted)")" -eq 3480000 ]
}

@test "the job pays what was quoted" {
  cluster_reset prices.weights "$WEIGHTS"
  accepted games -A physics -n 2 --mem=32G -t 3:00:00 --budget=3 --wrap true
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 3000000 ]
}

@test "all is well" { all_is_well; }
