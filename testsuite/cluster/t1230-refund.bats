#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Refunds: by policy when the system failed, by hand up to what was charged, never for what the job did itself.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 12.
  fixed_rate 720
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

@test "a node that fails costs nothing; the same job requeued and completing is charged" {
  local job node before
  before=$(posted physics)
  accepted games -A physics -n 1 -t 1 --budget=12 --requeue --wrap "sleep 8"
  job=$JOB
  cluster_wait_state RUNNING "$job"
  node=$(squeue -h -j "$job" -o %N)
  scontrol update nodename="$node" state=down reason=test
  wait_settled "$job"
  scontrol update nodename="$node" state=resume
  [ "$(field "$job" 0 state)" = NODE_FAIL ]
  [ "$(field "$job" 0 charged)" -eq 0 ]
  wait_settled "$job" 1 90
  [ "$(field "$job" 1 state)" = COMPLETED ]
  [ "$(field "$job" 1 charged)" -eq 12000000 ]
  [ "$(posted physics)" -eq $((before - 12000000)) ]
  [ "$(sbill -n -P -j "$job" --format=Restarts,State,Charged | paste -sd' ')" = "0|NODE_FAIL|0.00 1|COMPLETED|12.00" ]
}

@test "policy refund: charged and refunded, both to be seen" {
  local job node before
  cluster_reset ends.node_fail refund
  before=$(posted physics)
  accepted games -A physics -n 1 -t 1 --budget=12 --no-requeue --wrap "sleep 50"
  job=$JOB
  cluster_wait_state RUNNING "$job"
  node=$(squeue -h -j "$job" -o %N)
  scontrol update nodename="$node" state=down reason=test
  wait_settled "$job"
  scontrol update nodename="$node" state=resume
  [ "$(field "$job" 0 charged)" -eq 12000000 ]
  [ "$(field "$job" 0 refunded)" -eq 12000000 ]
  [ "$(posted physics)" -eq "$before" ]
  [ "$(ledger "select count(*) from transfer join segment on segment.id = segment where job_id = $job and kind in ('charge', 'refund')")" -eq 2 ]
}

@test "by hand: 8 of 12, then not another 8" {
  local before job
  accepted games -A physics -n 1 -t 1 --budget=12 --wrap true
  job=$JOB
  wait_settled "$job"
  before=$(posted physics)
  smarket refund "$job" 8 --note "slow disk"
  [ "$(posted physics)" -eq $((before + 8000000)) ]
  run smarket refund "$job" 8
  [ "$status" -ne 0 ]
  [[ $output == *"4"*"refundable"* ]]
  smarket refund "$job" 4
  [ "$(posted physics)" -eq $((before + 12000000)) ]
}

@test "after the window an operator has to insist" {
  local job
  cluster_reset refund_window 0:01
  accepted games -A physics -n 1 -t 1 --budget=12 --wrap true
  job=$JOB
  wait_settled "$job"
  sleep 2
  run smarket refund "$job" 8
  [ "$status" -ne 0 ]
  smarket refund "$job" 8 --force --note "agreed"
  [ "$(field "$job" 0 refunded)" -eq 8000000 ]
}

@test "an ordinary user refunds nothing" {
  local job
  job=$(ledger "select job_id from segment where charged > refunded limit 1")
  run cluster_as games smarket refund "$job" 1 --force
  [ "$status" -ne 0 ]
}

@test "failed, cancelled by its owner, out of time: charged, no refund" {
  local failed cancelled timed
  accepted games -A physics -n 1 -t 1 --budget=12 --wrap "sleep 1000"
  timed=$JOB
  accepted games -A physics -n 1 -t 1 --budget=12 --wrap false
  failed=$JOB
  accepted games -A physics -n 1 -t 1 --budget=12 --wrap "sleep 50"
  cancelled=$JOB
  cluster_wait_state RUNNING "$cancelled"
  sleep 2
  cluster_as games scancel "$cancelled"
  wait_settled "$failed"
  wait_settled "$cancelled"
  [ "$(field "$failed" 0 state)" = FAILED ]
  [ "$(field "$failed" 0 charged)" -eq 12000000 ]
  [ "$(field "$cancelled" 0 charged)" -eq 12000000 ]
  [ "$(field "$cancelled" 0 state)" = CANCELLED ]
  wait_settled "$timed" 0 120
  [ "$(field "$timed" 0 state)" = TIMEOUT ]
  [ "$(field "$timed" 0 charged)" -eq 12000000 ]
  [ "$(field "$timed" 0 refunded)" -eq 0 ]
}

@test "all is well" { all_is_well; }
