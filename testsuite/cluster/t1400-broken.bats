#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A broken market.conf, books that are missing, read-only or full: Slurm schedules on, and everybody is told once.

load lib/market

setup_file() {
  cluster_new
  fixed_rate 60
  mount -t tmpfs -o size=1m,mode=700 none "$CLUSTER_DIR/ledger" || echo "# no tmpfs here" >&3
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

slurm_schedules_on() {
  local job
  job=$(cluster_as games sbatch --parsable -o /dev/null -n 1 -t 1 --wrap true)
  cluster_wait_state COMPLETED "$job"
}

# Lines of slurmctld's log since the mark that hold TEXT.
mark_log() { wc -l <"$CLUSTER_DIR/log/slurmctld.log" >"$CLUSTER_DIR/run/mark"; }
log_lines() { tail -n +"$(($(<"$CLUSTER_DIR/run/mark") + 1))" "$CLUSTER_DIR/log/slurmctld.log" | grep -ci -- "$1" || true; }

bid_fails_clearly() { refused "not available now" games -A physics -n 1 -t 1 --budget=1 --wrap true; }

bid_passes() { accepted games -A physics -n 1 -t 1 --budget=1 --wrap true; }

@test "a broken market.conf at start: said once, with file and line; jobs without a bid run, bids are refused" {
  sed -i 's/^floor =/flor =/' "$CLUSTER_DIR/etc/market.conf"
  mark_log
  cluster_restart_slurmctld
  sleep 3
  slurm_schedules_on
  bid_fails_clearly
  [ "$(log_lines 'market.conf:[0-9]*:.*flor')" -eq 1 ]
  run smarket check
  [ "$status" -ne 0 ]
  [[ $output == *market.conf:[0-9]*flor* ]]
}

@test "mended and reconfigured: bids pass again" {
  cluster_reset
  cluster_wait 10 bid_passes
  wait_settled "$JOB"
}

@test "broken by a reconfigure: what runs is billed; the old values stay, where that is no start of slurmctld" {
  local job
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 2"
  job=$JOB
  cluster_wait_state RUNNING "$job"
  echo 'nonsense' >"$CLUSTER_DIR/etc/market.conf"
  mark_log
  scontrol reconfigure
  sleep 2
  if cluster_reconfigure_restarts; then
    bid_fails_clearly
    [[ $SAID == *"its configuration cannot be read"* ]]
    slurm_schedules_on
  else
    bid_passes
    wait_settled "$JOB"
  fi
  [ "$(log_lines 'market.conf:[0-9]*: syntax error')" -eq 1 ]
  cluster_wait_state COMPLETED "$job"
  cluster_reset
  wait_settled "$job"
  [ "$(field "$job" 0 state)" = COMPLETED ]
  [ "$(field "$job" 0 charged)" -eq 1000000 ]
  cluster_wait 10 bid_passes
  wait_settled "$JOB"
}

# Slurm itself may lose a client's connection while it reads its configuration, which is no answer of the market's.
bid_through_reconfigure() {
  local said=$CLUSTER_DIR/run/said.$1
  for _ in 1 2 3 4 5; do
    cluster_as games sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --budget=1 --wrap true >>"$CLUSTER_DIR/run/ids" 2>"$said" && return
    grep -qE 'socket error|Zero Bytes were transmitted' "$said" || return 0
    sleep 0.2
  done
}

@test "bids during reconfigures are accepted or repeated by sbatch, and none runs without its lien" {
  local bids=8 i
  for i in 1 2 3 4; do
    bid_through_reconfigure "$i.1" &
    bid_through_reconfigure "$i.2" &
    scontrol reconfigure
  done
  wait
  cat "$CLUSTER_DIR"/run/said.*
  grep 'market: ' "$CLUSTER_DIR/log/slurmctld.log" | tail -n 5
  [ "$(grep -cx '[0-9]*' "$CLUSTER_DIR/run/ids")" -eq "$bids" ]
  ! grep -q 'not available now' "$CLUSTER_DIR"/run/said.* || false
  for i in $(<"$CLUSTER_DIR/run/ids"); do
    wait_settled "$i"
    [ "$(field "$i" 0 charged)" -eq 1000000 ]
  done
}

@test "no database and no way to make one: refused, or unbilled by on_error" {
  cluster_reset database "$CLUSTER_DIR/nowhere/market.db"
  mark_log
  cluster_restart_slurmctld
  sleep 3
  slurm_schedules_on
  bid_fails_clearly
  [ "$(log_lines 'nowhere')" -eq 1 ]
  run smarket check
  [ "$status" -ne 0 ]
  cluster_reset on_error unbilled
  bid games -A physics -n 1 -t 1 --budget=1 --wrap true
  [ "$STATUS" -eq 0 ]
  [[ $SAID == *"market: "*unbilled* ]]
  cluster_wait_state COMPLETED "$JOB"
  cluster_reset on_error refuse database "$CLUSTER_DIR/ledger/market.db"
  cluster_restart_slurmctld
  cluster_wait 20 bid_passes
  wait_settled "$JOB"
}

@test "a read-only database" {
  mountpoint -q "$CLUSTER_DIR/ledger" || skip "no tmpfs here"
  cluster_end slurmctld
  mount -o remount,ro "$CLUSTER_DIR/ledger"
  mark_log
  cluster_start_slurmctld
  sleep 3
  slurm_schedules_on
  bid_fails_clearly
  [ "$(log_lines 'read-only')" -eq 1 ]
  run smarket deposit physics 1
  [ "$status" -ne 0 ]
  mount -o remount,rw "$CLUSTER_DIR/ledger"
  cluster_wait 30 bid_passes
  wait_settled "$JOB"
}

@test "a full disk: accepted jobs run, and are billed when there is room again" {
  local job
  mountpoint -q "$CLUSTER_DIR/ledger" || skip "no tmpfs here"
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 6"
  job=$JOB
  cluster_wait_state RUNNING "$job"
  mark_log
  dd if=/dev/zero of="$CLUSTER_DIR/ledger/ballast" bs=4k status=none || true
  sleep 8
  slurm_schedules_on
  scontrol ping | grep -q UP
  rm "$CLUSTER_DIR/ledger/ballast"
  wait_settled "$job" 0 30
  [ "$(field "$job" 0 charged)" -eq 1000000 ]
  [ "$(log_lines 'full')" -le 1 ]
  cluster_wait 30 bid_passes
  wait_settled "$JOB"
}

@test "all is well" { all_is_well; }
