#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Two submissions race for the last credits: one wins, and what it does not use is free again at once.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 60.
  fixed_rate 3600
  cluster_set charge used
  cluster_set no_funds wait
  cluster_start
  open_account physics 100 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

submit() { cluster_as "$1" sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --budget=60 "$CLUSTER_DIR/run/for-15"; }

@test "of two in the same second one is accepted and the other waits; nothing is lost" {
  local winner loser
  run_for 15 >"$CLUSTER_DIR/run/for-15"
  chmod 755 "$CLUSTER_DIR/run"
  submit games >"$CLUSTER_DIR/run/first" 2>&1 &
  submit daemon >"$CLUSTER_DIR/run/second" 2>&1 &
  wait
  cat "$CLUSTER_DIR"/run/{first,second}
  [ "$(grep -l "accepted for 60.00" "$CLUSTER_DIR"/run/{first,second} | wc -l)" -eq 1 ]
  [ "$(grep -lE "needs 60.00.*available 40.00" "$CLUSTER_DIR"/run/{first,second} | wc -l)" -eq 1 ]
  winner=$(grep -h -A9 accepted "$CLUSTER_DIR"/run/{first,second} | grep -x '[0-9]*')
  loser=$(grep -hx '[0-9]*' "$CLUSTER_DIR"/run/{first,second} | grep -vx "$winner")

  cluster_wait 10 liens_are physics 60000000
  [ "$(posted physics)" -eq 100000000 ]
  [ "$(smarket balance physics --json | jq -r '.accounts[0] | "\(.balance) \(.liens) \(.available)"')" = "100.00 60.00 40.00" ]
  cluster_wait_state PENDING "$loser" 5

  wait_settled "$winner"
  [ "$(field "$winner" 0 elapsed)" -eq 15 ]
  [ "$(field "$winner" 0 charged)" -eq 15000000 ]
  wait_settled "$loser"
  [ "$(field "$loser" 0 elapsed)" -eq 15 ]
  [ "$(posted physics)" -eq 70000000 ]
  [ "$(liens physics)" -eq 0 ]
}

@test "all is well" { all_is_well; }
