#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every mechanism on the same running Slurm, switched in market.conf: bids are taken, jobs run, the bill says which rule
# made the price, and what was promised before stays promised.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 12.
  fixed_rate 720
  cluster_set prices.fixed 720
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 10000 games
  # Accepted under era for 48 credits; runs through all that follows.
  accepted games -A physics -n 1 -t 4 --budget=50 --wrap "sleep 75"
  echo "$JOB" >"$CLUSTER_DIR/run/first"
  cluster_wait_state RUNNING "$JOB"
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# run_under MECHANISM SAYING: two CPUs for a minute with a budget of 50; sets CHARGED.
run_under() {
  local mechanism=$1 saying=$2
  cluster_reset mechanism "$mechanism"
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 3"
  [[ $STATUS -eq 0 && $SAID == *"market: "*"$saying"* ]] || { echo "$mechanism: status $STATUS: $SAID" >&2 && return 1; }
  wait_settled "$JOB" 0 60 || return 1
  [[ $(field "$JOB" 0 state) == COMPLETED ]] || { echo "$mechanism: $(segment "$JOB")" >&2 && return 1; }
  [[ $(field "$JOB" 0 mechanism) == "$mechanism"/* ]] || { echo "made by $(field "$JOB" 0 mechanism)" >&2 && return 1; }
  CHARGED=$(field "$JOB" 0 charged)
}

@test "posted prices: the accepted price is the bill" {
  for mechanism in first_fit on_demand; do
    run_under "$mechanism" "accepted for 24.00"
    [ "$CHARGED" -eq 24000000 ]
  done
}

@test "contracts: nobody pays less than the site's floor, unless it has none" {
  run_under contracts "accepted for 24.00"
  [ "$CHARGED" -eq 24000000 ]
  bid games -A physics -n 2 -t 1 --budget=23.999999 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"needs 24.00"* ]]
  cluster_set contracts.floor none
  run_under contracts "accepted for 0.00"
  [ "$CHARGED" -eq 0 ]
  cluster_set contracts.floor site
}

@test "the seed in market.conf is for SlurmUser alone, and nothing tells it" {
  local said
  cluster_reset seed hush-hush-hush-hush
  said=$(smarket check)
  [[ $said == *warning*"others may read it"* ]]
  chmod 600 "$CLUSTER_DIR/etc/market.conf"
  said+=$(smarket check)
  [[ $(smarket check) != *"may read it"* ]]
  cluster_as games smarket prices
  cluster_reset seed $'hush-hush-hush-hush\\n'
  said+=$(smarket check || true)
  cluster_set seed "this one is not told either"
  cluster_reset
  [[ $said != *hush-hush* ]]
  ! grep -q hush-hush "$CLUSTER_DIR"/log/slurmctld.log || false
}

@test "abacus: a job owes the part of its budget that it ran of its time limit, or all of it" {
  run_under abacus "you pay at most 50.00"
  [ "$CHARGED" -eq $((50000000 * $(field "$JOB" 0 elapsed) / 60)) ] || [ "$CHARGED" -eq $((50000000 * $(field "$JOB" 0 elapsed) / 60 + 1)) ]
  cluster_set abacus.weight start
  run_under abacus "a completed job pays 50.00"
  [ "$CHARGED" -eq 50000000 ]
}

@test "tycoon and dva: rate times seconds, never more than the budget" {
  for mechanism in tycoon dva; do
    run_under "$mechanism" "you pay at most 50.00"
    [ "$CHARGED" -gt 0 ]
    [ "$CHARGED" -le 50000000 ]
  done
}

# owner_paid: JOB's whole bill went to the owner of the node it ran on.
owner_paid() {
  local node owners
  wait_settled "$JOB" 0 60 || return 1
  node=$(scontrol show job "$JOB" -o | grep -o ' NodeList=n[0-9]*' | cut -d= -f2)
  owners=$(ledger "select name || ' ' || amount from transfer join account on account.id = credit
    where transfer.key like (select key from segment where id = $(run_of "$JOB")) || ':payout:%'")
  [[ $(field "$JOB" 0 charged) -gt 0 && "$owners" == "lab-${node#n} $(field "$JOB" 0 charged)" ]] ||
    { echo "job $JOB on $node, $(segment "$JOB"): paid '$owners'" >&2 && return 1; }
}

@test "dva: owners of nodes are paid, also for a run that ends while slurmctld is down" {
  local lab list=''
  for lab in 1 2 3 4; do
    smarket account add "lab-$lab"
    list+="{ nodes = \"n$lab\"; account = \"lab-$lab\"; ask = \"${lab}00\"; },"
  done
  cluster_reset mechanism dva owners "(${list%,})" planning.interval_ms 5000
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 3"
  owner_paid
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 1.5" # over before a pass sees it
  owner_paid
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 5"
  cluster_wait_state RUNNING "$JOB"
  cluster_state_saved
  cluster_end slurmctld KILL
  sleep 6
  cluster_start_slurmctld
  owner_paid
  cluster_reset planning.interval_ms 250
}

@test "orders of the queue cost nothing" {
  for mechanism in fifo easy edf earliest_finish random; do
    run_under "$mechanism" "costs nothing"
    [ "$CHARGED" -eq 0 ]
  done
}

@test "the job accepted first is billed what it was promised" {
  local job
  job=$(<"$CLUSTER_DIR/run/first")
  cluster_reset mechanism era
  wait_settled "$job" 0 120
  [ "$(field "$job" 0 state)" = COMPLETED ]
  [ "$(field "$job" 0 charged)" -eq 48000000 ]
  [[ "$(field "$job" 0 mechanism)" == era/* ]]
}

@test "all is well" { all_is_well; }
