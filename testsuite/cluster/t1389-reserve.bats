#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# smarket reserve on a real Slurm: one CPU for an hour costs 0.60, so one for a minute 0.01.

load lib/market

setup_file() {
  cluster_new
  cluster_set charge resale
  cluster_set cancel_grace 0:05
  fixed_rate 0.60
  cluster_start
  open_account physics 100 games
  open_account chemistry 100 nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# reserve USER ARGUMENT…: sets PLACE, its job's number, and SAID.
reserve() {
  local user=$1
  shift
  SAID=$(cluster_as "$user" smarket reserve "$@") || return
  [[ $SAID =~ ^market_r([0-9]+):\  ]]
  PLACE=${BASH_REMATCH[1]}
}

inside() { cluster_as "$1" sbatch --parsable -o /dev/null --reservation="market_r$PLACE" "${@:2}"; }
is_gone() { [[ $(scontrol show reservation -o 2>/dev/null) != *"market_r$PLACE "* ]]; }
is_there() { ! is_gone; }
place_start() { date -d "$(scontrol show reservation "market_r$PLACE" -o | grep -o 'StartTime=[^ ]*' | cut -d= -f2)" +%s; }

@test "two jobs start in it, a stranger's is refused, and it is one segment" {
  local before first second start
  before=$(posted physics)
  reserve games -A physics -n 16 -t 2 --budget=0.32 --name=exam
  [[ $SAID == "market_r$PLACE: 0.32, "*–*", held for games" ]]
  [[ $(scontrol show reservation -o) == *"ReservationName=market_r$PLACE "*"Users=games "* ]]
  [[ $(cluster_as games smarket reserve --list) == *"market_r$PLACE"*games*physics* ]]
  [[ $(squeue -h -j "$PLACE" -o "%j %r") == "exam Reserved" ]]
  cluster_wait 10 liens_are physics 320000
  start=$(place_start)
  first=$(inside games -n 8 -t 1 --wrap "sleep 20")
  second=$(inside games -n 8 -t 1 --wrap "sleep 20")
  run inside nobody -n 1 -t 1 --wrap true
  [ "$status" -ne 0 ]
  [[ $output == *"is held for games"* ]]
  cluster_wait $((start + 60 - $(date +%s))) eval "[[ \$(squeue -h -j $first,$second -t RUNNING | wc -l) -eq 2 ]]"
  [ "$(started_at "$first")" -ge "$start" ]
  wait_settled "$PLACE" 0 200
  [ "$(segment "$PLACE")" == "settled|COMPLETED|320000|320000|0|120" ]
  [ "$(ledger "select count(*) from segment where job_id in ($PLACE, $first, $second)")" -eq 1 ]
  [ "$(posted physics)" -eq $((before - 320000)) ]
  cluster_wait 10 is_gone
}

@test "a job that would outlast it, or bids in it, is refused" {
  reserve games -A physics -n 4 -t 10 --budget=1
  run inside games -n 1 -t 11 --wrap true
  [[ $status -ne 0 && $output == *"ask for at most 0:10:00"* ]]
  run inside games -n 1 -t 1 --budget=1 --wrap true
  [[ $status -ne 0 && $output == *"carry no bid"* ]]
  job=$(inside games -n 1 --wrap true)
  [[ $(scontrol show job "$job" -o) == *"TimeLimit=00:10:00"* || $(squeue -h -j "$job" -o %l) == 10:00 ]]
  run cluster_as games scontrol update job "$job" TimeLimit=30
  [ "$status" -ne 0 ]
  run cluster_as games scontrol update job "$job" ReservationName=
  [ "$status" -ne 0 ]
  run cluster_as games scontrol release "$PLACE"
  [ "$status" -ne 0 ]
  # Within its grace, and before its start, it is given back for nothing, and what waits in it ends.
  cluster_as games smarket reserve --cancel "r$PLACE"
  cluster_wait 10 is_gone
  cluster_wait 10 eval "[[ -z \$(squeue -h -j $job -o %i) ]]"
  cluster_wait 10 liens_are physics 0
}

@test "it outlives a kill of slurmctld, and so do the jobs in it" {
  local job start
  reserve games -A physics -n 16 -t 2 --budget=1
  start=$(place_start)
  job=$(inside games -n 16 -t 1 --wrap "sleep 30")
  cluster_wait 10 liens_are physics 320000
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  cluster_wait 10 is_there
  liens_are physics 320000
  cluster_wait $((start + 60 - $(date +%s))) eval "[[ \$(squeue -h -j $job -o %T) == RUNNING ]]"
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  wait_settled "$PLACE" 0 240
  [ "$(field "$PLACE" 0 charged)" -eq 320000 ]
  [ "$(field "$PLACE" 0 state)" == COMPLETED ]
  cluster_wait 10 is_gone
}

@test "accounts may use it instead of its owner" {
  reserve games -A physics -n 4 -t 5 --budget=1 --accounts=chemistry
  [[ $SAID == *", held for chemistry" ]]
  job=$(inside nobody -A chemistry -n 1 -t 1 --wrap true)
  run inside games -A physics -n 1 -t 1 --wrap true
  [ "$status" -ne 0 ]
  cluster_as nobody scancel "$job"
  cluster_as games smarket reserve --cancel "r$PLACE"
  cluster_wait 10 is_gone
}

@test "given back after its start it owes all but its resale" {
  local start
  reserve games -A physics -n 8 -t 4 --budget=1
  start=$(place_start)
  sleep $((start + 8 - $(date +%s)))
  cluster_as games smarket reserve --cancel "r$PLACE"
  wait_settled "$PLACE"
  cluster_wait 10 is_gone
  cluster_wait 20 liens_are physics $((320000 - $(field "$PLACE" 0 charged)))
  [ "$(field "$PLACE" 0 charged)" -lt 50000 ]
  [ "$(cluster_as games smarket reserve --list | grep -c market_)" -eq 0 ]
}

@test "a reservation that cannot be had buys nothing" {
  run cluster_as games smarket reserve -A physics -n 16 -t 2 --budget=0.31
  [[ $status -ne 0 && $output == *"needs 0.32, budget is 0.31"* ]]
  run cluster_as games smarket reserve -A physics -n 65 -t 2 --budget=5
  [ "$status" -ne 0 ]
  run cluster_as games smarket reserve --cancel 99999
  [[ $status -ne 0 && $output == *"no reservation r99999"* ]]
  run cluster_as games smarket reserve
  [ "$status" -ne 0 ]
}

@test "the books balance" { cluster_alive slurmctld && books_balance; }
