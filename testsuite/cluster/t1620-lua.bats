#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside a site's job_submit.lua: both say what they have to say, and smarket is answered whatever lua demands of jobs.

load lib/market

# Demands what sites demand, and tells every user something.
site_plugin() {
  cat >"$CLUSTER_DIR/etc/job_submit.lua" <<'END'
function slurm_job_submit(job, partitions, uid)
  if job.account == nil then slurm.log_user("site: give an account") return slurm.ERROR end
  if job.time_limit == slurm.NO_VAL then slurm.log_user("site: give --time") return slurm.ERROR end
  if job.script == nil then slurm.log_user("site: batch only") return slurm.ERROR end
  if job.name == "forbidden" then slurm.log_user("site: no") return slurm.ERROR end
  slurm.log_user("site: project %s\nsite: 2 of {10} jobs used", job.account)
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
END
}

setup_file() {
  CLUSTER_NODES=1 CLUSTER_SLURM_EXTRA=JobSubmitPlugins=lua,market
  cluster_new
  site_plugin
  fixed_rate 60
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

answers() {
  accepted_or_silent games -A physics -n 1 -t 1 --begin=now+5minutes --budget=5 --wrap true
  cluster_wait 10 eval "cluster_as games smarket why $JOB | grep -q PLANNED"
  cluster_as games smarket prices | grep -q '60.0000'
  cluster_as games smarket quote -n 1 -t 1 -A physics | grep -q 'total 1.00'
  cluster_as games smarket balance physics | grep -q '^physics'
  cluster_as games smarket rebid "$JOB" --budget=7 | grep -q 'the bid is now 7'
  smarket check
  scancel "$JOB"
}

accepted_or_silent() {
  bid "$@"
  [[ $STATUS -eq 0 && $JOB =~ ^[0-9]+$ ]]
}

@test "lua,market: the site's lines come first, the market's after" {
  bid games -A physics -n 1 -t 1 --budget=5 --wrap true
  [[ $STATUS -eq 0 ]]
  [[ $SAID == $'sbatch: site: project physics\nsbatch: site: 2 of {10} jobs used\nsbatch: market: accepted for 1.00 credits (physics)'* ]]
}

@test "lua,market: a refusal of the market stands below the site's lines" {
  bid games -A physics -n 1 -t 1 --budget=0.5 --wrap true
  [[ $STATUS -ne 0 && -z $JOB ]]
  [[ $SAID == $'sbatch: error: site: project physics\nsbatch: error: site: 2 of {10} jobs used\nsbatch: error: market: needs 1.00, budget is 0.50.'* ]]
}

@test "lua,market: what the site refuses sets nothing aside" {
  bid games -A physics -n 1 -t 1 --budget=50 -J forbidden --wrap true
  [[ $STATUS -ne 0 && $SAID == *"site: no"* && $SAID != *market* ]]
  cluster_wait 70 liens_are physics 0
}

@test "lua,market: every question is answered, though lua demands account, time limit and script" {
  answers
}

@test "market,lua: the bid is right and questions are answered, though lua hides texts, and this is said" {
  sed -i s/=lua,market/=market,lua/ "$CLUSTER_DIR/etc/slurm.conf"
  cluster_restart_slurmctld
  cluster_wait 30 smarket check
  bid games -A physics -n 1 -t 1 --budget=5 --wrap true
  [[ $STATUS -eq 0 && $SAID == *"site: project physics"* ]]
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -eq $(micro 1) ]]
  smarket check | grep -q 'warning.*JobSubmitPlugins: lua comes after market'
  [[ $(grep -c 'lua comes after market' "$CLUSTER_DIR/log/slurmctld.log") -eq 1 ]]
  answers
}
