#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Pots whose shares are kept up among long runs: the market suspends the newest run of who holds too much.

load lib/market

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=16
  cluster_new
  cluster_set mechanism tycoon
  cluster_set tycoon.account user
  cluster_set tycoon.fund_max 1
  cluster_set tycoon.enforce suspend
  cluster_set tycoon.min_run 0
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 1000 games
  open_account biology 1000 daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

fund() { cluster_as "$1" smarket fund "${@:2}" >/dev/null; }
pot() { ledger "select posted from account where name = '@market:main/cpu/$1/$2'"; }
runs_of() { squeue -h -u "$1" -t RUNNING -o %C | paste -sd+ | sed 's/^$/0/' | bc; }
runs_at_least() { [[ $(runs_of "$1") -ge $2 ]]; }
sum_of() { ledger "select coalesce(sum(charged - refunded), 0) from segment where account = '@market:main/cpu/$1/$2'"; }

@test "one alone on all CPUs for 40 s has 2.577 of 10 credits left" {
  fund games main 10 --interval=0:30
  local job
  job=$(cluster_as games sbatch --parsable -o /dev/null -n 16 -t 1 <<<"$(run_for 40)" 2>/dev/null)
  wait_settled "$job" 0 90
  local left
  left=$(pot games physics)
  echo "# $left micro-credits left after $(field "$job" 0 elapsed) s" >&3
  # 10 · (29/30)^40 = 2.577
  [[ $(field "$job" 0 elapsed) -eq 40 ]]
  [[ $left -ge 2477000 && $left -le 2677000 ]]
  [[ $((left + $(sum_of games physics))) -eq 10000000 ]]
}

started() { [[ $(ledger "select count(*) from segment where elapsed > 0 and time_limit = 120") -ge $1 ]]; }

# Both spend their whole bids, which fall by the same part: the shares stay 2.577 and 10 of 12.577, 20.5 and 79.5 %.
@test "short tasks start by the shares of what is left" {
  local i blocker starts own
  fund daemon main 10 --interval=0:30
  blocker=$(sbatch --parsable -o /dev/null -n 16 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  for i in games daemon daemon; do # 100 tasks are the most of an array
    cluster_as "$i" sbatch -Q -o /dev/null -n 1 -t 2 --array=1-100 --wrap "sleep 2" 2>/dev/null
  done
  sleep 2
  scancel "$blocker"
  cluster_wait 120 started 160
  starts=$(ledger "select user from segment where elapsed > 0 and time_limit = 120 order by start, job_id limit 160")
  own=$(grep -c games <<<"$starts")
  echo "# $own of 160 starts are of 20.5 % of the money" >&3
  [[ $own -ge 25 && $own -le 40 ]]
  scancel -u games
  scancel -u daemon
  cluster_wait 90 cluster_no_jobs
  cluster_wait 60 no_liens
}

@test "who comes with ten times the money runs on 13 of 16 CPUs within 30 s; then the other one goes on" {
  local job jobs='' i begin before
  fund games --close main
  fund games main 10 --interval=10:00
  fund daemon --close main
  before=$(sum_of daemon biology)
  fund daemon main 100 --interval=10:00
  for i in $(seq 16); do
    jobs+=" $(cluster_as games sbatch --parsable -o /dev/null -n 1 -t 10 --wrap "sleep 600" 2>/dev/null)"
  done
  cluster_wait 30 runs_at_least games 16
  begin=$SECONDS
  for i in $(seq 16); do
    cluster_as daemon sbatch --parsable -Q -o /dev/null -n 1 -t 10 --wrap "sleep 25" >/dev/null 2>&1
  done
  cluster_wait 30 runs_at_least daemon 13
  echo "# 13 CPUs after $((SECONDS - begin)) s" >&3
  [[ $(squeue -h -u games -t SUSPENDED -o %A | wc -l) -ge 13 ]]
  # No core is taken twice.
  [[ $(squeue -h -t RUNNING -o %C | paste -sd+ | bc) -le 16 ]]
  cluster_wait 90 cluster_no_jobs -u daemon
  begin=$SECONDS
  cluster_wait 10 runs_at_least games 16
  echo "# all go on after $((SECONDS - begin)) s" >&3
  [[ $(squeue -h -u games -t SUSPENDED -o %A | wc -l) -eq 0 ]]
  for job in $jobs; do scancel "$job"; done
  cluster_wait 60 cluster_no_jobs
  cluster_wait 30 no_liens
  sleep 1
  [[ $(($(pot daemon biology) + $(sum_of daemon biology) - before)) -eq 100000000 ]]
}

sent_back() { [[ $(squeue -h -u "$1" -t PENDING -o %A | wc -l) -ge $2 ]]; }
one_says_why() {
  local job
  for job in $(squeue -h -u games -t PENDING -o %A); do
    cluster_as games smarket why "$job" | grep -q "was sent back into the queue so that another user gets his share" && return
  done
  return 1
}

@test "with requeue the newest runs go back into the queue, and come again" {
  local i
  cluster_reset tycoon.enforce requeue
  fund games main 10 --interval=10:00
  fund daemon main 100 --interval=10:00
  for i in $(seq 16); do
    cluster_as games sbatch -Q -o /dev/null -n 1 -t 10 --wrap "sleep 600" >/dev/null 2>&1
  done
  cluster_wait 30 runs_at_least games 16
  for i in $(seq 16); do
    cluster_as daemon sbatch -Q -o /dev/null -n 1 -t 10 --wrap "sleep 20" >/dev/null 2>&1
  done
  cluster_wait 30 runs_at_least daemon 13
  cluster_wait 10 sent_back games 13
  cluster_wait 10 one_says_why
  cluster_wait 90 cluster_no_jobs -u daemon
  cluster_wait 60 runs_at_least games 16
  cluster_cancel_all
  cluster_wait 60 no_liens
}

@test "all is well" { all_is_well; }
