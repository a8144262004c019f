#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Arrays of many tasks at posted prices: one place for all, one record of Slurm's, each task billed its part.

load lib/market

setup_file() {
  export CLUSTER_NODES=2 CLUSTER_CPUS=16
  cluster_new
  # One CPU for one minute costs 10.
  fixed_rate 600
  cluster_start
  open_account physics 100000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# blocks TASKS[%LIMIT] SECONDS SBATCH-ARGUMENT…: an array of tasks that sleep.
blocks() {
  local tasks=$1 seconds=$2
  shift 2
  accepted games -A physics -n 1 -t 1 --array="1-$tasks" --budget=15 "$@" --wrap "sleep $seconds"
}

# The bills of an array: how many, and their sum in micro-credits.
bills() { ledger "select count(*), coalesce(sum(charged - refunded), 0) from segment where array_job_id = $1 and status <> 'open'"; }
bills_are() { [[ $(bills "$1") == "$2|$3" ]]; }
runs() { squeue -h -r -t R -j "$1" -o %A 2>/dev/null | wc -l; }
waits() { squeue -h -r -t PD -j "$1" -o %A 2>/dev/null | wc -l; }
runs_at_least() { [[ $(runs "$1") -ge $2 ]]; }
limit_of() { scontrol show job "$1" -o | grep -o 'ArrayTaskThrottle=[0-9]*' | sort -u | cut -d= -f2; }

# scontrol says of each task that has ended that it cannot be changed.
set_limit() { cluster_as games scontrol update JobId="$1" ArrayTaskThrottle="$2" 2>/dev/null || true; }

# The most tasks that run, and the most records in squeue, until no job is left.
watch_all() {
  local n lines
  most=0 most_lines=0
  until cluster_no_jobs -u games; do
    n=$(squeue -h -t R -o %A | wc -l) lines=$(squeue -h -o %A | wc -l)
    ((n > most)) && most=$n
    ((lines > most_lines)) && most_lines=$lines
    sleep 0.3
  done
}

# In 8 waves, so 30 at a time.
@test "240 tasks: one price, one record, one reservation, 240 bills" {
  local id most most_lines
  blocks 240 1
  id=$JOB
  [[ $SAID == *"240 tasks accepted for 2400.00"*"30 at a time"*"done by"* ]]
  cluster_wait 20 runs_at_least "$id" 1
  [ "$(limit_of "$id")" -eq 30 ]
  [ "$(scontrol show reservation -o | grep -c "ReservationName=market_a${id}_0")" -eq 1 ]
  watch_all
  ((most <= 30 && most_lines <= 31))
  cluster_wait 30 bills_are "$id" 240 2400000000
  cluster_wait 30 no_reservations
  [ "$(liens physics)" -eq 0 ]
  all_is_well
}

@test "its owner's own limit is kept" {
  local id most most_lines
  blocks 120%5 0
  id=$JOB
  [[ $SAID == *"5 at a time"* ]]
  cluster_wait 20 runs_at_least "$id" 1
  sleep 5
  set_limit "$id" 2
  sleep 3
  [ "$(limit_of "$id")" -eq 2 ]
  set_limit "$id" 20
  watch_all
  ((most <= 20))
  cluster_wait 30 bills_are "$id" 120 1200000000
  all_is_well
}

@test "tasks taken back: what is left pays its own parts" {
  local id blocker
  blocker=$(sbatch --parsable -o /dev/null -n 32 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  blocks 150 0
  id=$JOB
  cluster_wait 20 liens_are physics 1500000000
  [ "$(squeue -h | wc -l)" -eq 2 ]
  cluster_as games scancel "${id}_[5-24,77,150]"
  cluster_wait 20 liens_are physics 1280000000
  [ "$(squeue -h | wc -l)" -eq 2 ]
  scancel "$blocker"
  cluster_wait 20 runs_at_least "$id" 1
  cluster_as games scancel "${id}_[140-149]"
  cluster_wait 120 cluster_no_jobs -u games
  cluster_wait 30 bills_are "$id" 118 1180000000
  all_is_well
}

@test "the whole array taken back in the middle" {
  local id count sum
  blocks 200 3
  id=$JOB
  cluster_wait 20 runs_at_least "$id" 20
  cluster_as games scancel --state=PENDING "$id"
  cluster_wait 60 cluster_no_jobs -u games
  cluster_wait 30 no_liens
  IFS='|' read -r count sum < <(bills "$id")
  ((count >= 20 && count < 200 && sum == count * 10000000))
  cluster_wait 30 no_reservations
  all_is_well
}

@test "slurmctld killed in the middle: each task is billed once" {
  local id
  blocks 200 3
  id=$JOB
  cluster_wait 20 runs_at_least "$id" 20
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait 150 cluster_no_jobs -u games
  cluster_wait 90 no_liens
  [ "$(ledger "select count(*) from segment where array_job_id = $id and state = 'COMPLETED'")" -eq 200 ]
  [ "$(bills "$id" | cut -d'|' -f2)" -eq "$((200 * 10000000))" ]
  cluster_wait 30 no_reservations
  all_is_well
}

@test "held, released, given another time limit" {
  local id waiting
  blocks 200 3 -t 1
  id=$JOB
  cluster_wait 20 runs_at_least "$id" 20
  cluster_as games scontrol hold "$id"
  cluster_wait 30 no_reservations
  waiting=$(waits "$id")
  ((waiting > 50 && waiting < 200))
  ! cluster_as games scontrol update JobId="$id" TimeLimit=2 || false
  cluster_as games scontrol release "$id"
  cluster_wait 90 cluster_no_jobs -u games
  cluster_wait 30 bills_are "$id" 200 2000000000
  all_is_well
}

# What is sent back in its first second has cost nothing.
has_run_a_second() {
  task=$(squeue -h -r -t R -j "$1" -o '%A %M' | awk '$2 == "0:01" {print $1; exit}')
  [[ -n $task ]]
}

@test "a task that is sent back runs again by itself" {
  local id task
  blocks 120 3
  id=$JOB
  cluster_wait 20 has_run_a_second "$id"
  cluster_as games scontrol requeue "$task"
  cluster_wait 120 cluster_no_jobs -u games
  cluster_wait 30 bills_are "$id" 121 1210000000
  all_is_well
}

limit_is() { [[ $(limit_of "$1") -eq $2 ]]; }

# Slurm sets the array's limit before it looks who asks, and takes a task out of the record before anybody is asked.
@test "a stranger's limit is set back; a task held and released alone runs in the place at its price" {
  local id lanes
  blocks 150 2
  id=$JOB
  cluster_wait 20 runs_at_least "$id" 1
  lanes=$(limit_of "$id")
  ! cluster_as daemon scontrol update JobId="$id" ArrayTaskThrottle=1 2>/dev/null || false
  cluster_wait 20 limit_is "$id" "$lanes"
  ! cluster_as games scontrol update JobId="${id}_150" TimeLimit=2 2>/dev/null || false
  cluster_as games scontrol hold "${id}_149"
  cluster_as games scontrol release "${id}_149"
  cluster_wait 120 cluster_no_jobs -u games
  cluster_wait 30 bills_are "$id" 150 1500000000
  cluster_wait 30 no_reservations
  all_is_well
}

@test "smarket check names what slurm.conf needs for the largest arrays" {
  smarket check | grep -q "^arrays .*ok .*10000 tasks.*MaxArraySize=10001 (it is 1001), MaxJobCount above 10000 (it is 10000)"
}
