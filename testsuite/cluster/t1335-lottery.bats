#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Abacus on a running cluster: who starts next is drawn with the shares as odds.

load lib/market

JOBS=40 # of each user

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=4
  cluster_new
  cluster_set prices.floor 1
  cluster_set prices.fixed 1
  cluster_set mechanism abacus
  cluster_set abacus.alpha 1
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 10000 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# The users of the first COUNT jobs to start, one a line.
starters() { ledger "select user from segment where elapsed > 0 or start > 0 order by start, job_id limit $1"; }

all_settled() { cluster_no_jobs && no_liens; }

why_says() { cluster_as games smarket why "$1" 2>/dev/null | grep -q "$2"; }

@test "three times the money starts more often, and the other one does not starve" {
  local i blocker job=''
  blocker=$(sbatch --parsable -o /dev/null -n 4 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  for i in $(seq $JOBS); do
    cluster_as games sbatch -Q -o /dev/null -A physics -n 1 -t 1 --budget=30 --wrap "sleep 2"
    job=$(cluster_as daemon sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --budget=10 --wrap "sleep 2" 2>/dev/null)
  done
  cluster_wait 30 why_says "$job" "your share of the cluster is 25 %, [0-9]*[a-z]* of [0-9]* waiting (abacus/2, alpha 1)"
  scancel "$blocker"
  cluster_wait 240 all_settled
  # Of 32 starts 24 at odds of 3 to 1, fewer as the rich one's jobs run out; by budget alone it would be all of them.
  local rich
  rich=$(starters 32 | grep -c games)
  echo "# of the first 32 starts $rich are of three times the money" >&3
  [ "$rich" -ge 16 ]
  [ "$rich" -le 30 ]
}

@test "each bill tells the draw that let it start" {
  [[ $(ledger "select count(*) from segment where elapsed > 0 and note not like 'draw abacus/%'") -eq 0 ]]
}

@test "each run owes what it ran of its time limit" {
  [[ $(ledger "select count(*) from segment where charged not between quoted * elapsed / 60 and quoted * elapsed / 60 + 1") -eq 0 ]]
}

place() { cluster_as games smarket why "$1" | grep -oE '[0-9]+[a-z]+ of [0-9]+ waiting'; }

asks() { JOB=$(cluster_as "$1" sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --budget=10 --wrap true 2>/dev/null); }

@test "cancelling and asking again does not draw again" {
  local i before after blocker
  blocker=$(sbatch --parsable -o /dev/null -n 4 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  for i in 1 2 3 4 5; do asks daemon; done
  asks games
  cluster_wait 30 place "$JOB" >/dev/null
  sleep 2
  before=$(place "$JOB")
  for i in 1 2 3 4 5; do
    scancel "$JOB"
    asks games
    cluster_wait 30 place "$JOB" >/dev/null
    sleep 2
    after=$(place "$JOB")
    [[ $after == "$before" ]] || { echo "$before, then $after" && false; }
  done
  cluster_cancel_all
  cluster_wait 60 all_settled
}

@test "all is well" { all_is_well; }
