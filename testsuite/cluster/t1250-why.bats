#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a job waits: funds, its planned start, resources, a bid too low; each its own sentence and its own code.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_set no_funds wait
  cluster_start
  open_account physics 100 games daemon
  open_account poor 40 games www-data
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

why() { cluster_as "$1" smarket why "$2"; }

@test "no funds: what it needs and what there is" {
  accepted games -A poor -n 30 -t 1 --budget=60 --begin=now+5minutes --wrap true
  bid www-data -A poor -n 60 -t 1 --budget=60 --wrap true
  [ "$STATUS" -eq 0 ]
  [[ $SAID == *"needs 60.00, available 10.00 on poor"* ]]
  cluster_wait 5 answers www-data "$JOB" NO_FUNDS
  run why www-data "$JOB"
  [[ $output == *NO_FUNDS* && $output == *60.00* && $output == *10.00* ]]
  [[ $output != *OUTBID* && $output != *RESOURCES* ]]
  run squeue -h -j "$JOB" -o '%r'
  [ "$output" = NoFunds ]
}

@test "owner and members see the same balance and the same liens" {
  local user
  for user in games www-data; do
    [ "$(cluster_as "$user" smarket balance poor --json | jq -r '.accounts[0] | "\(.balance) \(.liens) \(.available)"')" = "40.00 30.00 10.00" ]
  done
  [ "$(smarket balance poor --json | jq -r '.accounts[0] | "\(.balance) \(.liens) \(.available)"')" = "40.00 30.00 10.00" ]
  run why www-data "$(squeue -h -t PD -u www-data -o %A | head -n 1)"
  [[ $output == *"liens: job "*games* ]]
}

@test "planned: the start that is promised" {
  accepted games -A physics -n 1 -t 1 --budget=1 --begin=now+5minutes --wrap true
  cluster_wait 5 answers games "$JOB" PLANNED
  [[ $(why games "$JOB") != *NO_FUNDS* ]]
}

@test "resources: its place is lost and no other is free" {
  accepted games -A physics -N 4 -n 4 -t 1 --budget=4 --begin=now+4minutes --wrap true
  cluster_wait 10 answers games "$JOB" PLANNED
  scontrol update nodename=n4 state=down reason=test
  cluster_wait 10 answers games "$JOB" RESOURCES
  [[ $(why games "$JOB") != *NO_FUNDS* ]]
  scontrol update nodename=n4 state=resume
  cluster_wait 70 answers games "$JOB" PLANNED
}

@test "outbid: the own bid, the price now, the bid that would do" {
  bid www-data -A poor -n 20 -t 1 --budget=20 --wrap true
  cluster_wait 10 answers www-data "$JOB" NO_FUNDS
  fixed_rate 120
  cluster_reset
  smarket deposit poor 500
  cluster_wait 70 answers www-data "$JOB" OUTBID
  run why www-data "$JOB"
  [[ $output == *20.00* && $output == *40.00* && $output == *"--budget=40.00"* ]]
  cluster_as www-data smarket rebid "$JOB" --budget=40
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 40000000 ]
}

answers() { why "$1" "$2" | grep -q "$3"; }

@test "all is well" {
  cluster_cancel_all
  all_is_well
}
