#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A changed job is priced again or the change is refused; the old promise is never kept in silence.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

pending() { accepted games -n 2 -t 2 --begin=now+5minutes -A physics "$@" --wrap true && cluster_wait 10 has_lien "$JOB"; }

has_lien() { [[ $(field "$1" 0 status) == open ]]; }

quoted_is() { [[ $(field "$1" 0 quoted) -eq $(micro "$2") ]]; }

gone() {
  scancel "$JOB"
  wait_settled "$JOB"
}

@test "a longer time limit is an operator's doing and costs its user no more" {
  pending --budget=5
  quoted_is "$JOB" 4
  scontrol update job "$JOB" TimeLimit=4
  [[ $(squeue -h -j "$JOB" -o %l) == 4:00 ]]
  sleep 2
  quoted_is "$JOB" 4
  liens_are physics 4000000
  gone
}

@test "a shorter time limit, by the user, costs less" {
  pending --budget=10
  cluster_as games scontrol update job "$JOB" TimeLimit=1
  cluster_wait 10 quoted_is "$JOB" 2
  gone
}

@test "more CPUs cost more, or are refused" {
  pending --budget=10
  cluster_as games scontrol update job "$JOB" NumCPUs=4
  cluster_wait 10 quoted_is "$JOB" 8
  cluster_wait 5 liens_are physics 8000000
  run cluster_as games scontrol update job "$JOB" NumCPUs=8
  [ "$status" -ne 0 ]
  gone
}

@test "a deadline before the promise is refused or planned again" {
  pending --budget=10
  run scontrol update job "$JOB" Deadline="$(date -d '+30 seconds' +%FT%T)"
  [ "$status" -ne 0 ]
  gone
}

@test "a bid is raised by its user: then more CPUs pass" {
  pending --budget=5
  run cluster_as games scontrol update job "$JOB" NumCPUs=4
  [ "$status" -ne 0 ]
  run cluster_as games smarket rebid "$JOB" --budget=8
  [ "$status" -eq 0 ] || { echo "$output" >&2 && false; }
  cluster_as games scontrol update job "$JOB" NumCPUs=4
  cluster_wait 10 quoted_is "$JOB" 8
  gone
}

@test "a bid cannot be lowered below its price, nor by another user" {
  pending --budget=5
  run cluster_as games smarket rebid "$JOB" --budget=1
  [ "$status" -ne 0 ]
  run cluster_as nobody smarket rebid "$JOB" --budget=50
  [ "$status" -ne 0 ]
  gone
}

@test "all is well" { all_is_well && cluster_wait 10 no_reservations; }
