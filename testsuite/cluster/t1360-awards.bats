#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Where an auction sells nodes (dva), the award decides the node: asks win and lose work, and nothing starts without one.

load lib/market

setup_file() {
  local lab list=''
  cluster_new
  cluster_set prices.floor 1
  cluster_set prices.fixed 1
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 10000 games
  # The cheapest node is the last one, so that luck places nothing right.
  for lab in 1 2 3 4; do
    smarket account add "lab-$lab"
    list+="{ nodes = \"n$lab\"; account = \"lab-$lab\"; ask = \"$((500 - 100 * lab))\"; },"
  done
  cluster_reset mechanism dva owners "(${list%,})"
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

of_job() { scontrol show job "$JOB" -o | grep -o " $1=[^ ]*" | cut -d= -f2; }

# earned LAB: all that the account got, in micro-credits.
earned() { ledger "select coalesce(sum(amount), 0) from transfer join account on account.id = credit where name = '$1'"; }

is_kept_back() { [[ $(squeue -h -j "$1" -o %r) == Price ]]; }

@test "the award decides the node, and its owner gets all" {
  # 50 for a minute are 3,000 an hour. Two CPUs of n4 ask 200, of n3 400: it runs on n4, for 400 an hour.
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 3"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ]
  local elapsed charged
  elapsed=$(field "$JOB" 0 elapsed)
  charged=$(field "$JOB" 0 charged)
  [ "$charged" -ge $((elapsed * 400000000 / 3600)) ] && [ "$charged" -le $((elapsed * 400000000 / 3600 + 1)) ]
  [ "$(earned lab-4)" -eq "$charged" ]
}

@test "a job of a whole node runs on the cheapest one, the next on the next" {
  local cpus first
  cpus=$(scontrol show node n4 -o | grep -o 'CPUTot=[0-9]*' | cut -d= -f2)
  bid games -A physics -n "$cpus" -t 1 --budget=300 --wrap "sleep 20"
  first=$JOB
  cluster_wait_state RUNNING "$first"
  [ "$(of_job NodeList)" = n4 ]
  bid games -A physics -n "$cpus" -t 1 --budget=300 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n3 ]
  scancel "$first"
  wait_settled "$first" 0 60
}

@test "an ask is a reserve price: what bids less is held, and blocks nobody" {
  bid games -A physics -n 1 -t 1 --budget=1.60 --wrap "sleep 1" # 96 an hour, and 100 is asked
  local poor=$JOB
  cluster_wait 20 is_kept_back "$poor" || { squeue -j "$poor" -o '%T %r' && false; }
  run smarket why "$poor"
  [[ "$output" == *"ask 100.00 an hour at least, it bids 96.00"*"[PRICE]"* ]] || { echo "$output" && false; }
  bid games -A physics -n 1 -t 1 --budget=20 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ]
  [ "$(squeue -h -j "$poor" -o %T)" = PENDING ]
  echo "$poor" >"$CLUSTER_DIR/run/poor"
}

@test "an award holds through kill -9, and so does a hold" {
  local poor
  poor=$(<"$CLUSTER_DIR/run/poor")
  cluster_state_saved
  cluster_end slurmctld KILL
  cluster_start_slurmctld
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ]
  [ "$(squeue -h -j "$poor" -o %T)" = PENDING ]
  smarket rebid "$poor" --budget=10
  wait_settled "$poor" 0 60
  [ "$(scontrol show job "$poor" -o | grep -o ' NodeList=n[0-9]*')" = " NodeList=n4" ]
}

@test "a drained node is awarded to nobody" {
  scontrol update NodeName=n4 State=DRAIN Reason=test
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  scontrol update NodeName=n4 State=RESUME
  [ "$(of_job NodeList)" = n3 ]
}

@test "its owner's node list is kept, and a hold of its owner too" {
  bid games -A physics -n 2 -t 1 -w n2 --budget=50 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n2 ]
  bid games -A physics -n 2 -t 1 --hold --budget=50 --wrap "sleep 1"
  sleep 3
  [ "$(squeue -h -j "$JOB" -o '%T %r')" = "PENDING JobHeldUser" ]
  cluster_as games scontrol release "$JOB"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ]
}

@test "all is well" { all_is_well; }
