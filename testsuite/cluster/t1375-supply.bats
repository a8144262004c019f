#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Supply and demand over time: a log teaches prices before there are bids, a reservation of others makes its hours dear, and
# what is spare is not sold.

load lib/market

setup_file() {
  cluster_new
  cluster_set prices.floor 0.1
  cluster_set prices.cap 1
  cluster_set planning.slot 1:00
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# quoted HOUR [CPUS]: what 8 CPUs cost tomorrow from that hour on for an hour, no earlier and no later.
quoted() {
  local start
  start=$(date -d "tomorrow $1:00" +%s)
  cluster_as games smarket quote --json -n "${2:-8}" -t 60 -b "$(date -d "@$start" +%FT%T)" \
    --deadline="$(date -d "@$((start + 3610))" +%FT%T)" | jq -r '.rows[0].price // .'
}

quoted_is() { [[ $(quoted "$1") == "$2" ]] || { echo "at $1: $(quoted "$1")" && return 1; }; }

# Last week 40 CPUs in every hour.
week() {
  local hour now
  now=$(($(date +%s) / 3600 * 3600))
  echo 'JobID|Account|User|Partition|Submit|Start|Elapsed|Timelimit|AllocCPUS|State'
  for ((hour = 1; hour <= 168; hour++)); do
    echo "$hour|physics|games|main|$(date -d "@$((now - hour * 3600))" +'%FT%T|%FT%T')|01:00:00|01:00:00|40|COMPLETED"
  done
}

@test "a log of 40 CPUs at 0.50 leaves 8 of 64 at the floor, and 0.50 while two nodes are reserved" {
  week >"$CLUSTER_DIR/run/week"
  quoted_is 10 0.80
  [[ $(smarket learn --sacct="$CLUSTER_DIR/run/week" --value-per-hour=0.50) == "168 bids learned, of 6720.0 billing-hours"* ]]
  cluster_wait 30 learned_is_in_force
  quoted_is 10 0.80
  scontrol create reservation ReservationName=maintenance Nodes=n[1-2] Users=root \
    StartTime="$(date -d 'tomorrow 10:00' +%FT%T)" EndTime="$(date -d 'tomorrow 12:00' +%FT%T)"
  cluster_wait 30 quoted_is 10 4.00
  quoted_is 11 4.00
  quoted_is 9 0.80
  quoted_is 12 0.80
  scontrol delete reservation maintenance
  cluster_wait 30 quoted_is 10 0.80
  # Only who owns the books may teach.
  ! cluster_as games smarket learn --sacct="$CLUSTER_DIR/run/week" || return 1
}

# Of 32 beside those 40 24 are left at the floor, and 8 cost what the others are expected to pay.
learned_is_in_force() { [[ $(quoted 10 32) == 6.40 ]]; }

@test "what was learned is taken back" {
  [[ $(smarket learn --clear) == "168 learned bids taken back" ]]
  cluster_wait 30 forgotten
}

forgotten() { [[ $(quoted 10 32) == 3.20 ]]; }

@test "a tenth of 64 CPUs is never sold, and runs jobs without a bid" {
  local sold unbid
  cluster_reset planning.spare 0.10
  refused "nothing is for sale" games -A physics -n 58 -t 2 --budget=1000 --wrap true
  accepted games -A physics -n 57 -t 2 --budget=1000 --wrap "sleep 90"
  sold=$JOB
  cluster_wait_state RUNNING "$sold"
  refused "nothing is for sale" games -A physics -n 1 -t 2 --budget=1000 --deadline="$(date -d '+2 minutes 20 seconds' +%FT%T)" --wrap true
  unbid=$(cluster_as games sbatch --parsable -o /dev/null -n 7 -t 1 --wrap "sleep 3")
  cluster_wait_state "RUNNING|COMPLETED" "$unbid" 30
  [[ $(cluster_job_state "$sold") == RUNNING ]]
  scancel "$sold"
}

@test "the controller is alive, liens are gone, the books balance" {
  all_is_well
}
