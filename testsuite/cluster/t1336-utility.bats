#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Abacus: what a job gains from shares, as its user says it, decides what its budget buys.

load lib/market

setup_file() {
  export CLUSTER_NODES=1 CLUSTER_CPUS=16
  cluster_new
  CLUSTER_GRES=map:16
  cluster_set mechanism abacus
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 10000 games daemon nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

asks() { # USER BUDGET UTILITY
  JOB=$(cluster_as "$1" sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --gres=map:1 --hold --budget="$2" --utility="$3" \
    --wrap true 2>"$CLUSTER_DIR/run/said")
}

# shares_of USER JOB: "cpu gres/map", in ten thousandths
shares_of() {
  cluster_as "$1" smarket why "$2" --json | jq -r '.shares | [.cpu, ."gres/map"] | map(. * 10000 | round) | join(" ")'
}

# near WANTED GOT: each number within ten of ten thousand
near() {
  local i wanted got
  read -ra wanted <<<"$1"
  read -ra got <<<"$2"
  for i in 0 1; do ((${wanted[i]} - ${got[i]} <= 10 && ${got[i]} - ${wanted[i]} <= 10)) || return 1; done
}

has_shares() { near "$3" "$(shares_of "$1" "$2")"; }

@test "three utilities: the shares of the paper's fixed point" {
  local a b c blocker
  blocker=$(sbatch --parsable -o /dev/null -n 16 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  asks games 100 cpu:3,gres/map:2
  a=$JOB
  asks daemon 200 cpu:3,gres/map:2
  b=$JOB
  asks nobody 150 cpu:2,gres/map:4
  c=$JOB
  scontrol release "$a" "$b" "$c"
  # Worked out from the paper's equations (1) and (4) apart from this code, alpha 0.5.
  cluster_wait 30 has_shares games "$a" "3121 2391"
  cluster_wait 30 has_shares daemon "$b" "4345 3474"
  cluster_wait 30 has_shares nobody "$c" "2533 4135"
  cluster_cancel_all
  cluster_wait 60 no_liens
}

@test "what cannot be read or is not for sale is refused with what is allowed" {
  local text
  for text in cores:3 cpu:3,log,log cpu cpu:0; do
    run cluster_as games sbatch -o /dev/null -A physics -n 1 -t 1 --budget=5 --utility="$text" --wrap true
    [ "$status" -ne 0 ]
    [[ $output == *"such as cpu:3,mem:2"* ]]
  done
  refused "there is no gres/fpga for sale here; name cpu, gres/map" games -A physics -n 1 -t 1 --budget=5 --utility=cpu:1,gres/fpga:1 \
    --wrap true
  refused "--utility is a part of a bid" games -A physics -n 1 -t 1 --utility=cpu:1 --wrap true
}

@test "another mechanism refuses it by name" {
  cluster_reset mechanism tycoon
  refused "--utility: only where shares of resources are sold (abacus), not under tycoon" games -A physics -n 1 -t 1 --budget=5 \
    --utility=cpu:3 --wrap true
}

@test "all is well" { all_is_well; }
