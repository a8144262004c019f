#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes that go down under a promise, reconfigure, restart and kill -9 of slurmctld: each job is billed once or released.

load lib/market

setup_file() {
  cluster_new
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_start
  open_account physics 1000 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# billed_once JOB CREDITS
billed_once() {
  wait_settled "$1" 0 200
  [ "$(field "$1" 0 state)" = COMPLETED ]
  [ "$(ledger "select count(*) from transfer where segment = $(run_of "$1") and kind = 'charge'")" -eq 1 ]
  [ "$(field "$1" 0 charged)" -eq "$(micro "$2")" ]
}

reserved_node() { scontrol show reservation -o | grep -o ' Nodes=[^ ]*' | cut -d= -f2 | head -n 1; }

@test "a node set down under a promised job: planned again, done by the deadline, at the price" {
  local deadline node
  deadline=$(($(date +%s) + 240))
  accepted games -A physics -N 1 -n 16 -t 1 --budget=16 --begin=now+25 --deadline="$(date -d "@$deadline" +%FT%T)" --wrap true
  cluster_wait 10 test_reserved
  node=$(reserved_node)
  scontrol update nodename="$node" state=down reason=test
  billed_once "$JOB" 16
  [ "$(field "$JOB" 0 end)" -le "$deadline" ]
  [ "$(ledger "select count(*) from segment where job_id = $JOB and note like '%late%'")" -eq 0 ]
  scontrol update nodename="$node" state=resume
}

test_reserved() { [[ -n $(reserved_node) ]]; }

@test "scontrol reconfigure between acceptance and run" {
  accepted games -A physics -n 1 -t 1 --budget=1 --begin=now+10 --wrap true
  scontrol reconfigure
  billed_once "$JOB" 1
}

@test "slurmctld restarted between acceptance and run, and while it runs" {
  accepted games -A physics -n 1 -t 1 --budget=1 --begin=now+15 --wrap "sleep 15"
  cluster_restart_slurmctld
  cluster_wait_state RUNNING "$JOB" 60
  cluster_restart_slurmctld
  billed_once "$JOB" 1
}

@test "killed between acceptance and run, and while it runs" {
  local before
  before=$(posted physics)
  accepted games -A physics -n 1 -t 1 --budget=1 --begin=now+15 --wrap "sleep 15"
  cluster_state_saved
  cluster_restart_slurmctld KILL
  cluster_wait_state RUNNING "$JOB" 60
  cluster_state_saved
  cluster_restart_slurmctld KILL
  billed_once "$JOB" 1
  [ "$(posted physics)" -eq $((before - 1000000)) ]
}

@test "killed while it runs, and the job ends before slurmctld is back" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap "sleep 6"
  cluster_wait_state RUNNING "$JOB"
  cluster_state_saved
  cluster_end slurmctld KILL
  sleep 8
  cluster_start_slurmctld
  billed_once "$JOB" 1
}

@test "killed right after the bill: billed once" {
  accepted games -A physics -n 1 -t 1 --budget=1 --wrap true
  wait_settled "$JOB"
  cluster_restart_slurmctld KILL
  sleep 5
  billed_once "$JOB" 1
}

@test "killed right after acceptance, before Slurm saved the job: nothing stays set aside for ever" {
  accepted games -A physics -n 4 -t 1 --budget=4 --begin=now+10minutes --wrap true
  cluster_restart_slurmctld KILL
  if cluster_is_state PENDING "$JOB"; then
    scancel "$JOB"
  fi
  cluster_wait 90 liens_are physics 0
}

# The jobs start when the killing is over: a start that slurmctld forgets is made again and fails on its node.
# without_job_submit COMMAND…: as before the market was installed.
without_job_submit() {
  sed -i 's/^JobSubmitPlugins/#&/' "$SLURM_CONF"
  cluster_restart_slurmctld
  "$@"
  sed -i 's/^#\(JobSubmitPlugins\)/\1/' "$SLURM_CONF"
  cluster_restart_slurmctld
}

note_like_an_older_version() {
  local now
  now=$(date +%s)
  scontrol update job "$JOB" AdminComment="{\"market\":{\"token\":\"old\",\"account\":\"physics\",\"price\":\"3.00\",\
\"rule\":\"era/1\",\"start\":$((now + 40)),\"end\":$((now + 110)),\"submitted\":$now,\"budget\":\"5\"}}"
}

@test "upgrade: a note that an older version left in admin_comment becomes the job's own, and is billed" {
  JOB=$(cluster_as games sbatch --parsable -o /dev/null -A physics -n 1 -t 1 --begin=now+40 --wrap true)
  without_job_submit note_like_an_older_version
  cluster_wait 20 liens_are physics 3000000
  [[ $(scontrol show job "$JOB") != *'AdminComment={"market"'* ]]
  cluster_restart_slurmctld
  cluster_wait 20 liens_are physics 3000000
  scontrol update job "$JOB" StartTime=now
  billed_once "$JOB" 3
}

@test "killed again and again among many jobs: every one billed once" {
  local jobs=() job before begin
  before=$(posted physics)
  begin=$(date -d '+60 seconds' +%FT%T)
  for _ in 1 2 3; do
    cluster_wait 30 smarket check
    for _ in 1 2 3 4 5; do
      accepted games -A physics -n 1 -t 1 --budget=1 --begin="$begin" --deadline=now+8minutes --wrap "sleep $((RANDOM % 5))"
      jobs+=("$JOB")
    done
    cluster_state_saved
    cluster_restart_slurmctld KILL
  done
  for job in "${jobs[@]}"; do
    billed_once "$job" 1
  done
  [ "$(posted physics)" -eq $((before - ${#jobs[@]} * 1000000)) ]
}

@test "all is well" { all_is_well && cluster_wait 20 no_reservations; }
