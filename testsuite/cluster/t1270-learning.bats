#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What prices learn from: nothing that costs nothing. And what the log says of a refused market.conf.

load lib/market

setup_file() {
  cluster_new
  cluster_set prices.floor 0.1
  cluster_set prices.cap 1
  cluster_set planning.slot 1:00:00 # price lists of one hour can be compared byte by byte
  cluster_start
  open_account physics 1000 games
  open_account broke 0.01 daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() {
  cluster_adopt
  local left=$((3600 - $(date +%s) % 3600))
  [[ $left -gt 90 ]] || sleep "$left"
}

prices() { cluster_as games smarket prices --json; }

prices_are() { [[ $(prices) == "$1" ]]; }

bids_learned() { ledger "select count(*) from bid where accepted = 1 or id like 'refused:%'"; }

learned_is() { [[ $(bids_learned) -eq $1 ]]; }

@test "200 bids of a member with 0.01 credits move no price, not after a reconfigure or a restart either" {
  local before
  before=$(prices)
  [[ $before == *0.1000* ]]
  for _ in {1..200}; do
    ! cluster_as daemon sbatch -A broke -n 64 -t 60 --budget=1000000 --wrap true 2>>"$CLUSTER_DIR/run/said" || return 1
  done
  ! cluster_as daemon sbatch --test-only -A broke -n 4 -t 60 --budget=1000000 --wrap true || false
  sleep 2
  learned_is 0
  scontrol reconfigure
  sleep 2
  cluster_wait 10 prices_are "$before"
  cluster_restart_slurmctld
  cluster_wait 30 prices_are "$before"
  learned_is 0
}

@test "--test-only teaches nothing; what is refused though it could be paid does once in an hour" {
  cluster_wait 30 cluster_nodes_idle
  cluster_as games sbatch --test-only -A physics -n 1 -t 60 --budget=50 --wrap true
  for _ in {1..10}; do
    refused "needs" games -A physics -n 4 -t 60 --budget=0.01 --wrap true
  done
  cluster_wait 10 learned_is 1
}

@test "a bid that its user cancels before the start is unlearned, one that an operator cancels is not" {
  accepted games -A physics -n 1 -t 60 --begin=now+2hours --budget=5 --wrap true
  cluster_wait 10 learned_is 2
  cluster_as games scancel "$JOB"
  cluster_wait 10 learned_is 1
  accepted games -A physics -n 1 -t 60 --begin=now+2hours --budget=5 --wrap true
  cluster_wait 10 learned_is 2
  scancel "$JOB"
  cluster_wait_state CANCELLED "$JOB"
  sleep 2
  learned_is 2
}

log_holds() { grep -q -- "$1" "$CLUSTER_DIR/log/slurmctld.log"; }

@test "a refused market.conf: the log and smarket check say what is in force" {
  local mark in_force='the settings read .* stay in force'
  if cluster_reconfigure_restarts; then in_force='no settings are in force'; fi
  echo 'nonsense' >"$CLUSTER_DIR/etc/market.conf"
  mark=$(wc -l <"$CLUSTER_DIR/log/slurmctld.log")
  scontrol reconfigure
  cluster_wait 10 log_holds 'market.conf:[0-9]*: syntax error.*: refused; '"$in_force"
  sleep 3
  ! tail -n "+$((mark + 1))" "$CLUSTER_DIR/log/slurmctld.log" | grep 'can be used again' || false
  run smarket check
  [ "$status" -ne 0 ]
  grep -q "market.conf was refused (.*syntax error.*: $in_force" <<<"$output"
  cluster_reset
  cluster_wait 10 smarket check
}

@test "all is well" { all_is_well; }
