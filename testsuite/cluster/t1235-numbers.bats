#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld loses its state and gives job numbers again: a refund is for one submission, and says for which.

load lib/market

setup_file() {
  export CLUSTER_NODES=1
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_start
  open_account physics 100 games
  open_account biology 100 daemon
  accepted games -A physics -n 6 -t 1 --budget=10 --wrap "sleep 1"
  wait_settled "$JOB"
  echo "$JOB" >"$CLUSTER_DIR/run/job"
  cluster_end slurmctld
  rm -rf "$CLUSTER_DIR"/state/*
  cluster_start_slurmctld
  cluster_wait 30 cluster_nodes_idle
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() {
  cluster_adopt
  FIRST=$(<"$CLUSTER_DIR/run/job")
}

@test "the newest submission has not been charged: nothing is refunded, and the other is named" {
  accepted daemon -A biology -n 2 -t 1 --budget=10 --begin=now+10 --wrap "sleep 1"
  [ "$JOB" -eq "$FIRST" ]
  cluster_wait 10 liens_are biology 2000000
  run smarket refund "$JOB" 1
  [ "$status" -ne 0 ]
  [[ $output == *"was charged; there are 20"* ]]
  [ "$(posted physics)" -eq 94000000 ]
}

newest_settled() { [[ $(ledger "select count(*) from segment where job_id = $FIRST and status = 'settled'") -eq 2 ]]; }

@test "the newest submission, no more than it was charged, and the answer says which" {
  cluster_wait 90 newest_settled
  run smarket refund "$FIRST" 5
  [ "$status" -ne 0 ]
  [[ $output == *"(biology): 5.00 asked, 2.00 refundable"* ]]
  run smarket refund "$FIRST" 2
  [ "$status" -eq 0 ]
  [[ $output == *"by daemon; not that of physics: --submit=20"*"biology: balance 100.00"* ]]
  [ "$(posted physics)" -eq 94000000 ]
}

@test "another submission by its time" {
  run smarket refund "$FIRST" 5 --submit="$(sbill -n -P -j "$FIRST" -A physics --format=Submit)"
  [ "$status" -eq 0 ]
  [[ $output == *"by games"*"physics: balance 99.00"* ]]
  [ "$(posted physics)" -eq 99000000 ]
  [ "$(posted biology)" -eq 100000000 ]
}

@test "all is well" { all_is_well; }
