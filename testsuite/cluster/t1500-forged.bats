#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What comes in the environment is untrusted: forged and malformed bids get one clear refusal and nothing else.

load lib/market

setup_file() {
  cluster_new
  fixed_rate 60
  # What a prolog sees of the note.
  printf '%s\n' '#!/bin/sh' "env | grep -i MARKET_NOTE >'$CLUSTER_DIR/run/prolog-'\$SLURM_JOB_ID" exit\ 0 >"$CLUSTER_DIR/etc/prolog"
  chmod 755 "$CLUSTER_DIR/etc/prolog"
  CLUSTER_SLURM_EXTRA=Prolog=$CLUSTER_DIR/etc/prolog
  cluster_start
  open_account physics 1000 games
  open_account closed 1000 daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

O=_SLURM_SPANK_OPTION_market_

# forge USER ACCOUNT NAME=VALUE…: submits a one-minute job with exactly this SPANK environment.
forge() {
  local user=$1
  shift
  run cluster_as "$user" "$CLUSTER_DIR/bin/forge" "$@"
}

forged() {
  local before
  before=$(ledger "select count(*) from transfer")
  forge "$@"
  [ "$status" -ne 0 ] || { echo "passed: $*: $output" >&2 && return 1; }
  [ "$(grep -c 'market: ' <<<"$output")" -eq 1 ] || { echo "$*: $output" >&2 && return 1; }
  [[ $output != *$'\xff'* ]]
  scontrol ping | grep -q UP
  [ "$(ledger "select count(*) from transfer")" -eq "$before" ]
}

@test "an honest bid by the same road passes" {
  forge games physics "${O}budget=1"
  [ "$status" -eq 0 ]
  [[ $output == *"market: accepted for 1.00"* ]]
  wait_settled "$(grep -x '[0-9]*' <<<"$output")"
}

@test "malformed budgets" {
  local bad
  for bad in '' ' ' abc -1 +1 0x10 1e9 1,5 NaN nan inf -inf 0.0000001 1.2.3 99999999999999999999999 \
    9223372036854775808 $'1\n2' $'\xff\xfe' $'1\x01' '%s%n%n' "1'; drop table account; --" "$(head -c 60000 /dev/zero | tr '\0' 9)"; do
    forged games physics "${O}budget=$bad"
  done
}

@test "malformed values" {
  local bad
  for bad in '' 1 1: 1:2 : :: ::: 1:20:10 1:10:10 -1:10:20 nan:10:20 1:x:20 1:10:99999999999999999999 $'\xff:1:2' 1:10:20:30:40:50:60:70; do
    forged games physics "${O}value=$bad"
  done
}

@test "budget and value, or the same option twice" {
  forged games physics "${O}budget=1" "${O}value=1:10:20"
  forged games physics "${O}budget=1" "${O}budget=2"
}

@test "another's account" {
  forged games closed "${O}budget=1"
  forged nobody physics "${O}budget=1"
  forged games "$(printf 'a%.0s' {1..5000})" "${O}budget=1"
  forged games $'ph\xffysics' "${O}budget=1"
}

@test "a large environment hides no bid, and slurmctld lives" {
  local many=() i
  for i in {1..20000}; do
    many+=("X$i=y")
  done
  forge games physics "${many[@]}" "${O}budget=1"
  [[ $status -eq 0 && $output == *"market: accepted for 1.00"* ]]
  wait_settled "$(grep -x '[0-9]*' <<<"$output")"
  scontrol ping | grep -q UP
}

in_prolog() { cat "$CLUSTER_DIR/run/prolog-$1"; }

FORGED='={"market":{"token":"t","account":"closed","price":"0.00","rule":"era/1","start":1,"end":2,"budget":"1"}}'

@test "a forged note makes no bid, and no prolog sees it" {
  local job
  forge games physics "MARKET_NOTE$FORGED" "market_note$FORGED" "MARKET_NOTE$FORGED" "SPANK_MARKET_NOTE$FORGED" X=y
  [ "$status" -eq 0 ]
  [[ $output != *market:* ]]
  job=$(grep -x '[0-9]*' <<<"$output")
  cluster_wait_state COMPLETED "$job" 60
  [ -z "$(in_prolog "$job")" ]
  [ "$(ledger "select count(*) from segment where job_id = $job")" -eq 0 ]
  [ "$(ledger "select count(*) from transfer where 'closed' in (select name from account where id in (debit, credit))")" -eq 1 ]
}

@test "beside a bid a forged note counts nothing; the market's own is seen by prolog alone" {
  local job
  forge games physics "Market_Note$FORGED" "MARKET_NOTE$FORGED" "${O}budget=1.25"
  [ "$status" -eq 0 ]
  [[ $output == *"market: accepted for 1.00"* ]]
  job=$(grep -x '[0-9]*' <<<"$output")
  wait_settled "$job"
  [ "$(ledger "select account from segment where job_id = $job")" = physics ]
  [ "$(field "$job" 0 charged)" -eq 1000000 ]
  [ "$(in_prolog "$job" | wc -l)" -eq 1 ]
  [[ $(in_prolog "$job") == 'SPANK_MARKET_NOTE={"market":'*'"account":"physics","price":"1.00"'* ]]
}

@test "a forged admin comment does not pay: users cannot set it, and nobody may imitate the bill" {
  local job
  job=$(cluster_as games sbatch --parsable -o /dev/null -n 1 -t 1 -H --wrap true)
  run cluster_as games scontrol update job "$job" AdminComment='{"market":{"account":"closed","price":"0"}}'
  [ "$status" -ne 0 ]
  run scontrol update job "$job" AdminComment='{"market":{"account":"closed","price":"0"}}'
  [ "$status" -ne 0 ]
  [[ $(scontrol show job "$job") != *AdminComment* ]]
  scancel "$job"
}

@test "a job of somebody else does not start in the market's reservation" {
  local name
  accepted games -A physics -n 1 -t 1 --budget=1 --begin=now+2minutes --wrap true
  cluster_wait 15 reserved
  name=$(scontrol show reservation -o | grep -o 'ReservationName=market_[^ ]*' | head -n 1 | cut -d= -f2)
  run cluster_as daemon sbatch --reservation="$name" -n 1 -t 1 --wrap true
  [ "$status" -ne 0 ]
  run cluster_as games sbatch --reservation="$name" -n 1 -t 1 --wrap true
  [ "$status" -ne 0 ]
  scancel "$JOB"
}

reserved() { scontrol show reservation -o | grep -q ReservationName=market_; }

@test "all is well" { all_is_well; }
