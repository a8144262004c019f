#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is not yet a job holds nothing; nobody sees or spends what is not theirs; no way around the bid.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_ACCOUNTING=1
  CLUSTER_NODES=1
  CLUSTER_CPUS=8
  fixed_rate 60
  cluster_set partitions '["main", "vip"]'
  cluster_set unbid refuse
  cluster_set no_funds wait
  CLUSTER_SLURM_EXTRA='Licenses=matlab:1
PartitionName=free Nodes=ALL MaxTime=INFINITE State=UP
PartitionName=closed Nodes=ALL MaxTime=INFINITE State=INACTIVE Alternate=main
PartitionName=vip Nodes=ALL MaxTime=INFINITE State=UP AllowAccounts=vips'
  cluster_start
  sacctmgr -i add account bio Cluster=market
  sacctmgr -i add account phys Cluster=market
  sacctmgr -i add account vips Cluster=market
  sacctmgr -i add user games Account=bio DefaultAccount=bio
  sacctmgr -i add user daemon Account=phys DefaultAccount=phys
  sacctmgr -i add user www-data Account=phys DefaultAccount=phys
  sacctmgr -i add coordinator Account=bio Names=www-data
  open_account bio 1000
  smarket account add phys
  sleep 2
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# quoted_start USER: seconds from now until one CPU could start.
quoted_start() {
  cluster_as "$1" smarket quote -n 1 -t 1 --json | jq ".rows[0].start - now | if . < 0 then 0 else . end | floor"
}

starts_now() {
  local seconds
  seconds=$(quoted_start daemon)
  [[ $seconds =~ ^[0-9]+$ && $seconds -le 15 ]]
}

test_only() { cluster_as "$1" sbatch --test-only -o /dev/null "${@:2}" --wrap true; }

@test "--test-only changes nothing for others" {
  local i
  starts_now
  for i in {1..10}; do
    run test_only games --budget=1000 -n 8 -t 60
    [[ $output == *"market: accepted for 480.00"* ]] # two would not fit into 1,000 credits
    cluster_wait 5 starts_now
  done
  [ "$(smarket balance bio --json | jq -r '.accounts[0].available')" = 1000.00 ]
}

@test "so do submissions that Slurm refuses after the market" {
  local seconds=5
  if cluster_slurm_since 23.11; then seconds=75; fi # its threads do not end: the market waits for a minute
  bid games --budget=1000 -n 8 -t 60 --reservation=nosuch --wrap true
  [ "$STATUS" -ne 0 ]
  cluster_wait "$seconds" starts_now
}

@test "questions without an end are told to try again" {
  local i
  for i in {1..75}; do # 60 in a minute are answered
    run test_only games --budget=1 -n 1 -t 1
    [[ $status -eq 0 ]] || break
    sleep 0.1
  done
  [ "$status" -ne 0 ]
  [[ $output == *"market: "*"try again in "* ]]
}

@test "300 submissions in a row of one user are all accepted" {
  local before i
  before=$(squeue -h -u games -o %A | wc -l)
  # The first may be repeated by sbatch itself until the questions above are a minute ago.
  for i in {1..300}; do
    cluster_as games sbatch --budget=1 -n 1 -t 1 -H -o /dev/null --wrap true >/dev/null 2>>"$CLUSTER_DIR/run/said" || {
      tail -n 3 "$CLUSTER_DIR/run/said" >&2
      return 1
    }
  done
  [ "$(squeue -h -u games -o %A | wc -l)" -eq $((before + 300)) ]
  cluster_wait 10 liens_are bio 300000000
  scancel -u games
  cluster_wait 60 liens_are bio 0
}

@test "an outsider neither reads nor locks another group's credits" {
  local real none
  real=$(cluster_as daemon smarket quote -A bio -n 1 -t 1 2>&1 | tail -n 1)
  none=$(cluster_as daemon smarket quote -A nosuch -n 1 -t 1 2>&1 | tail -n 1)
  [[ $real == *"not a member of account bio"* && $real != *1000* ]]
  [ "${real//bio/X}" = "${none//nosuch/X}" ]
  bid daemon -A bio --budget=1000 -n 8 -t 60 --wrap true
  [ "$STATUS" -ne 0 ]
  real=$SAID
  bid daemon -A nosuch --budget=1000 -n 8 -t 60 --wrap true
  [ "$STATUS" -ne 0 ]
  [ "$real" = "$SAID" ]
  run cluster_as daemon smarket balance bio
  [[ $status -ne 0 && $output != *1000* ]]
  accepted games --budget=900 -n 1 -t 900 --wrap true # in the same moment all is his
  scancel "$JOB"
  cluster_wait 20 liens_are bio 0
}

@test "members by association and coordinators see the balance" {
  [[ $(cluster_as games smarket) == *bio*1000.00* ]]
  [[ $(cluster_as games smarket balance bio) == *1000.00* ]]
  [[ $(cluster_as games smarket quote -n 1 -t 1) == *"you can pay up to 1000.00 (bio)"* ]]
  [[ $(cluster_as www-data smarket balance bio) == *1000.00* ]]
  [[ $(cluster_as daemon smarket 2>&1) != *bio* ]]
}

@test "why and rebid are for those concerned" {
  accepted games --budget=1 -n 1 -t 1 --begin=now+5minutes --wrap true
  cluster_wait 5 answers games "$JOB" PLANNED
  answers www-data "$JOB" PLANNED
  run cluster_as daemon smarket why "$JOB"
  [[ $status -ne 0 && $output != *1.00* && $output != *PLANNED* ]]
  run cluster_as daemon smarket rebid "$JOB" --budget=2
  [ "$status" -ne 0 ]
  scancel "$JOB"
}

answers() { cluster_as "$1" smarket why "$2" | grep -q "$3"; }

@test "what associations, limits, licenses and partitions forbid sets nothing aside" {
  local -a one=(games --budget=1000 -n 8 -t 60 -o /dev/null --wrap true)
  bid "${one[@]}" --licenses=matlab:2
  [[ $STATUS -ne 0 && $SAID == *icense* && $SAID != *accepted* ]]
  bid "${one[@]}" -p vip
  [[ $STATUS -ne 0 && $SAID != *accepted* ]]
  sacctmgr -i modify user games set MaxWall=30
  cluster_wait 5 too_long
  sacctmgr -i modify user games set MaxWall=-1 MaxSubmitJobs=1
  cluster_wait 5 fits test_only games --budget=1 -n 1 -t 60
  bid games --budget=1 -n 1 -t 1 --array=0-1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *MaxSubmit* && $SAID != *accepted* ]]
  sacctmgr -i modify user games set MaxSubmitJobs=-1
  starts_now
}

too_long() {
  bid games --budget=1000 -n 8 -t 60 --wrap true
  [[ -z $JOB ]] || scancel "$JOB"
  [[ $STATUS -ne 0 && $SAID == *MaxWall* && $SAID != *accepted* ]]
}

fits() { "$@" 2>&1 | grep -q 'market: '; }

@test "no way around the bid" {
  local job O=_SLURM_SPANK_OPTION_market_
  bid games -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"bid only"* ]]
  bid games -n 1 -t 1 -p free,main --wrap true
  [[ $STATUS -ne 0 && $SAID == *"bid only"* ]]
  bid games -n 1 -t 1 -p closed --wrap true # Slurm would take its alternate
  [[ $STATUS -ne 0 && $SAID == *"bid only"* ]]
  bid games -n 1 -t 1 -p free --array=0-3 --wrap true
  [ "$STATUS" -eq 0 ]
  scancel "$JOB"
  run cluster_as games "$CLUSTER_DIR/bin/forge" bio "${O}query={\"verb\":\"status\"}"
  [[ $status -ne 0 && $output == *'"ok":true'* ]]
  printf '#!/bin/sh\n#SBATCH -p free -n1 -t1 -o /dev/null\n#SBATCH hetjob\n#SBATCH -p main -n1 -t1\ntrue\n' >"$CLUSTER_DIR/users/games/het.sh"
  run cluster_as games sbatch "$CLUSTER_DIR/users/games/het.sh"
  [ "$status" -ne 0 ]
  bid games -n 1 -t 1 -H -p free --wrap true
  job=$JOB
  run cluster_as games scontrol update job "$job" Partition=main
  [ "$status" -ne 0 ]
  run cluster_as games scontrol update job "$job" Partition=free,main
  [ "$status" -ne 0 ]
  scontrol update job "$job" Partition=main # an operator may
  scancel "$job"
  [ -z "$(squeue -h -u games)" ]
}

@test "a reservation's partition counts where none is named" {
  scontrol create reservation ReservationName=course PartitionName=free Nodes=n1 StartTime=now+600 Duration=10 Users=games
  bid games -n 1 -t 1 --reservation=course --wrap true
  [ "$STATUS" -eq 0 ]
  scancel "$JOB"
  scontrol delete ReservationName=course
}

@test "everybody sees codes, not amounts" {
  local i
  for i in 5 6 7; do # each needs more than there is
    bid games -n 8 -t $((i * 60)) --budget=5000 --wrap true
    [ "$STATUS" -eq 0 ]
    [[ $SAID == *"waits for funds"* ]]
  done
  accepted games -n 1 -t 1 --budget=1 --begin=now+5minutes --wrap true
  cluster_wait 10 shows_codes
  for i in {1..6}; do
    shows_codes
    sleep 0.5
  done
  scancel -u games
}

shows_codes() {
  [[ $(squeue -h -t PD -o %r | sort -u | paste -sd' ') == "BeginTime NoFunds" ]]
}

@test "all is well" { all_is_well; }
