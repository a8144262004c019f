#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What can happen to a job, each with the right bill or the right release.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  CLUSTER_SLURM_EXTRA='PartitionName=extra Nodes=ALL State=UP'
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# charged JOB STATE CREDITS [RESTART]
charged() {
  wait_settled "$1" "${4:-0}" 90
  [ "$(field "$1" "${4:-0}" state)" = "$2" ]
  [ "$(field "$1" "${4:-0}" charged)" -eq "$(micro "$3")" ]
}

@test "--begin: not before its time, at its price" {
  local begin
  begin=$(($(date +%s) + 15))
  accepted games -A physics -n 1 -t 1 --budget=1 --begin="$(date -d "@$begin" +%FT%T)" --wrap true
  charged "$JOB" COMPLETED 1
  [ "$(field "$JOB" 0 start)" -ge "$begin" ]
}

@test "a dependency: the later job runs after the earlier one, both pay" {
  local first
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 5"
  first=$JOB
  accepted games -A physics -n 1 -t 1 --budget=1 --dependency=afterok:"$first" --wrap true
  charged "$first" COMPLETED 1
  charged "$JOB" COMPLETED 1
  [ "$(field "$JOB" 0 start)" -ge "$(field "$first" 0 end)" ]
}

@test "a dependency that can never be met: cancelled, nothing charged" {
  local first
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap false
  first=$JOB
  accepted games -A physics -n 1 -t 1 --budget=1 --dependency=afterok:"$first" --kill-on-invalid-dep=yes --wrap true
  charged "$first" FAILED 1
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 0 ]
}

@test "cancelled before its start: nothing charged, the lien returns" {
  local before
  before=$(posted physics)
  accepted games -A physics -n 4 -t 1 --budget=4 --begin=now+5minutes --wrap true
  cluster_wait 10 liens_are physics 4000000
  cluster_as games scancel "$JOB"
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 0 ]
  [ "$(posted physics)" -eq "$before" ]
  cluster_wait 5 liens_are physics 0
}

@test "cancelled at once, before the market saw it: nothing is left" {
  local before
  before=$(posted physics)
  for _ in 1 2 3 4 5; do
    accepted games -A physics -n 4 -t 1 --budget=4 --begin=now+5minutes --wrap true
    scancel "$JOB"
  done
  cluster_wait 15 liens_are physics 0
  [ "$(posted physics)" -eq "$before" ]
}

@test "cancelled while it runs: charged by the rule" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 50"
  cluster_wait_state RUNNING "$JOB"
  sleep 2
  cluster_as games scancel "$JOB"
  charged "$JOB" CANCELLED 1
}

@test "held by its user and released" {
  accepted games -A physics -n 1 -t 1 --budget=1 -H --wrap true
  sleep 2
  cluster_is_state PENDING "$JOB"
  cluster_as games scontrol release "$JOB"
  charged "$JOB" COMPLETED 1
}

@test "requeued while it runs: both runs are charged" {
  accepted games -A physics -n 1 -t 1 --budget=1 --requeue --wrap "sleep 4"
  cluster_wait_state RUNNING "$JOB"
  sleep 1
  cluster_as games scontrol requeue "$JOB"
  charged "$JOB" REQUEUED 1 0
  charged "$JOB" COMPLETED 1 1
}

@test "suspended and resumed: the suspended time is told apart, the price stays" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 6"
  cluster_wait_state RUNNING "$JOB"
  scontrol suspend "$JOB"
  cluster_wait_state SUSPENDED "$JOB"
  sleep 5
  scontrol resume "$JOB"
  charged "$JOB" COMPLETED 1
  [ "$(field "$JOB" 0 suspended)" -ge 4 ]
  [ $(($(field "$JOB" 0 elapsed) + $(field "$JOB" 0 suspended))) -eq $(($(field "$JOB" 0 end) - $(field "$JOB" 0 start))) ]
}

@test "several partitions of which one does not exist: refused with a clear line" {
  refused "there is no partition nowhere" games -p main,nowhere -A physics -n 1 -t 1 --budget=1 --wrap true
}

@test "all is well" { all_is_well && cluster_wait 10 no_reservations; }
