#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A pass reads only the jobs of which it has something to do; it sees all that happens to the others.

load lib/market

setup_file() {
  CLUSTER_NODES=2 CLUSTER_CPUS=4
  CLUSTER_SLURM_EXTRA=$'SlurmctldDebug=debug2\nPreemptMode=off'
  cluster_new
  fixed_rate 60
  cluster_set planning.max_reservations 2
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

passes() { grep -o 'market: pass over [0-9]* jobs' "$CLUSTER_DIR/log/slurmctld.log" | tail -n 3; }
reads_nothing() { [[ $(passes | sort -u) == "market: pass over 0 jobs" ]]; }
reservations() { scontrol show reservation -o 2>/dev/null | grep -c ReservationName=market_ || true; }

keeps_its_cores() { [[ $(scontrol show reservation -o) == *"ReservationName=market_$1_0 "* ]]; }

@test "Two runs with a bid, one without, and six bids that wait are not read" {
  local i
  for i in 1 2; do accepted games --budget=50 -t 3 -n 3 -A physics --wrap 'sleep 100'; echo "$JOB"; done >"$CLUSTER_DIR/run/runs"
  JOB=$(cluster_as games sbatch --parsable -t 5 -n 1 --wrap 'sleep 300')
  cluster_wait_state RUNNING "$JOB" 30
  for i in $(<"$CLUSTER_DIR/run/runs"); do cluster_wait_state RUNNING "$i" 30; done
  for i in 1 2 3 4 5 6; do accepted games --budget=50 -t 3 -n 4 -N 1 -A physics --wrap 'sleep 5'; echo "$JOB"; done >"$CLUSTER_DIR/run/waiting"
  cluster_wait 60 reads_nothing
}

@test "Of those that wait the next two have reservations, perhaps one more, of those that run none" {
  cluster_wait 30 eval '[[ $(reservations) -ge 2 && $(reservations) -le 3 ]]'
  [[ -z $(squeue -h -t running -o %v | grep market_) ]]
}

@test "A run that its owner ends is billed, and its place is used" {
  local first
  first=$(head -n 1 "$CLUSTER_DIR/run/runs")
  cluster_as games scancel "$first"
  wait_settled "$first"
  [[ $(field "$first" 0 state) == CANCELLED ]]
}

@test "A run that is suspended and resumed, and one whose limit is changed, are seen" {
  local run suspended
  run=$(tail -n 1 "$CLUSTER_DIR/run/runs")
  scontrol suspend "$run"
  cluster_wait 10 keeps_its_cores "$run"
  sleep 3
  scontrol resume "$run"
  suspended=$(($(date +%s) - $(started_at "$run") - $(squeue -h -j "$run" -O timeused:20 | awk -F: '{print $1 * 60 + $2}')))
  ((suspended >= 2))
  scontrol update JobId="$run" TimeLimit=2
  cluster_wait 60 reads_nothing
  cluster_as games scancel "$run"
  wait_settled "$run"
  (($(field "$run" 0 elapsed) <= $(date +%s) - $(started_at "$run") - 1))
}

@test "Bids that rested start and are billed" {
  local job
  for job in $(<"$CLUSTER_DIR/run/waiting"); do wait_settled "$job"; done
  for job in $(<"$CLUSTER_DIR/run/waiting"); do [[ $(field "$job" 0 state) == COMPLETED ]]; done
  cluster_as games scancel -u games
  books_balance
}
