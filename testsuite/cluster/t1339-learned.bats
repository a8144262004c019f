#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Abacus: what a job gains from shares is learned from how its user's jobs of that name did.

load lib/market

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=16
  cluster_new
  CLUSTER_GRES=reduce:16
  cluster_set mechanism abacus
  cluster_set abacus.max_rss 1
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 10000 games daemon nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

runs() { ledger "select count(*) from utility_run where uid = $(id -u "$1") and name = '$2'"; }
runs_are() { [[ $(runs "$1" "$2") -eq $3 ]]; }

# submit USER NAME SBATCH-ARGUMENT…
submit() {
  local user=$1 name=$2
  shift 2
  JOB=$(cluster_as "$user" sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --gres=reduce:1 -J "$name" "$@" 2>"$CLUSTER_DIR/run/said") &&
    SAID=$(<"$CLUSTER_DIR/run/said")
}

# run_beside UTILITY NUMBER SECONDS: a job "render" of games, beside a rival of that utility, which ends by itself.
run_beside() {
  local rival
  submit daemon rival --budget=100 --utility="$1" --wrap "sleep 30"
  rival=$JOB
  cluster_wait_state RUNNING "$rival"
  submit games render --budget=100 --wrap "sleep $3"
  cluster_wait 60 runs_are games render "$2"
  cluster_as daemon scancel "$rival"
  cluster_wait_gone "$rival"
}
cluster_wait_gone() { cluster_wait 30 eval '[[ -z $(squeue -h -j '"$1"' -o %A 2>/dev/null) ]]'; }

# utility_of JOB PATTERN: as the market tells its owner.
utility_of() { [[ $(cluster_as games smarket why "$1" --json | jq -r .utility) == $2 ]]; }

@test "three runs beside rivals that want other things teach a utility, which the next bid has" {
  run_beside cpu:9,gres/reduce:1 1 14
  run_beside cpu:1,gres/reduce:9 2 11
  run_beside cpu:1,gres/reduce:1 3 14
  cluster_as games smarket show utility render
  [[ $(cluster_as games smarket show utility render) == "render: cpu 0."*", gres/reduce 0."*" from 3 runs (linear, rss 0."* ]]
  [ "$(cluster_as games smarket show utility --json | jq -r '.utilities[0] | "\(.name) \(.runs) \(.form)"')" = "render 3 linear" ]
  # Three runs that the fit explains: the next bid has what they taught.
  [[ $(cluster_as games smarket show utility render) == *"used from now on" ]]
  submit games render --budget=5 --hold --wrap true
  [[ $SAID == *"learned from 3 runs"* ]]
  cluster_wait 10 utility_of "$JOB" "cpu:0.*"
  submit games render --budget=5 --hold --utility=cpu:1 --wrap true
  cluster_wait 10 utility_of "$JOB" cpu:1
  cluster_cancel_all
}

@test "what was cancelled or failed teaches nothing" {
  submit games fails --budget=5 --wrap "sleep 2; exit 1"
  cluster_wait_gone "$JOB"
  submit games fails --budget=5 --wrap "sleep 60"
  cluster_wait_state RUNNING "$JOB"
  cluster_as games scancel "$JOB"
  cluster_wait_gone "$JOB"
  submit games completes --budget=5 --wrap "sleep 2"
  cluster_wait 60 runs_are games completes 1
  [ "$(runs games fails)" -eq 0 ]
}

@test "users see and forget their own, operators see all" {
  run cluster_as nobody smarket show utility render
  [ "$status" -ne 0 ]
  [[ $output == *"no run of a job named render is known"* ]]
  run cluster_as nobody smarket learn --forget=render
  [ "$status" -ne 0 ]
  [ "$(runs games render)" -eq 3 ]
  [ "$(smarket show utility --json | jq '.utilities | length')" -ge 2 ]
  [[ $(cluster_as games smarket learn --forget=render) == "3 runs of render forgotten"* ]]
  cluster_wait 30 runs_are games render 0
  [ "$(runs games completes)" -eq 1 ]
  run cluster_as games smarket show utility render
  [ "$status" -ne 0 ]
}

@test "all is well" { all_is_well; }
