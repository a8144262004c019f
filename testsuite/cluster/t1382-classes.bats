#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Classes of jobs on a real Slurm: --class and --work of sbatch, srun and smarket, a density for each class, no absurd bid
# that changes a menu, and the class and work of a job that a crash does not lose.

load lib/market

setup_file() {
  cluster_new
  cluster_set mechanism contracts
  cluster_set prices.floor 0.1
  cluster_set prices.cap 10
  cluster_set contracts.epoch 1-0
  cluster_set contracts.classes '(
    { name = "fast"; shape = "hard_deadline"; accounts = ["physics"]; },
    { name = "slow"; shape = "hard_deadline"; accounts = ["biology"]; },
    { name = "nightly"; shape = "recurrent"; value = "4"; seconds_per_work = "60"; unit = "GB"; accounts = ["physics"]; } )'
  cluster_start
  open_account physics 100000 games
  open_account biology 100000 games
  past fast 2000
  past slow 20000
  # Three hours of the whole cluster are sold from forty minutes on: who is due soon goes before them, who can wait behind.
  local hour
  for hour in 0 1 2; do
    accepted games -A physics -N "$CLUSTER_NODES" --exclusive -t 60 --budget=5000 --begin=now+$((2400 + hour * 3630)) \
      --deadline=now+$((2400 + hour * 3630 + 3640)) --wrap true
  done
  cluster_reset seed "the first"
}

# past CLASS SECONDS [CREDITS]: 60 bids of the past in the class, an hour of one CPU each, due so long after their limits in the
# mean; or one bid of so many credits.
past() {
  local i then many=60 class=$1 mean=$2 credits=${3:-}
  then=$(($(date +%s) - 7200))
  [[ -z $credits ]] || many=1
  for i in $(seq "$many"); do
    echo "insert into bid (id, submitted, earliest, deadline, duration, tres, value, partition, account, uid, accepted, price, mechanism, cluster, class)
      values ('past:$class:$credits:$i', $then, $then, $((then + 3600 + mean * (85 + i % 31) / 100)), 3600, 'cpu=1', ${credits:-$((1 + i % 9))}, 'main', 'physics', 1, 1, 0, 'contracts/3', 'market', '$class');"
  done | sqlite3 -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db"
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# menu ACCOUNT ARGUMENT…: the menu of one task for half an hour: prices, and how many minutes from now each is done.
menu() {
  cluster_as games smarket --json menu -A "$1" -n 1 -t 30 --rows=100 "${@:2}" |
    jq -c "{class, rows: [.rows[] | [.price, ((.completes - $(date +%s)) / 60 | round)]]}"
}

@test "each class has its own types, and is shown without a single bid" {
  local classes
  classes=$(cluster_as games smarket --json show classes)
  [[ $(jq -c '[.classes[] | [.class, .samples]]' <<<"$classes") == '[["fast",60],["slow",60],["nightly",0]]' ]] || { echo "$classes" && return 1; }
  [[ $(jq -c '[.classes[] | .spread[1].mean // 0 | . / 1000 | round]' <<<"$classes") == '[2,20,0]' ]]
  cluster_as games smarket show classes
}

@test "menus differ by class, and a bid of a million an hour changes neither" {
  # In half of all draws nobody competes for a place before what is sold; then it is at the floor for both.
  local fast slow seed
  for seed in $(seq 20); do
    cluster_reset seed "seed $seed"
    fast=$(menu physics) slow=$(menu biology)
    [[ $(jq -c .rows <<<"$fast") == "$(jq -c .rows <<<"$slow")" ]] || break
  done
  echo "$fast" && echo "$slow"
  [[ $(jq -r .class <<<"$fast") == fast && $(jq -r .class <<<"$slow") == slow ]]
  # Who is due in half an hour and 2,000 s must go before what is sold; who has 20,000 s pays nothing for that.
  [[ $(jq '.rows[0][0] | tonumber > 0.05' <<<"$fast") == true && $(jq -c '.rows | map(.[0])' <<<"$slow") == '["0.05"]' ]]
  past fast 2000 1000000
  past slow 2000 1000000
  cluster_reset contracts.minimum 49 # it learns anew
  local fast_after slow_after
  fast_after=$(menu physics) slow_after=$(menu biology)
  echo "$fast_after" && echo "$slow_after"
  [[ $(jq -c '[.rows[][0]]' <<<"$fast_after") == "$(jq -c '[.rows[][0]]' <<<"$fast")" ]]
  [[ $(jq -c '[.rows[][0]]' <<<"$slow_after") == "$(jq -c '[.rows[][0]]' <<<"$slow")" ]]
  local shift
  shift=$(jq -s '[.[0].rows[0][1] - .[1].rows[0][1], .[2].rows[0][1] - .[3].rows[0][1]] | map(fabs) | max' <<<"$fast $fast_after $slow $slow_after")
  [[ $shift -le 2 ]]
  [[ $(cluster_as games smarket --json show classes | jq -c '[.classes[] | .samples]') == '[60,60,0]' ]]
}

@test "sbatch, srun: a class is named or follows from the bid, and what is wrong is said" {
  refused '--class=slow: it is not open; open to account physics in partition main: fast, nightly' games -A physics -n 1 -t 1 --class=slow --budget=5 --wrap true
  refused '--class is a part of a bid' games -A physics -n 1 -t 1 --class=fast --wrap true
  refused '--work is a bid of its own' games -A physics -n 1 -t 1 --work=30 --budget=5 --wrap true
  refused 'no class of jobs whose bids are given with --work is open to account biology' games -A biology -n 1 -t 1 --work=30 --wrap true
  bid games -A physics -n 1 -t 1 --work=much --wrap true
  [[ $STATUS -ne 0 && $SAID == *"--work takes units of work"* ]]
  cluster_as games srun -A physics -n 1 -t 1 --class=fast --budget=5 true
}

@test "work is a bid, which a crash does not lose" {
  accepted games -A physics -n 1 -t 1 --work=30 --hold --wrap true
  cluster_wait 20 eval '[[ $(ledger "select count(*) from bid where class = '"'nightly'"' and work = 30") -eq 1 ]]'
  cluster_state_saved
  cluster_restart_slurmctld KILL
  scontrol release "$JOB"
  wait_settled "$JOB" 0 60
  [[ $(field "$JOB" 0 state) == COMPLETED && $(field "$JOB" 0 charged) -gt 0 ]]
  # 4 credits for a CPU and an hour, of which it bought a minute.
  [[ $(field "$JOB" 0 charged) -le 66667 ]]
}

@test "a script tells its size to smarket menu" {
  printf '%s\n' '#!/bin/bash' '#SBATCH -n 2 -t 30 -A physics --class=fast' 'true' >"$CLUSTER_DIR/run/job.sh"
  chmod a+r "$CLUSTER_DIR/run/job.sh"
  local made
  made=$(cluster_as games smarket --json menu "$CLUSTER_DIR/run/job.sh")
  [[ $(jq -r .class <<<"$made") == fast ]]
  accepted games --quote="$(jq -r .menu <<<"$made"):1" "$CLUSTER_DIR/run/job.sh"
}

@test "the books balance" {
  scancel -u games
  cluster_wait 60 liens_are physics 0
  all_is_well
}
