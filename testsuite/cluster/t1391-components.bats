#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Heterogeneous jobs on a real Slurm, sbatch --budget=… a : b. One CPU for an hour costs 0.60, so one for a minute 0.01.

load lib/market

setup_file() {
  cluster_new
  cluster_set charge resale
  fixed_rate 0.60
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

jobs_of_games() { squeue -h -u games -o %i | wc -l; }
has_jobs() { [[ $(jobs_of_games) -eq $1 ]]; }
# Of the first component squeue lists all of them.
is_running() { [[ $(squeue -h -j "$1" -o %T | sort -u) == RUNNING ]]; }
component() { echo $((JOB + $1)); }
# Slurm starts one after the other, within the second or into the next.
started_together() {
  local first second
  first=$(field "$JOB" 0 start) second=$(field "$(component 1)" 0 start)
  [[ $first -gt 0 && $((second - first)) -le 1 && $((first - second)) -le 1 ]] || {
    echo "started at $first and $second" && ledger "select job_id, restart, state, start, end, status from segment where job_id in ($JOB, $JOB + 1)"
    return 1
  }
}

# both BUDGET COMMAND [BEGIN]: 16 CPUs for a minute and 8 for two, which cost 0.32 together.
both() {
  bid games -A physics -n 16 -t 1 ${3:+--begin="$3"} --budget="$1" : -A physics -n 8 -t 2 ${3:+--begin="$3"} --wrap "$2"
}
both_accepted() {
  both "$@"
  [[ $STATUS -eq 0 && $SAID == *"market: accepted for 0.32 credits (physics): 2 components start together by "* ]] || {
    echo "status $STATUS: $SAID" >&2
    return 1
  }
}

# owes_what_it_ran JOB LIMIT: of the 0.16 for its whole time limit, in seconds; nothing of a price is above the floor here, so
# what it did not use costs nothing.
owes_what_it_ran() {
  local ran
  ran=$(field "$1" 0 elapsed)
  [[ $ran -gt 0 && $ran -le $2 ]]
  [[ $(field "$1" 0 charged) -eq $(((160000 * ran + $2 / 2) / $2)) && $(field "$1" 0 refunded) -eq 0 ]] || {
    echo "job $1: $(segment "$1")" >&2
    return 1
  }
}

@test "a budget that is too small by a cent: no job, no lien" {
  both 0.31 true
  [[ $STATUS -ne 0 && -z $JOB && $SAID == *"market: needs 0.32 for 2 components, budget is 0.31"* ]] || { echo "$SAID" && return 1; }
  has_jobs 0
  sleep 2
  liens_are physics 0
}

@test "one price buys both; they start together, and the bill has a line for each" {
  both_accepted 0.32 "sleep 3"
  cluster_wait 10 eval "[[ \$(ledger \"select count(*), sum(quoted) from segment where status = 'open'\") == '2|320000' ]]"
  liens_are physics 320000
  wait_settled "$JOB" 0 120
  wait_settled "$(component 1)" 0 120
  started_together
  [ "$(field "$JOB" 0 quoted)" -eq 160000 ]
  [ "$(field "$(component 1)" 0 quoted)" -eq 160000 ]
  owes_what_it_ran "$JOB" 60
  owes_what_it_ran "$(component 1)" 120
  run cluster_as games sbill -j "$JOB" -P
  [[ $output == *"$JOB+0|"*"$JOB+1|"* ]] || { echo "$output" && return 1; }
  [ "$(cluster_as games sbill -j "$JOB" --json | jq '.jobs | length')" -eq 2 ]
  cluster_wait 60 liens_are physics 0
}

@test "a bid for one of them alone, another for each, and what is no job: nothing is left" {
  bid games -A physics -n 1 -t 1 : --budget=1 -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"stands before its first ':'"* ]] || { echo "$SAID" && return 1; }
  bid games -A physics -n 1 -t 1 --budget=1 : --budget=2 -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"--budget=2: it differs from the first component's 1.00"* ]] || { echo "$SAID" && return 1; }
  bid games -A physics -n 1 -t 1 --budget=1 : -n 1000 -t 1 --wrap true
  [ "$STATUS" -ne 0 ]
  bid games -A physics -n 1 -t 1 --budget=1 : -n 1 -t 1 -w nowhere --wrap true
  [ "$STATUS" -ne 0 ]
  bid games -A physics -n 1 -t 1 --value=1:10:20 : -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"--budget alone"* ]] || { echo "$SAID" && return 1; }
  run cluster_as games salloc -A physics -n 1 -t 1 --budget=1 : -n 1 -t 1 true
  [[ $status -ne 0 && $output == *"submit it with sbatch"* ]]
  has_jobs 0
  cluster_wait 20 liens_are physics 0
}

@test "a kill between submission and start; then all is given back at once" {
  both_accepted 1 true now+600
  cluster_wait 10 liens_are physics 320000
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  has_jobs 2
  liens_are physics 320000
  run cluster_as games scontrol update job "$(component 1)" TimeLimit=1
  [ "$status" -ne 0 ]
  [ "$(squeue -h -j "$(component 1)" -o %l)" == 2:00 ]
  run cluster_as games smarket rebid "$(component 1)" --budget=9
  [[ $status -ne 0 && $output == *"component of heterogeneous job $JOB with one budget"* ]]
  cluster_as games scancel "$JOB"
  cluster_wait 20 has_jobs 0
  cluster_wait 20 liens_are physics 0
}

# Of a batch script that fails Slurm ends all components; so its owner ends one.
@test "they start together after a kill, and one that ends early owes its part alone" {
  both_accepted 1 "sleep 10" now+20
  cluster_wait 10 liens_are physics 320000
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 120 is_running "$(component 1)"
  is_running "$JOB"
  cancel_at "$(component 1)" 2
  wait_settled "$(component 1)" 0 60
  wait_settled "$JOB" 0 120
  started_together
  owes_what_it_ran "$JOB" 60
  owes_what_it_ran "$(component 1)" 120
  [ "$(field "$JOB" 0 state)" == COMPLETED ]
  [ "$(field "$(component 1)" 0 state)" == CANCELLED ]
  [ "$(field "$JOB" 0 elapsed)" -gt "$(field "$(component 1)" 0 elapsed)" ]
  cluster_wait 60 has_jobs 0
}

@test "the books balance" { all_is_well; }
