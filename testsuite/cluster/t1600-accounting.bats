#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# With slurmdbd: rights by associations, the default account, the price in sacct, fair-share as before.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_ACCOUNTING=1
  CLUSTER_GRES=gpu:a100:4,gpu:t4:4
  fixed_rate 60
  cluster_set prices.weights '({tres = "cpu"; weight = "1";}, {tres = "gres/gpu:a100"; weight = "60";},
    {tres = "gres/gpu:t4"; weight = "8";})'
  CLUSTER_SLURM_EXTRA=PriorityWeightFairshare=10000
  cluster_start
  sacctmgr -i add account physics Cluster=market
  sacctmgr -i add account biology Cluster=market
  sacctmgr -i add user games Account=physics DefaultAccount=physics
  sacctmgr -i add user daemon Account=biology DefaultAccount=biology
  sacctmgr -i add account chemistry Cluster=market
  sacctmgr -i add user games Account=chemistry
  open_account physics 1000
  open_account chemistry 1000
  open_account biology 1000
  sleep 2
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

@test "the price and the account are in sacct's AdminComment" {
  local job
  accepted games -n 1 -t 1 --budget=1 --wrap true
  job=$JOB
  [[ $SAID == *"(physics)"* ]]
  wait_settled "$job"
  cluster_wait 20 in_sacct "$job"
  [ "$(sacct -X -n -P -j "$job" -o AdminComment | jq -r .market.account)" = physics ]
  [ "$(micro "$(sacct -X -n -P -j "$job" -o AdminComment | jq -r .market.charged)")" -eq 1000000 ]
}

# What Slurm tells anybody of the job.
all_that_slurm_tells() {
  scontrol -d show job "$1"
  squeue --json
  squeue -h -j "$1" -O 'Comment:200,admin_comment:200,Reason:200'
  sacct -X -n -P -j "$1" -o AdminComment,Comment,SystemComment
}

@test "before the end the note is nowhere to be seen, and AdminComment is the site's to the end" {
  accepted games -n 1 -t 1 --budget=1 --begin=now+15 --wrap true
  cluster_wait 10 liens_are physics 1000000
  all_that_slurm_tells "$JOB" >"$CLUSTER_DIR/run/told"
  grep -q '"job_id": *'"$JOB" "$CLUSTER_DIR/run/told"
  ! grep -iE 'MARKET_NOTE|token|"price' "$CLUSTER_DIR/run/told" || false
  scontrol update job "$JOB" AdminComment="ticket 7"
  scontrol update job "$JOB" StartTime=now
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 1000000 ]
  cluster_wait 20 sacct_tells "$JOB" COMPLETED
  [ "$(sacct -X -n -P -j "$JOB" -o AdminComment)" = "ticket 7" ]
}

sacct_tells() { [[ $(sacct -X -n -P -j "$1" -o State) == "$2" ]]; }

@test "a bid for more than it costs: sacct tells the charge and not the bid" {
  accepted games -n 1 -t 1 --budget=7.25 --wrap true
  wait_settled "$JOB"
  cluster_wait 20 in_sacct "$JOB"
  [[ $(sacct -X -n -P -j "$JOB" -o AdminComment) != *7.25* ]]
  [ "$(sacct -X -n -P -j "$JOB" -o AdminComment | wc -c)" -le 201 ]
}

in_sacct() { sacct -X -n -P -j "$1" -o AdminComment | grep -q charged; }

@test "an account outside the user's associations is refused" {
  bid games -A biology -n 1 -t 1 --budget=1 --wrap true
  [ "$STATUS" -ne 0 ]
  bid nobody -A physics -n 1 -t 1 --budget=1 --wrap true
  [ "$STATUS" -ne 0 ]
  [ "$(liens physics)" -eq 0 ]
}

@test "scontrol update Account: the other account pays from now on, or the change is refused" {
  accepted games -A physics -n 4 -t 1 --budget=4 --begin=now+5minutes --wrap true
  cluster_wait 10 liens_are physics 4000000
  scontrol update job "$JOB" Account=chemistry
  cluster_wait 10 liens_are chemistry 4000000
  cluster_wait 5 liens_are physics 0
  run scontrol update job "$JOB" Account=biology
  [ "$status" -ne 0 ]
  sleep 1
  liens_are chemistry 4000000
  liens_are biology 0
  scancel "$JOB"
  cluster_wait 10 liens_are chemistry 0
}

@test "typed GPUs by what slurmctld counted" {
  accepted games -n 1 --gres=gpu:a100:4 -t 1 --budget=1000 --wrap true
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 241000000 ]
  accepted games -n 1 --gres=gpu:t4:4 -t 1 --budget=1000 --wrap true
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 33000000 ]
}

@test "sprio and sshare go on, and sprio shows the market's value" {
  accepted daemon -n 1 -t 1 --budget=1 --begin=now+2minutes --wrap true
  sshare -a | grep -q daemon
  sprio -l >/dev/null
  scancel "$JOB"
}

@test "Slurm's usage of the account counts the market's jobs too" {
  sshare -h -A physics -P -o RawUsage | grep -q '^[0-9]'
}

@test "all is well" { all_is_well; }
