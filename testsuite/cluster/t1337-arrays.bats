#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Arrays that are one bid: drawn task by task out of one record, billed their exact parts, taken back or owed.

load lib/market

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=16
  cluster_new
  cluster_set mechanism abacus
  cluster_set abacus.weight start
  cluster_set seed "the same lots in each run of these tests"
  cluster_set planning.auction_period 0:01
  cluster_set cancel_grace 0:05
  cluster_start
  open_account physics 10000 games daemon nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

array() { # USER TASKS BUDGET SLEEP SBATCH-ARGUMENT…
  local user=$1 tasks=$2 budget=$3 seconds=$4
  shift 4
  JOB=$(cluster_as "$user" sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --array="1-$tasks" --array-budget="$budget" "$@" \
    --wrap "sleep $seconds" 2>"$CLUSTER_DIR/run/said") && SAID=$(<"$CLUSTER_DIR/run/said")
}

all_settled() { cluster_no_jobs && no_liens; }
owed() { ledger "select coalesce(sum(charged - refunded), 0) from segment where user = '$1'"; }
segments() { ledger "select count(*) from segment where user = '$1'"; }

@test "one lien for 200 tasks, nothing of it is seen by others, three taken back return" {
  local id blocker
  blocker=$(sbatch --parsable -o /dev/null -n 16 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  array games 200 100 0
  [[ $SAID == *"market: 200 tasks accepted: "*100.00* ]]
  id=$JOB
  cluster_wait 30 liens_are physics 100000000
  [ "$(squeue -h | wc -l)" -eq 2 ]
  ! scontrol show job "$id" | grep -E '[^0-9]100([^0-9]|$)' || false
  ! squeue -h -j "$id" -o %all | grep -E '[^0-9]100([^0-9]|$)' || false
  cluster_as games scancel "${id}_5" "${id}_77" "${id}_200"
  cluster_wait 30 liens_are physics 98500000
  scancel "$blocker"
  cluster_wait 200 all_settled
  [ "$(owed games)" -eq 98500000 ]
  [ "$(segments games)" -eq 197 ]
  [ "$(liens physics)" -eq 0 ]
}

@test "a whole array taken back before its first start is free, after the grace of that it is owed" {
  local blocker
  blocker=$(sbatch --parsable -o /dev/null -n 16 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  array daemon 50 10 30
  cluster_wait 30 liens_are physics 10000000
  cluster_as daemon scancel "$JOB"
  cluster_wait 30 all_but "$blocker"
  [ "$(owed daemon)" -eq 0 ]
  scancel "$blocker"
  array daemon 50 10 30
  cluster_wait 30 eval '[[ $(squeue -h -t R -j "$JOB" | wc -l) -eq 16 ]]'
  sleep 6 # the grace is over
  cluster_as daemon scancel "$JOB"
  cluster_wait 60 all_settled
  [ "$(owed daemon)" -eq 10000000 ]
}
all_but() { [[ $(squeue -h -o %A) == "$1" && $(ledger "select count(*) from segment where status = 'open'") -eq 0 ]]; }

@test "three arrays of 300 tasks: 480 starts as the roots of their budgets, from three records" {
  local i ids=() users=(games daemon nobody) budgets=(100 200 150) most=0 lines blocker
  blocker=$(sbatch --parsable -o /dev/null -n 16 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  ledger "select coalesce(max(id), 0) from segment" >"$CLUSTER_DIR/run/last"
  for i in 0 1 2; do
    array "${users[i]}" 300 "${budgets[i]}" 4
    ids+=("$JOB")
  done
  cluster_wait 30 liens_are physics 450000000
  scancel "$blocker"
  until started_at_least 480; do
    lines=$(squeue -h | wc -l)
    ((lines > most)) && most=$lines
    sleep 1
  done
  cluster_cancel_all
  cluster_wait 60 all_settled
  ((most <= 16 + 3)) # never more than one record for each task that runs, and the arrays
  echo "# of 480 starts: $(counts | paste -sd' '), most lines of squeue: $most" >&3
  counts >"$CLUSTER_DIR/run/counts"
  # 480 × √100, √200, √150 of their sum, within three standard deviations.
  within games 131.9 && within daemon 186.5 && within nobody 161.6
}
first_starts() { ledger "select user from segment where id > $(<"$CLUSTER_DIR/run/last") and start > 0 order by start, job_id limit ${1:-480}"; }
started_at_least() { [[ $(first_starts "$1" | wc -l) -ge $1 ]]; }
counts() { first_starts | sort | uniq -c | awk '{ print $2 "=" $1 }'; }
within() { awk -F= -v user="$1" -v mean="$2" '$1 == user { p = mean / 480; d = $2 - mean; ok = d * d <= 9 * 480 * p * (1 - p) } END { exit !ok }' "$CLUSTER_DIR/run/counts"; }

@test "a crash of slurmctld between the draws changes no bill" {
  local before
  before=$(owed nobody)
  array nobody 60 30 5
  cluster_wait 30 eval '[[ $(squeue -h -t R -j "$JOB" | wc -l) -gt 0 ]]'
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 200 cluster_no_jobs -u nobody
  cluster_wait 60 no_liens
  [ $(($(owed nobody) - before)) -eq 30000000 ]
  cluster_cancel_all
}

@test "refused with what would do" {
  refused "--array-budget is for an array" games -A physics -n 1 -t 1 --array-budget=5 --wrap true
  refused "give --array-budget or one of --budget" games -A physics -n 1 -t 1 --array=1-5 --budget=1 --array-budget=5 --wrap true
  cluster_reset mechanism tycoon
  refused "--array-budget: only where starts are drawn by lot (abacus), not under tycoon" games -A physics -n 1 -t 1 --array=1-5 \
    --array-budget=5 --wrap true
}

@test "all is well" { all_is_well; }
