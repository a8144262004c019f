#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Abacus with service levels: prolific jobs start first, and only a level that is met is paid.

load lib/market

setup_file() {
  export CLUSTER_NODES=4 CLUSTER_CPUS=16
  cluster_new
  cluster_set mechanism abacus
  cluster_set abacus.slo deadline
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 1000 games daemon nobody
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

asks() { # USER CPUS BUDGET MINUTES-TO-THE-DEADLINE
  JOB=$(cluster_as "$1" sbatch --parsable -o /dev/null -A physics -n "$2" -t 2 --budget="$3" --deadline="now+${4}minutes" \
    --wrap "sleep 90" 2>"$CLUSTER_DIR/run/said") && SAID=$(<"$CLUSTER_DIR/run/said")
}

# said PATTERN: a second between sbatch's clock and slurmctld's makes of .333 .335.
said() { [[ $SAID =~ $1 ]] || { echo "wanted '$1': $SAID" && false; }; }

stands() { cluster_as "$1" smarket why "$2" | grep -q "waits in the auction: share"; }

# a needs 48/64 × 2/3 = .50 of the CPUs, b 32/64 × 2/3 = .33, c 16/64 × 2/10 = .05; by credits for a needed share b comes first
# (270), then c (200), beside whom b has √90 / (√90 + √10) = .75; with a he would have .44 and a .41.
@test "b and c start, a is dropped at its deadline less its limit; bills 0, 90, 10" {
  local a b c blocker
  blocker=$(sbatch --parsable -o /dev/null -n 64 -t 5 --wrap "sleep 300")
  cluster_wait_state RUNNING "$blocker"
  asks daemon 32 90 3
  b=$JOB
  said "prolific .needs 0.3[34] of the CPUs; has 1.00."
  cluster_wait 30 stands daemon "$b"
  asks nobody 16 10 10
  c=$JOB
  said "prolific .needs 0.05 of the CPUs; has 0.25."
  cluster_wait 30 stands nobody "$c"
  asks games 48 80 3
  a=$JOB
  said "not prolific: runs if room is left; costs nothing unless it starts by "
  cluster_wait 30 stands games "$a"
  scancel "$blocker"
  cluster_wait_state RUNNING "$b" 30
  cluster_wait_state RUNNING "$c" 30
  [[ $(cluster_job_state "$a") == PENDING ]]
  wait_settled "$a" 0 120
  [[ $(field "$a" 0 state) == DEADLINE && $(field "$a" 0 charged) -eq 0 ]]
  wait_settled "$b" 0 120
  wait_settled "$c" 0 120
  [ "$(field "$b" 0 charged)" -eq 90000000 ]
  [ "$(field "$c" 0 charged)" -eq 10000000 ]
}

@test "who ends it himself owes it all, whom an operator ends owes nothing" {
  asks games 4 20 60
  cluster_wait_state RUNNING "$JOB"
  sleep 1
  cluster_as games scancel "$JOB"
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 20000000 ]
  asks games 4 20 60
  cluster_wait_state RUNNING "$JOB"
  sleep 1
  scancel "$JOB"
  wait_settled "$JOB"
  [ "$(field "$JOB" 0 charged)" -eq 0 ]
}

@test "arrays of one bid are not drawn here" {
  refused "--array-budget: only where starts are drawn by lot" games -A physics -n 1 -t 1 --array=1-5 --array-budget=5 --wrap true
}

@test "all is well" { all_is_well; }
