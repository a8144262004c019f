#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The thin path: option, bid, price, accept or reject, run, settlement, ledger, report.

load lib/market

setup_file() {
  cluster_new
  fixed_rate 0.6
  cluster_start
  open_account physics 100 games daemon
  open_account poor 0.01 www-data
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

@test "sbatch, salloc and srun know the options" {
  local command
  for command in sbatch salloc srun; do
    $command --help | grep -q -- --budget=
    $command --help | grep -q -- --value=
  done
}

@test "a job is accepted with price, planned start and completion, runs and is billed" {
  local expected before
  before=$(posted physics)
  expected=$(price 4 60 0.6)
  accepted games -A physics -n 4 -t 1 --budget=1 --deadline=now+10minutes --wrap "sleep 1"
  [[ $SAID == *"accepted for 0.04 credits (physics)"* ]]
  [[ $SAID =~ "start"[a-z]*\ (by|now|at) ]]
  [[ $SAID == *"done by"* ]]
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 state)" = COMPLETED ]
  [ "$(field "$JOB" 0 quoted)" -eq "$expected" ]
  [ "$(field "$JOB" 0 charged)" -eq "$expected" ]
  [ "$(posted physics)" -eq $((before - expected)) ]
  [ "$(liens physics)" -eq 0 ]
}

@test "sbill shows the run, and its total is the ledger's" {
  local job
  accepted games -A physics -n 2 -t 1 --budget=1 --wrap true
  job=$JOB
  wait_settled "$job"
  run sbill -P -n -j "$job" --format=JobID,User,Account,State,Quoted,Charged,Refunded
  [ "$status" -eq 0 ]
  [ "$output" = "$job|games|physics|COMPLETED|0.02|0.02|0.00" ]
  [ "$(sbill -P -n --format=Charged --starttime=now-1hour | awk '{s += $1 * 1000000} END {printf "%.0f", s}')" -eq \
    "$(ledger 'select sum(charged) from segment')" ]
}

@test "a budget below the price is refused, and the bid it names passes" {
  refused "needs 0.16, budget is 0.10" games -A physics -n 16 -t 1 --budget=0.10 --deadline=now+5minutes --wrap true
  [[ $SAID == *"Would pass: --budget=0.16"* ]]
  accepted games -A physics -n 16 -t 1 --budget=0.16 --deadline=now+5minutes --wrap true
  wait_settled "$JOB"
}

@test "#SBATCH lines bid too, and the command line wins" {
  printf '#!/bin/sh\n#SBATCH --budget=0.001\n#SBATCH -A physics -n 1 -t 1\ntrue\n' >"$CLUSTER_DIR/run/script"
  chmod 755 "$CLUSTER_DIR/run" "$CLUSTER_DIR/run/script"
  refused "needs 0.01, budget is 0.001" games "$CLUSTER_DIR/run/script"
  accepted games --budget=0.01 "$CLUSTER_DIR/run/script"
  wait_settled "$JOB"
}

@test "a user who is not a member is refused" {
  refused "physics" nobody -A physics -n 1 -t 1 --budget=1 --wrap true
}

@test "an account that does not exist is refused" {
  refused "nowhere" games -A nowhere -n 1 -t 1 --budget=1 --wrap true
}

@test "an account without the credits is refused, with what it has" {
  refused "0.01" www-data -A poor -n 4 -t 1 --budget=1 --wrap true
}

@test "no time limit, a past deadline, more than the cluster: one clear line each" {
  refused "time limit" games -A physics -n 1 --budget=1 --wrap true
  refused "needs 65 CPUs, and partition main has 64" games -A physics -n 65 -t 1 --budget=1 --wrap true
  refused "nodes" games -A physics -N 5 -t 1 --budget=1 --wrap true
}

@test "bad words are refused on the submit host" {
  local bad
  for bad in abc -1 1e9 '' 0.0000001 99999999999999999999 nan; do
    run cluster_as games sbatch -A physics -n 1 -t 1 "--budget=$bad" --wrap true
    [ "$status" -ne 0 ]
    [[ $output == *budget* ]]
  done
  for bad in 5 5:1 1:2:3:4 x:1:2 1:20:10; do
    run cluster_as games sbatch -A physics -n 1 -t 1 "--value=$bad" --wrap true
    [ "$status" -ne 0 ]
    [[ $output == *value* ]]
  done
  run cluster_as games sbatch -A physics -n 1 -t 1 --budget=1 --value=1:10:20 --wrap true
  [ "$status" -ne 0 ]
}

@test "a sigmoid value is a bid" {
  accepted games -A physics -n 1 -t 1 --value=5:00:05:00:00:10:00 --wrap true
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq "$(price 1 60 0.6)" ]
}

@test "salloc and srun bid" {
  run cluster_as games srun -A physics -n 1 -t 1 --budget=1 echo ran
  [ "$status" -eq 0 ]
  [[ $output == *"market: accepted for 0.01"* && $output == *ran* ]]
  run cluster_as games salloc -A physics -n 1 -t 1 --budget=1 true
  [ "$status" -eq 0 ]
  [[ $output == *"market: accepted for 0.01"* ]]
}

@test "--test-only commits nothing" {
  local before after
  before=$(ledger "select count(*) from transfer")
  run cluster_as games sbatch --test-only -A physics -n 1 -t 1 --budget=1 --wrap true
  [ "$status" -eq 0 ]
  sleep 2
  after=$(ledger "select count(*) from transfer where kind = 'lien' and id > $before")
  [ "$after" -eq 0 ]
}

@test "a job without a bid runs unbilled" {
  local job before
  before=$(posted physics)
  job=$(cluster_as games sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --wrap true)
  cluster_wait_state COMPLETED "$job"
  [ -z "$(segment "$job")" ]
  [ "$(posted physics)" -eq "$before" ]
}

@test "a guaranteed job overtakes what was queued before it" {
  local filler queued job
  for _ in 1 2 3 4; do
    filler=$(cluster_as daemon sbatch --parsable -o /dev/null -N 1 --exclusive -t 1 --wrap "sleep 20")
  done
  cluster_wait_state RUNNING "$filler"
  for _ in {1..8}; do
    queued=$(cluster_as daemon sbatch --parsable -o /dev/null -N 1 --exclusive -t 1 --wrap "sleep 3")
  done
  accepted games -A physics -N 1 -n 16 -t 1 --budget=1 --deadline=now+5minutes --wrap true
  job=$JOB
  wait_settled "$job" 0 100
  cluster_wait_state COMPLETED "$queued" 60
  [ "$(ledger "select start from segment where job_id = $job")" -lt \
    "$(date -d "$(scontrol show job "$queued" -o | grep -o ' StartTime=[^ ]*' | cut -d= -f2)" +%s)" ]
  [ "$(field "$job" 0 charged)" -eq "$(price 16 60 0.6)" ]
}

# sprio's site factor of JOB is at least what market.conf gives accepted jobs; it knows jobs that only wait for nodes.
sprio_shows_the_value() { [[ $(sprio -h -j "$1" -o %S) -ge 1000000 ]]; }

@test "sprio shows the market's value" {
  local blocker
  blocker=$(cluster_as games sbatch --parsable -N 4 --exclusive -t 2 -o /dev/null --wrap 'sleep 100')
  cluster_wait_state RUNNING "$blocker" 20
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap true
  cluster_wait 20 sprio_shows_the_value "$JOB"
  scancel "$JOB" "$blocker"
}

@test "all is well" { all_is_well && cluster_wait 10 no_reservations; }
