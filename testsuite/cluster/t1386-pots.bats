#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Pots on a running cluster: jobs without a bid are paid for by what their user put aside at the partition.

load lib/market

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=16
  cluster_new
  cluster_set mechanism tycoon
  cluster_set tycoon.account user
  cluster_set tycoon.fund_max 0.5
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 1000 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

fund() { cluster_as "$1" smarket fund -A physics "${@:2}"; }

# The balance of a user's pot for CPUs in micro-credits.
pot() { ledger "select posted from account where name = '@market:main/cpu/$1/physics'"; }

# run USER SBATCH-ARGUMENT…: sets JOB and SAID.
submit() { bid "$1" -A physics "${@:2}"; }

why_says() { cluster_as "$1" smarket why "$2" 2>/dev/null | grep -q "$3"; }

@test "a funded pot pays for a job without a bid, to the micro-credit" {
  fund games main 10 --interval=1:00:00 | grep -q "main (cpu, physics): 10.00 credits, spent over 1 hour of running; you get about 100 % of the CPUs now"
  [[ $(posted physics) -eq 990000000 && $(pot games) -eq 10000000 ]]
  submit games -n 16 -t 1 --wrap "sleep 6"
  [[ $SAID == *"market: takes part: pot main (cpu) holds 10.00 credits"* ]]
  cluster_wait 20 why_says games "$JOB" "from your pot"
  wait_settled "$JOB"
  # All 16 CPUs and nobody else: the whole bid of 10/3600 a second, which falls as the pot does.
  local charged elapsed
  charged=$(field "$JOB" 0 charged)
  elapsed=$(field "$JOB" 0 elapsed)
  echo "# $charged micro-credits for $elapsed s" >&3
  [[ $charged -ge $((elapsed * 2770)) && $charged -le $((elapsed * 2778 + 1)) ]]
  [[ $(pot games) -eq $((10000000 - charged)) ]]
  [[ $(field "$JOB" 0 account) == @market:main/cpu/games/physics ]]
}

@test "--budget=0 and users without a pot stay outside" {
  submit games -n 1 -t 1 --budget=0 --wrap "sleep 1"
  [[ $STATUS -eq 0 && $SAID != *"takes part"* ]]
  submit daemon -n 1 -t 1 --wrap "sleep 1"
  [[ $STATUS -eq 0 && $SAID != *"takes part"* ]]
  cluster_wait 60 cluster_no_jobs
  [[ $(ledger "select count(*) from segment") -eq 1 ]]
}

@test "a share is told in words, prices tell no single bid" {
  fund daemon main 40 --interval=1:00:00 >/dev/null
  cluster_as games smarket fund --show | grep -q "you get about 100 % of the CPUs now"
  local blocker
  submit daemon -n 16 -t 5 --wrap "sleep 300"
  blocker=$JOB
  cluster_wait_state RUNNING "$blocker"
  submit games -n 1 -t 1 --wrap "sleep 1"
  cluster_wait 20 why_says games "$JOB" "you get about 20 % of the CPUs now; it is the 1st of 1 waiting"
  # By the interval too: 10/30 against 40/3000 are 96.2 %, 10/10,000 against 40/4,000 are 9.1 %.
  fund daemon --set-interval=50:00 main >/dev/null
  fund games --set-interval=0:30 main >/dev/null
  cluster_wait 20 why_says games "$JOB" "you get about 96 % of the CPUs now"
  fund daemon --set-interval=1:06:40 main >/dev/null
  fund games --set-interval=2:46:40 main >/dev/null
  cluster_wait 20 why_says games "$JOB" "you get about 9 % of the CPUs now"
  fund daemon --set-interval=1:00:00 main >/dev/null
  fund games --set-interval=1:00:00 main >/dev/null
  smarket --json prices -p main >"$CLUSTER_DIR/run/prices"
  grep -q '"capacity": 16' "$CLUSTER_DIR/run/prices"
  grep -q '"pots": 2' "$CLUSTER_DIR/run/prices"
  ! grep -q games "$CLUSTER_DIR/run/prices" || false
  scancel "$blocker"
  wait_settled "$blocker"
  wait_settled "$JOB"
}

@test "what others see of a job tells no budget, no bill and no balance" {
  local seen
  submit games -n 1 -t 1 --budget=7.31 --wrap "sleep 1"
  seen=$(cluster_as daemon scontrol show job "$JOB" -o && cluster_as daemon squeue -h -j "$JOB" -O 'Comment:200,admin_comment:200,Reason:200')
  [[ $seen == *JobId="$JOB"* && $seen != *7.31* ]]
  wait_settled "$JOB"
  seen=$(cluster_as daemon scontrol show job "$JOB" -o)
  [[ $seen == *JobState=COMPLETED* && $seen != *7.31* && $seen != *charged* ]] || { echo "$seen" && return 1; }
}

@test "refusals name what is allowed, and move nothing" {
  local before
  before=$(ledger "select count(*) from transfer")
  try() { cluster_as games smarket fund "$@" 2>&1; }
  [[ $(try nowhere 1) == *"HOST nowhere: there is no such partition"* ]]
  [[ $(try main 600 -A physics) == *"games may have 4"*"of account physics in pots (50 % of it, tycoon.fund_max)"* ]]
  [[ $(try main 0 -A physics) == *"CREDITS 0: more than 0"* ]]
  [[ $(try main 1 -A physics --interval=0:00) == *"--interval=0:00: a duration from"* ]]
  [[ $(try main 1 -A physics --tres=gres/gpu) == *"--tres=gres/gpu: main sells cpu"* ]]
  [[ $(try --close main --user=daemon) == *"only their user, operators and coordinators of account physics"* ]]
  [[ $(try --set-interval=1:00 main,nowhere) == *"HOST nowhere"* ]]
  [[ $(ledger "select count(*) from transfer") -eq $before ]]
}

@test "a kill and a reconfigure change no bill, and the pot goes on paying" {
  fund games main 20 --interval=1:00:00 >/dev/null
  local before charged sum
  before=$(pot games)
  sum=$(ledger "select coalesce(sum(charged), 0) from segment where account = '@market:main/cpu/games/physics'")
  submit games -n 8 -t 2 --wrap "sleep 40"
  cluster_wait_state RUNNING "$JOB"
  cluster_wait 20 why_says games "$JOB" "from your pot"
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 30 why_says games "$JOB" "from your pot"
  scontrol reconfigure
  wait_settled "$JOB"
  charged=$(field "$JOB" 0 charged)
  echo "# $charged micro-credits for $(field "$JOB" 0 elapsed) s on half of the CPUs" >&3
  [[ $charged -gt 0 && $(pot games) -eq $((before - charged)) ]]
  [[ $(ledger "select coalesce(sum(charged), 0) from segment where account = '@market:main/cpu/games/physics'") -eq $((sum + charged)) ]]
  books_balance
}

@test "a new interval holds from the next period; a closed pot returns what is left" {
  fund games --set-interval=0:30 main | grep -Eq "spent over [0:]*30( seconds)? of running"
  local there before
  there=$(pot games)
  before=$(posted physics)
  fund games --close main | grep -q "closed"
  [[ $(pot games) -eq 0 && $(posted physics) -eq $((before + there)) ]]
  submit games -n 1 -t 1 --wrap true
  [[ $STATUS -eq 0 && $SAID != *"takes part"* ]]
  cluster_wait_state COMPLETED "$JOB"
}

grew_by() { [[ $(($(posted physics) - $1)) -ge $2 ]]; }

@test "an income is paid by the running market" {
  local before begin=$SECONDS grown
  before=$(posted physics)
  smarket account income physics 86400 --per=1-0
  cluster_wait 40 grew_by "$before" 10000000
  # A credit a second, and no more.
  grown=$(($(posted physics) - before))
  [[ $grown -le $(((SECONDS - begin + 2) * 1000000)) ]] || { echo "$grown in $((SECONDS - begin)) s" && return 1; }
  smarket account income physics 0 --per=1-0
  before=$(posted physics)
  sleep 12
  [[ $(posted physics) -eq $before ]]
}

@test "all is well" { all_is_well; }
