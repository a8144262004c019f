#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The books against what Slurm says: smarket check compares liens with live jobs and charges with slurmdbd; the ledger is
# away at a reconfigure, moved, deleted and replaced while jobs live.

load lib/market

setup_file() {
  export CLUSTER_ACCOUNTING=1
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_start
  sacctmgr -i add account physics >/dev/null
  sacctmgr -i add user games account=physics >/dev/null
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() {
  cluster_adopt
  LEDGER=$CLUSTER_DIR/ledger/market.db
}

checked() { smarket check >"$CLUSTER_DIR/run/check" 2>&1; }
finds() { checked && grep -q "$1" "$CLUSTER_DIR/run/check"; }
check_says() { ! checked && grep -q "$1" "$CLUSTER_DIR/run/check" || { cat "$CLUSTER_DIR/run/check" >&2 && false; }; }
behind_its_back() { sqlite3 -cmd '.timeout 5000' "$LEDGER" "$1"; }
says_no() { [[ $(cluster_as games sbatch -A physics -n 1 -t 1 --budget=1 --test-only --wrap true 2>&1) == *"market: "*"not available"* ]]; }

@test "what agrees is said to, with slurmdbd's records of what ran" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 2"
  wait_settled "$JOB"
  accepted games -A physics -n 2 -t 1 --budget=2 --begin=now+1hour --deadline=now+2hours --wrap true
  echo "$JOB" >"$CLUSTER_DIR/run/live"
  # What ended in the last ten seconds is not compared yet.
  cluster_wait 30 finds 'charges *ok *1 of 1 runs .* slurmdbd' || { cat "$CLUSTER_DIR/run/check" >&2 && false; }
  grep -q 'liens *ok *1 open, each with a live job' "$CLUSTER_DIR/run/check"
}

@test "a bill that AdminComment does not tell is named, and one of a run that Slurm has not" {
  local job
  job=$(ledger "select job_id from segment where charged > 0")
  behind_its_back "update segment set charged = 2000000 where job_id = $job"
  check_says "charged 2.00 on physics, but its AdminComment says 1.00"
  behind_its_back "update segment set charged = 1000000, submitted = submitted - 500, start = start - 500 where job_id = $job"
  check_says "Slurm's records have no such run"
  behind_its_back "update segment set submitted = submitted + 500, start = start + 500 where job_id = $job"
  checked
}

@test "away at a reconfigure: the lien of the live job stays" {
  local conf=$CLUSTER_DIR/etc/market.conf
  cp "$conf" "$conf.good"
  sed -i "s#^database.*#database = \"$CLUSTER_DIR/ledger/other.db\";#" "$conf"
  scontrol reconfigure
  cluster_wait 10 says_no
  cp "$conf.good" "$conf"
  scontrol reconfigure
  cluster_wait 20 checked
  sleep 65 # as long as a lien without a job lives
  liens_are physics 2000000
  checked
}

@test "moved away while a job runs: bids are refused, and its bill is there when the file is back" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 6"
  cluster_wait_state RUNNING "$JOB"
  mv "$LEDGER" "$LEDGER.aside"
  cluster_wait 5 says_no
  check_says "deleted, moved or replaced under the market"
  cluster_wait_state COMPLETED "$JOB"
  sleep 3
  [ ! -e "$LEDGER" ]
  mv "$LEDGER.aside" "$LEDGER"
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 1000000 ]
  cluster_wait 60 checked
  grep -q 'deleted, moved or replaced under the market' "$CLUSTER_DIR/run/check"
  grep -q 'the ledger: .*was deleted or moved away' "$CLUSTER_DIR/log/slurmctld.log"
}

@test "an older copy by rename: the live job's lien is set aside in it" {
  behind_its_back "vacuum into '$LEDGER.copy'" && chmod 600 "$LEDGER.copy"
  accepted games -A physics -n 3 -t 1 --budget=3 --begin=now+1hour --deadline=now+2hours --wrap true
  cluster_wait 10 liens_are physics 5000000
  mv "$LEDGER.copy" "$LEDGER"
  cluster_wait 20 liens_are physics 5000000
  cluster_wait 60 checked
  grep -q 'another file has taken its place' "$CLUSTER_DIR/log/slurmctld.log"
  scancel "$JOB" "$(<"$CLUSTER_DIR/run/live")"
}

@test "all is well" { all_is_well; }
