#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# One job, four runs of 64, 74, 101 and 35 seconds, the first three requeued, at 36 an hour: 2.740 when its user requeued
# it, since every run pays for its use, 0.350 when its node failed. Both at the same time, each on its own cluster.

load lib/market

RUNS=(64 74 101 35)

setup_file() {
  play requeue_at >"$BATS_FILE_TMPDIR/own" 2>"$BATS_FILE_TMPDIR/own.log" 3>&- &
  local other=$!
  sleep 2
  play fail_at >"$BATS_FILE_TMPDIR/system" 2>"$BATS_FILE_TMPDIR/system.log" 3>&-
  wait "$other"
}

# play HOW: the runs end by that command; prints the bill of the job, the account's balance, and what sbill says.
play() (
  set +e
  cluster_new
  trap cluster_stop EXIT
  fixed_rate 36
  cluster_set charge used
  CLUSTER_NODES=1
  cluster_start >&2
  open_account physics 100 games >&2
  run_for "${RUNS[3]}" >"$CLUSTER_DIR/run/last"
  printf '#!/bin/bash\n[ "${SLURM_RESTART_COUNT:-0}" -eq 3 ] && exec %s\nsleep 1000\n' "$CLUSTER_DIR/run/last" >"$CLUSTER_DIR/run/script"
  chmod 755 "$CLUSTER_DIR"/run{,/last,/script}
  accepted games -A physics -n 1 -t 2 --budget=10 --requeue "$CLUSTER_DIR/run/script"
  for run in 0 1 2; do
    cluster_wait_state RUNNING "$JOB" 60
    "$1" "$JOB" "${RUNS[run]}"
    wait_settled "$JOB" "$run"
  done
  wait_settled "$JOB" 3 90
  books_balance >&2 && echo balanced
  echo "posted $(posted physics)"
  ledger "select restart || ' ' || state || ' ' || elapsed || ' ' || (charged - refunded) from segment where job_id = $JOB order by restart"
  sbill -n -P -j "$JOB" --format=Restarts,Charged | sed 's/^/sbill /'
)

bill_of() {
  cat "$BATS_FILE_TMPDIR/$1.log" "$BATS_FILE_TMPDIR/$1" >&2
  cat "$BATS_FILE_TMPDIR/$1"
}

@test "requeued by its user: four lines, 2.740" {
  [ "$(bill_of own)" = "balanced
posted $((100000000 - 2740000))
0 REQUEUED 64 640000
1 REQUEUED 74 740000
2 REQUEUED 101 1010000
3 COMPLETED 35 350000
sbill 0|0.64
sbill 1|0.74
sbill 2|1.01
sbill 3|0.35" ]
}

@test "what the system took back is free: 0.350" {
  [ "$(bill_of system)" = "balanced
posted $((100000000 - 350000))
0 NODE_FAIL 64 0
1 NODE_FAIL 74 0
2 NODE_FAIL 101 0
3 COMPLETED 35 350000
sbill 0|0.00
sbill 1|0.00
sbill 2|0.00
sbill 3|0.35" ]
}
