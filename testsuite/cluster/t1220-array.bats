#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Arrays: refused whole, or funded task by task; never one lien for all.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 10.
  fixed_rate 600
  cluster_set charge used
  cluster_start
  open_account physics 55 games
  open_account rich 1000 games
  run_for 30 >"$CLUSTER_DIR/run/for-30"
  chmod 755 "$CLUSTER_DIR/run"
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

open_liens() { ledger "select count(*) from segment where status = 'open' and account = 'physics'"; }

liens_count_is() { [[ $(open_liens) -eq $1 ]]; }

# task N: the job id of a task of the array
task() { squeue -h -a -t all -r -O JobArrayID:40,JobID:20 | awk -v id="$1_$2" '$1 == id {print $2}'; }

@test "every task is a bid and a bill of its own" {
  accepted games -A rich --array=1-3 -n 1 -t 1 --budget=10 --wrap true
  [[ $SAID == *"3 tasks accepted for 30.00"* ]]
  local array=$JOB
  cluster_wait 60 is_settled_array "$array" 3
  [ "$(ledger "select count(*) from segment where array_job_id = $array and quoted = 10000000 and state = 'COMPLETED'")" -eq 3 ]
  [ "$(sbill -n -P -j "$array" --format=JobID | wc -l)" -eq 3 ]
}

is_settled_array() {
  [[ $(ledger "select count(*) from segment where array_job_id = $1 and status <> 'open'") -eq $2 ]]
}

@test "refused as a whole when the account cannot pay all tasks" {
  refused "needs 100.00, available 55.00" games -A physics --array=1-10 -n 1 -t 1 --budget=10 --wrap true
  [ "$(liens physics)" -eq 0 ]
}

@test "task by task: five run, five wait for funds, and freed credits fund the sixth" {
  cluster_reset arrays per_task no_funds wait
  accepted games -A physics --array=1-10 -n 1 -t 1 --budget=10 "$CLUSTER_DIR/run/for-30"
  local array=$JOB waiting n
  [[ $SAID == *"5 tasks accepted for 50.00"* && $SAID == *"5 tasks wait for funds"* ]]
  cluster_wait 10 liens_count_is 5
  [ "$(liens physics)" -eq 50000000 ]
  cluster_wait 20 running_are "$array" 5
  waiting=$(squeue -h -r -t PD -j "$array" -o %A)
  [ "$(wc -l <<<"$waiting")" -eq 5 ]
  # Two that wait are cancelled: nothing is charged.
  head -n 2 <<<"$waiting" | xargs scancel
  # One that runs is cancelled at half time: 5 is charged, 5 comes back, and the next task gets its lien.
  n=$(squeue -h -r -t R -j "$array" -o %A | head -n 1)
  cancel_at "$n" 30
  wait_settled "$n"
  [ "$(field "$n" 0 elapsed)" -eq 30 ]
  [ "$(field "$n" 0 charged)" -eq 5000000 ]
}

running_are() { [[ $(squeue -h -r -t R -j "$1" -o %A | wc -l) -eq $2 ]]; }

@test "all is well" {
  scancel -u games
  cluster_wait 60 cluster_no_jobs
  all_is_well
}

@test "tasks kept waiting by their own array's limit are not late through the cluster's fault" {
  accepted games -A rich --array=1-2%1 -n 1 -t 1 --budget=10 --wrap "sleep 40"
  local array=$JOB
  cluster_wait 120 is_settled_array "$array" 2
  [ "$(ledger "select count(*) from segment where array_job_id = $array and state = 'COMPLETED' and charged > 0")" -eq 2 ]
  [ "$(ledger "select sum(refunded) from segment where array_job_id = $array")" -eq 0 ]
}
