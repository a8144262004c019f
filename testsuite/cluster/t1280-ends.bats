#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Nobody runs free by how his run ends: requeues, exit codes, cancels and preemptions, by whom they may come.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_set planning.auction_period 0:01
  CLUSTER_NODES=2 CLUSTER_CPUS=4
  CLUSTER_SLURM_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
RequeueExit=42
PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE State=UP"
  cluster_start
  open_account physics 10000 games
  open_account chemistry 10000 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

teardown() { scancel -p high 2>/dev/null || true; }

# run_bid CREDITS SBATCH-ARGUMENT…: a bid of physics that runs; sets JOB.
run_bid() {
  bid games -A physics --budget="$1" -t 1 "${@:2}"
  [[ $STATUS -eq 0 ]] || { echo "$SAID" >&2 && return 1; }
  cluster_wait_state RUNNING "$JOB"
  sleep 2
}

# owes STATE CREDITS [RESTART]: the bill of JOB, all in all.
owes() {
  wait_settled "$JOB" "${3:-0}" || return 1
  [[ $(field "$JOB" "${3:-0}" state) == "$1" &&
    $(($(field "$JOB" "${3:-0}" charged) - $(field "$JOB" "${3:-0}" refunded))) -eq $(micro "$2") ]] || {
    echo "job $JOB, wanted $1 $2: $(segment "$JOB" "${3:-0}")" >&2
    return 1
  }
}

# The market has seen that nodes are up again.
takes_bids() { bid games -A physics -n 4 -t 1 --budget=50 --test-only --wrap true && [[ $SAID == *"accepted for"* ]]; }

@test "dropped by Slurm at its deadline before it ran: DEADLINE, for nothing, in bill and statement" {
  accepted games -A physics -n 1 -t 1 --begin=now+20 --deadline=now+100seconds --budget=5 --wrap true
  scontrol update NodeName=n[1-2] State=DOWN Reason=test
  wait_settled "$JOB" 0 120
  scontrol update NodeName=n[1-2] State=RESUME
  cluster_wait 30 cluster_nodes_idle
  local job=$JOB
  cluster_wait 30 takes_bids
  JOB=$job
  [[ $(scontrol show job "$JOB" -o) == *" JobState=DEADLINE "* ]]
  [[ $(sbill -j "$JOB" -P -n -o State,Elapsed,Charged) == "DEADLINE|00:00:00|0.00" ]]
  sbill statement physics -P -n | grep "|charge|$JOB|0|0.00|.*|did not start before its deadline$"
  liens_are physics 0
}

@test "own requeue, then scancel: both runs owe" {
  run_bid 50 -n 4 --requeue --wrap 'sleep 3; scontrol requeue $SLURM_JOB_ID; sleep 50'
  owes REQUEUED 4
  cluster_wait_state RUNNING "$JOB" 60
  sleep 2
  cluster_as games scancel "$JOB"
  owes CANCELLED 4 1
}

@test "requeued by its exit code: owes, and is quoted anew" {
  run_bid 4 -n 4 --requeue --wrap 'sleep 3; exit 42'
  cluster_reset prices.floor 120 prices.cap 120
  owes FAILED 4
  cluster_wait 30 held_for Outbid
  cluster_as games scancel "$JOB"
  cluster_reset prices.floor 60 prices.cap 60
}

held_for() { [[ $(squeue -h -j "$JOB" -o "%T %r") == "PENDING $1" ]]; }

@test "cancelled by its user: owes; by an operator: free" {
  run_bid 50 -n 4 --wrap 'sleep 50'
  cluster_as games scancel "$JOB"
  owes CANCELLED 4
  run_bid 50 -n 4 --wrap 'sleep 50'
  scancel "$JOB"
  owes CANCELLED 0
}

@test "abacus: exit 0, exit 1 and scancel owe the same" {
  cluster_reset mechanism abacus abacus.weight start
  run_bid 50 -n 4 --wrap 'sleep 4'
  owes COMPLETED 50
  run_bid 50 -n 4 --wrap 'sleep 4; exit 1'
  owes FAILED 50
  run_bid 50 -n 4 --wrap 'sleep 50'
  cluster_as games scancel "$JOB"
  owes CANCELLED 50
}

# preempted_by USER SBATCH-ARGUMENT…: USER's job, without a bid, takes all CPUs from JOB.
preempted_by() {
  local user=$1
  shift
  OTHER=$(cluster_as "$user" sbatch --parsable -o /dev/null -p high -N 2 --ntasks-per-node=4 -t 1 "$@" --wrap 'sleep 5')
}

@test "abacus: preempted by its user's own job, under whatever account: owes; by somebody else's: free" {
  run_bid 50 -n 4 --requeue --wrap 'sleep 50'
  preempted_by games
  owes PREEMPTED 50
  scancel "$OTHER" "$JOB"
  run_bid 50 -n 4 --requeue --wrap 'sleep 50'
  preempted_by games -A chemistry
  owes PREEMPTED 50
  scancel "$OTHER" "$JOB"
  run_bid 50 -n 4 --requeue --wrap 'sleep 50'
  preempted_by daemon -A chemistry
  owes PREEMPTED 0
  scancel "$OTHER" "$JOB"
  run_bid 50 -n 4 --requeue --wrap 'sleep 50'
  preempted_by daemon -A physics
  owes PREEMPTED 50
}

@test "abacus: the own job that preempts is cancelled at once: owes all the same" {
  run_bid 50 -n 4 --no-requeue --wrap 'sleep 50'
  preempted_by games --begin=now+3
  cluster_wait 20 cluster_is_state 'PREEMPTED' "$JOB" && cluster_as games scancel "$OTHER"
  owes PREEMPTED 50
}

@test "bids that can owe nothing are refused in auctions" {
  for mechanism in abacus tycoon dva; do
    cluster_reset mechanism "$mechanism"
    refused "a budget of 0 buys nothing" games -A physics -n 1 -t 1 --budget=0 --wrap true
    refused "the value would be 0" games -A physics -n 1 -t 10 --value=400:0:1 --wrap true
  done
}

@test "all is well" {
  scancel -u games
  scancel -u daemon
  cluster_wait 30 cluster_no_jobs || { squeue && false; }
  all_is_well
}
