#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is bought and not used, on a real Slurm: a CPU for a minute costs 2, of which 1 is the floor.

load lib/market

setup_file() {
  cluster_new
  cluster_set charge resale
  cluster_set cancel_grace 0:05
  cluster_set mechanism first_fit
  cluster_set prices.floor 60
  cluster_set prices.cap 120
  cluster_set prices.fixed 120
  cluster_start
  open_account physics 1000 games
  open_account chemistry 1000 nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

rests() { ledger "select count(*) from segment where job_id = $1 and state = 'UNUSED'"; }
rest() { ledger "select $2 from segment where job_id = $1 and state = 'UNUSED' order by id desc limit 1"; }
has_rest() { [[ $(rests "$1") -eq 1 ]]; }
has_two_rests() { [[ $(rests "$1") -eq 2 ]]; }
rest_is_over() { [[ $(rest "$1" status) == settled ]]; }

# near AMOUNT AMOUNT: but for a micro-credit of rounding.
near() {
  local more=$(($1 - $2))
  [ "${more#-}" -le 1 ] || { echo "$1 is not $2" >&2 && return 1; }
}

available() { micro "$(cluster_as games smarket --json balance | jq -r '.accounts[] | select(.account == "physics") | .available')"; }

# The bid can no longer be taken back for nothing; where it shall be, the grace is long enough for a machine at work.
past_grace() { sleep 6; }
long_grace() { cluster_reset cancel_grace 5:00; }
short_grace() { cluster_reset cancel_grace 0:05; }

@test "an early end owes what ran, and of the rest what was above the floor when nobody buys it" {
  local before job ran
  before=$(posted physics)
  accepted games -A physics -n 2 -t 1 --budget=10 --wrap "sleep 15"
  job=$JOB
  wait_settled "$job"
  ran=$(field "$job" 0 elapsed)
  [ "$ran" -lt 60 ]
  # 2 CPUs: 4 for the minute, of it 2 above the floor.
  [ "$(field "$job" 0 charged)" -eq $(((4000000 * ran + 30) / 60)) ]
  has_rest "$job"
  near "$(rest "$job" quoted)" $((2000000 * (60 - ran) / 60))
  [[ $(cluster_as games sbill -n -P -j "$job" --format=State,Note) == *"resale of the rest: "*" pending until "* ]]
  cluster_wait 90 rest_is_over "$job"
  [ "$(rest "$job" charged)" -eq "$(rest "$job" quoted)" ]
  [ "$(posted physics)" -eq $((before - $(field "$job" 0 charged) - $(rest "$job" charged))) ]
}

@test "a slip costs nothing" {
  local before
  before=$(posted physics)
  long_grace
  accepted games -A physics -n 2 -t 1 --begin=now+5minutes --budget=10 --wrap true
  cluster_as games scancel "$JOB"
  sleep 2
  [ "$(rests "$JOB")" -eq 0 ]
  [ "$(posted physics)" -eq "$before" ]
  cluster_wait 10 liens_are physics 0
  short_grace
}

@test "cancelled before the start it waits for its resale, also after a kill; another's purchase brings it in" {
  local job begin
  begin=$(date -d '+3 minutes' +%FT%T)
  accepted games -A physics -n 2 -t 1 --begin="$begin" --budget=10 --wrap true
  job=$JOB
  past_grace
  cluster_as games scancel "$job"
  cluster_wait 10 has_rest "$job"
  cluster_wait 10 liens_are physics 2000000
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  sleep 2
  liens_are physics 2000000
  accepted nobody -A chemistry -n 1 -t 1 --begin="$begin" --budget=10 --wrap true
  # One of the two CPUs is sold again, for 2: it brings the 1 that it cost above the floor.
  cluster_wait 20 liens_are physics 1000000
  [ "$(liens chemistry)" -eq 2000000 ]
  cluster_wait 300 rest_is_over "$job"
  [ "$(rest "$job" charged)" -eq 1000000 ]
}

@test "a shorter time limit leaves its part of the price, and a rest" {
  accepted games -A physics -n 2 -t 2 --begin=now+10minutes --budget=10 --wrap true
  past_grace
  cluster_as games scontrol update job "$JOB" TimeLimit=1
  cluster_wait 10 has_rest "$JOB"
  # 4 for the minute that is left, 2 above the floor for the other.
  [ "$(field "$JOB" 0 quoted)" -eq 4000000 ]
  [ "$(rest "$JOB" quoted)" -eq 2000000 ]
  cluster_as games scancel "$JOB"
  cluster_wait 10 has_two_rests "$JOB"
  [ "$(rest "$JOB" quoted)" -eq 2000000 ]
}

@test "what should run now is told to operators" {
  # Another account than that of the next test, which compares what is available.
  accepted nobody -A chemistry -n 1 -t 1 --budget=10 --wrap "sleep 50"
  cluster_wait_state RUNNING "$JOB"
  cluster_wait 10 eval "smarket --json show plan | jq -e '.jobs[] | select(.job == $JOB and .state == \"running\" and .tres.cpu == 1)'"
  [[ $(smarket show plan) == *"Next change: job "* ]]
  run cluster_as games smarket show plan
  [ "$status" -ne 0 ]
}

@test "a held quote sets its price aside, one for each user, and is taken by sbatch" {
  local quote before
  before=$(available)
  quote=$(cluster_as games smarket --json quote --hold -A physics -n 1 -t 1 | jq -r .quote)
  [[ $quote =~ ^[0-9a-f]{4}$ ]]
  # In memory only: the ledger has its lien once a job has taken it.
  [ "$(available)" -eq $((before - 2000000)) ]
  run cluster_as games smarket quote --hold -A physics -n 1 -t 1
  [[ $status -ne 0 && $output == *"quote $quote is held for you until "*": use it first (sbatch --quote=$quote "* ]] || { echo "$output" && return 1; }
  [ "$(available)" -eq $((before - 2000000)) ]
  accepted games -A physics -n 1 -t 1 --quote="$quote" --wrap "sleep 60"
  [[ $SAID == *"accepted for 2.00"*"quote $quote"* ]]
  cluster_wait 10 eval "[[ \$(segment $JOB) == 'open|'*'|2000000|'* ]]"
  [ "$(available)" -eq $((before - 2000000)) ]
  cluster_as games scancel "$JOB"
  wait_settled "$JOB"
}

owed_by_physics() { [[ $(($(liens physics) - $1)) -eq $2 ]]; }

# 64 CPU-hours cost 38.40, of which 6.40 are the floor.
@test "64 CPU-hours at 0.60, cancelled after the grace: 32.00, also sold again at the floor; 12.80 once sold at 0.40" {
  local begin before
  cluster_reset prices.floor 0.10 prices.fixed 0.60 cancel_grace 5:00
  begin=$(date -d '+30 hours' +%FT%H:00:00)
  before=$(liens physics)
  accepted games -A physics -n 16 -t 4:00:00 --begin="$begin" --budget=100 --wrap true
  cluster_wait 10 owed_by_physics "$before" 38400000
  cluster_as games scancel "$JOB"
  cluster_wait 10 owed_by_physics "$before" 0 # within the grace
  short_grace
  past_grace
  accepted games -A physics -n 16 -t 4:00:00 --begin="$begin" --budget=100 --wrap true
  past_grace
  cluster_as games scancel "$JOB"
  cluster_wait 10 owed_by_physics "$before" 32000000
  cluster_reset prices.fixed 0.10
  accepted nobody -A chemistry -n 16 -t 4:00:00 --begin="$begin" --budget=100 --wrap true
  [ "$(field "$JOB" 0 quoted)" -eq 6400000 ] || cluster_wait 10 eval '[[ $(field "$JOB" 0 quoted) -eq 6400000 ]]'
  sleep 2
  owed_by_physics "$before" 32000000
  cluster_as nobody scancel "$JOB"
  past_grace
  cluster_reset prices.fixed 0.40
  accepted nobody -A chemistry -n 16 -t 4:00:00 --begin="$begin" --budget=100 --wrap true
  cluster_wait 20 owed_by_physics "$before" 12800000
}

@test "the books balance" { cluster_alive slurmctld && books_balance; }
