#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Who asks for a menu again does not pay less, on a real Slurm: "done within an hour and a half" while four hours are sold, ten tries a
# minute apart, all at a tenth: a job of six minutes, done within nine, 24 minutes sold from the twelfth on, six seconds apart.

load lib/market

setup_file() {
  cluster_new
  cluster_set mechanism contracts
  cluster_set prices.floor 0.1
  cluster_set prices.cap 100
  cluster_set contracts.floor none
  cluster_set contracts.epoch 1-0
  cluster_set planning.slot 0:10
  cluster_set planning.start_slack 0:05
  cluster_start
  open_account physics 100000 games,nobody
  # Half of all bids of the past were due soon after their limit, half could wait for hours.
  local i now
  now=$(date +%s)
  for i in $(seq 400); do
    echo "insert into bid (id, submitted, earliest, deadline, duration, tres, value, partition, account, uid, accepted, price, mechanism, cluster)
      values ('past:$i', $((now - 7200 - i)), $((now - 7200 - i)), $((now - 6840 - i + (i % 2 ? 6 + i % 120 : 17280))), 360, 'cpu=64', $((i * 10)), 'main', 'physics', 1, 1, 0, 'contracts/3', 'market');"
  done | sqlite3 -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db"
  for i in 12 18 24 30; do
    accepted games -A physics -N "$CLUSTER_NODES" --exclusive -t 6 --budget=50000 --begin=now+$((i * 60)) --deadline=now+$((i * 60 + 400)) --wrap true
  done
  sleep 1
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# cheapest USER ARGUMENT…: the price of the cheapest row that is done within nine minutes; nothing without a row.
cheapest() {
  cluster_as "$1" smarket --json menu -A physics -n 1 --rows=100 "${@:2}" | tee "$BATS_TEST_TMPDIR/menu" |
    jq --argjson due "$(($(date +%s) + 540))" '[.rows[] | select(.completes <= $due) | .price | tonumber] | min // empty'
}

@test "ten tries six seconds apart, by two users: none is cheaper than the first" {
  local seed first try
  # A draw in which time costs something: else there is nothing to be gained.
  for seed in $(seq 30); do
    cluster_reset seed "seed $seed"
    first=$(cheapest games -t 6)
    [[ -z $first || $first == 0 ]] || break
  done
  [[ -n $first && $first != 0 ]] || { cat "$BATS_TEST_TMPDIR/menu" && return 1; }
  echo "seed $seed: $first"
  for try in $(seq 2 10); do
    sleep 6
    user=$([[ $((try % 2)) -eq 0 ]] && echo nobody || echo games)
    [[ $(cheapest "$user" -t 6) == "$first" ]] || { echo "try $try: $(cheapest "$user" -t 6) after $first" && return 1; }
  done
}

@test "the books balance" {
  scancel -u games
  cluster_wait 60 liens_are physics 0
  all_is_well
}
