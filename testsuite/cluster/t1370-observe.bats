#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# mode = "observe": for Slurm and its users it is as if there were no market, and the books tell what it would have done.

load lib/market

# markets [MODE]: three rules on three partitions; only `main` has the mode given.
markets() {
  local mode=${1:-observe}
  echo "( { name = \"mains\"; partitions = [ \"main\" ]; mechanism = \"era\"; mode = \"$mode\"; },
    { name = \"condos\"; partitions = [ \"condo\" ]; mechanism = \"dva\"; },
    { name = \"shorts\"; partitions = [ \"short\" ]; mechanism = \"tycoon\"; } )"
}

setup_file() {
  CLUSTER_NODES=4 CLUSTER_CPUS=4 CLUSTER_MAIN_NODES='n[1-2]'
  CLUSTER_SLURM_EXTRA=$'PartitionName=condo Nodes=n3 MaxTime=INFINITE State=UP
PartitionName=short Nodes=n4 MaxTime=INFINITE State=UP'
  cluster_new
  fixed_rate 60 # a CPU costs 1 a minute
  cluster_set mode observe
  cluster_set unbid refuse
  cluster_set planning.auction_period 0:01
  cluster_set markets "$(markets)"
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# observed JOB COLUMN: of its last run.
observed() { ledger "select $2 from observed where job_id = $1 order by restart desc, id desc limit 1"; }
is_observed() { [[ -n $(observed "$1" id) ]]; }

# What anybody sees of a job that has nothing to do with when it was submitted.
seen_of() {
  scontrol show job "$1" -o | grep -oE ' (JobState|AdminComment|Comment|Reservation|ReqNodeList|TimeMin|NumNodes|NumCPUs|Account|QOS|Partition|SiteFactor|Requeue|Restarts)=[^ ]*'
  sprio -h -j "$1" -o '%S %Y' 2>/dev/null | awk '{ print "site", $1 }'
}

untouched() {
  [[ $(posted physics) -eq $(micro 100) && $(liens physics) -eq 0 && $(ledger "select count(*) from segment") -eq 0 &&
    $(ledger "select count(*) from transfer") -eq 1 ]] && no_reservations
}

@test "bids look like jobs without one: priority, reason, comment, reservations, balances" {
  local partition twin
  for partition in main condo short; do
    # All is taken, so that the twins wait.
    bid games -A physics -p "$partition" --exclusive -N "$([[ $partition == main ]] && echo 2 || echo 1)" -t 1 --wrap 'sleep 12'
    cluster_wait_state RUNNING "$JOB"
    [[ -z $SAID ]] || { echo "said: $SAID" && false; }
    bid games -A physics -p "$partition" -n 2 -t 1 --comment=mine --wrap true
    twin=$JOB
    bid games -A physics -p "$partition" -n 2 -t 1 --comment=mine --budget=10 --wrap true
    [[ $STATUS -eq 0 && $SAID == *"market (observing): would be accepted"* ]] || { echo "$SAID" && false; }
    sleep 3
    diff <(seen_of "$twin") <(seen_of "$JOB")
    # Slurm numbers such jobs by their ages alone, and the first of a queue waits for resources.
    [[ $(squeue -h -j "$JOB" -o %Q) -le $(squeue -h -j "$twin" -o %Q) && $(squeue -h -j "$JOB" -o %r) == @(Priority|Resources) ]]
    untouched
  done
  cluster_wait 60 cluster_no_jobs
  untouched
}

@test "a job over budget runs, and so does one without an account that could pay" {
  bid games -A physics -n 4 -t 1 --budget=0.01 --wrap true
  [[ $STATUS -eq 0 && $SAID == *"market (observing): would be refused: needs 4.00, budget is 0.01"* ]] || { echo "$SAID" && false; }
  cluster_wait 60 is_observed "$JOB"
  [[ $(observed "$JOB" status) == refused && $(observed "$JOB" state) == COMPLETED && $(observed "$JOB" charged) -eq 0 ]]
  bid games -A physics -n 4 -t 1 --budget=1000000 --mem=999T --wrap true
  [[ $STATUS -ne 0 && $SAID == *"Memory specification can not be satisfied"* ]] || { echo "Slurm's own refusal: $SAID" && false; }
  bid daemon -A nowhere -n 1 -t 1 --budget=5 --wrap true
  [[ $STATUS -eq 0 && $SAID == *"would be refused"* ]] || { echo "$SAID" && false; }
  untouched
}

@test "would-be bills of three rules, in sbill --observed and smarket show observed alone" {
  local partition jobs=()
  for partition in main condo short; do
    bid games -A physics -p "$partition" -n 2 -t 1 --budget=20 --wrap 'sleep 3'
    jobs+=("$JOB")
  done
  for JOB in "${jobs[@]}"; do
    cluster_wait 60 is_observed "$JOB"
    [[ $(observed "$JOB" status) == billed && $(observed "$JOB" state) == COMPLETED && $(observed "$JOB" charged) -gt 0 ]]
    [[ -z $(sbill -n -P -j "$JOB" -o JobID) ]]
    [[ $(sbill -n -P -j "$JOB" -o JobID,Account --observed) == "$JOB|physics" ]]
  done
  # 2 CPUs for the minute that was reserved, at 60 an hour.
  [[ $(observed "${jobs[0]}" charged) -eq $(micro 2) && $(observed "${jobs[0]}" would_wait) -le 20 ]]
  smarket show observed
  smarket show observed --json | jq -e '.accounts[] | select(.account == "physics") | .jobs >= 3 and .refused >= 1 and .planned >= 1'
  [[ $(sbill -n -P --totals --observed -S now-1hour -o Charged | tail -1) != 0.00 ]]
  cluster_as games sbill --observed 2>&1 | grep -q 'not yours to read'
  untouched
}

@test "kill -9 between acceptance and end: one bill, at the price told" {
  local told
  bid games -A physics -n 2 -t 1 --budget=20 --wrap 'sleep 20'
  told=$JOB
  cluster_wait_state RUNNING "$told"
  cluster_state_saved
  cluster_end slurmctld KILL
  cluster_start_slurmctld
  cluster_wait 90 is_observed "$told"
  [[ $(ledger "select count(*) from observed where job_id = $told") -eq 1 ]]
  [[ $(observed "$told" quoted) -eq $(micro 2) && $(observed "$told" charged) -eq $(micro 2) ]]
  untouched
}

@test "out of the mode and into it: what was followed costs nothing, what was promised is kept" {
  local followed promised
  bid games -A physics -n 8 -t 1 --budget=90 --wrap 'sleep 15'
  cluster_wait_state RUNNING "$JOB"
  bid games -A physics -n 2 -t 1 --budget=20 --wrap true
  followed=$JOB
  sleep 1
  cluster_reset markets "$(markets active)"
  cluster_wait 20 smarket check
  cluster_wait 60 cluster_is_state "COMPLETED" "$followed"
  # Without a bid nothing gets in now, also not from a market that observes.
  bid games -A physics -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 ]]
  bid games -A physics -p short -n 1 -t 1 --begin=now+1hour --budget=5 --wrap true
  [[ $STATUS -eq 0 ]]
  cluster_as games scontrol update jobid="$JOB" partition=main && false
  scancel "$JOB"
  untouched
  accepted games -A physics -n 2 -t 1 --budget=20 --begin=now+15 --wrap 'sleep 2'
  promised=$JOB
  cluster_wait 20 liens_are physics "$(micro 2)"
  cluster_reset markets "$(markets observe)"
  bid games -A physics -n 2 -t 1 --budget=20 --wrap true
  [[ $SAID == *"market (observing): would be accepted for 2.00 "* ]] || { echo "$SAID" && false; }
  wait_settled "$promised" 0 90
  [[ $(field "$promised" 0 state) == COMPLETED && $(field "$promised" 0 charged) -eq $(micro 2) ]]
  [[ $(posted physics) -eq $(micro 98) && $(ledger "select count(*) from segment") -eq 1 ]]
  [[ $(ledger "select count(*) from observation where ended is not null") -eq 1 ]]
}

@test "all is well" {
  cluster_cancel_all
  all_is_well
}
