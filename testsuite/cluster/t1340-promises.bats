#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What was told is kept when Slurm, a plugin of the site or an operator makes another job of it.

load lib/market

# After the market: jobs become others by their name.
site_plugin() {
  local gpu=gres:gpu
  if cluster_slurm_since 23.11; then gpu=gres/gpu; fi
  sed "s|GPU|$gpu|" >"$CLUSTER_DIR/etc/job_submit.lua" <<'END'
function slurm_job_submit(job, partitions, uid)
  if job.name == "more-cpus" then job.cpus_per_task = 4; job.min_cpus = 4 end
  if job.name == "cpus-per-gpu" then job.cpus_per_tres = "GPU:4" end
  if job.name == "uncounted" then job.contiguous = 1; job.pn_min_cpus = 4 end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
END
}

setup_file() {
  CLUSTER_NODES=2 CLUSTER_CPUS=8 CLUSTER_GRES=gpu:a100:2 CLUSTER_SELECT=CR_Core
  CLUSTER_SLURM_EXTRA=$'JobSubmitPlugins=market,lua\nDefMemPerCPU=500\nMaxMemPerCPU=1000'
  cluster_new
  site_plugin
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

cpus_of() { scontrol show job "$1" -o | grep -o ' NumCPUs=[0-9]*' | cut -d= -f2; }

told() { micro "$(grep -o 'accepted for [0-9.]*' <<<"$SAID" | cut -d' ' -f3)"; }

why_says() { [[ $(smarket why "$1") == *"$2"* ]]; }

# starts_with CPUS OPTION…: accepted, started with so many CPUs, and charged what was told.
starts_with() {
  local cpus=$1
  shift
  accepted games --budget=50 -t 1 -A physics "$@" --wrap 'sleep 1'
  cluster_wait_state 'RUNNING|COMPLETED' "$JOB" 20
  [[ $(cpus_of "$JOB") -eq $cpus ]]
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -eq $(told) ]]
}

@test "CPUs that a plugin of the site adds are the site's" {
  starts_with 4 -n 1 -J more-cpus
  [[ $(told) -eq $(micro 1) ]]
}

@test "CPUs for the GPUs that a plugin of the site adds are the site's" {
  starts_with 4 -n 1 --gpus=1 -J cpus-per-gpu
  [[ $(told) -eq $(micro 1) ]]
}

says_slurm_took_more() { smarket check | grep 'jobs\? Slurm took more CPUs than were sold'; }

@test "CPUs that only Slurm can count are planned, and are the site's" {
  starts_with 4 -J uncounted
  [[ $(told) -eq $(micro 1) ]]
  cluster_wait 20 says_slurm_took_more
  grep -q 'Slurm takes 4 CPUs, its submission was counted as 1' "$CLUSTER_DIR/log/slurmctld.log"
}

@test "no accepted job stays on nodes that Slurm does not give it" {
  local options jobs=()
  for options in '-n 1 --gpus=1 --cpus-per-gpu=4' '-n 1 --mincpus=4' '-n 1 --mem=3000' '-n 1 --mem-per-cpu=3000' \
    '-n 2 --ntasks-per-core=1' '-n 2 --ntasks-per-node=1' '-n 3 --ntasks-per-socket=2' '-n 1 -c 3'; do
    # shellcheck disable=SC2086
    bid games --budget=50 -t 1 -A physics $options --wrap 'sleep 1'
    [[ $SAID == *'market: '* ]]
    [[ -z $JOB ]] || jobs+=("$JOB")
  done
  for JOB in "${jobs[@]}"; do
    cluster_wait_state 'RUNNING|COMPLETED' "$JOB" 30
    wait_settled "$JOB"
    [[ $(field "$JOB" 0 charged) -le $(field "$JOB" 0 quoted) ]]
  done
}

# Every reservation begins at least half a minute from now.
none_is_reserved_now() {
  local start
  while read -r start; do
    [[ $(date -d "$start" +%s) -gt $((EPOCHSECONDS + 30)) ]] || return 1
  done < <(scontrol show reservation -o | grep -o 'StartTime=[^ ]*' | cut -d= -f2)
}

@test "a place in which Slurm could not start the job is given up at its start" {
  accepted games --budget=50 -t 1 -A physics -N 1 -n 4 --begin=now+4 --wrap 'sleep 1'
  scontrol update partition=main MaxCPUsPerNode=2
  cluster_wait 20 why_says "$JOB" '[NOT_STARTED]'
  why_says "$JOB" 'node configuration'
  cluster_wait 5 none_is_reserved_now
  scontrol update partition=main MaxCPUsPerNode=UNLIMITED
  wait_settled "$JOB" 0 90
  [[ $(field "$JOB" 0 charged) -eq $(told) ]]
}

@test "an operator's longer time limit costs the owner nothing" {
  accepted games --budget=50 -t 1 -n 2 -A physics --begin=now+6 --wrap 'sleep 1'
  scontrol update job "$JOB" TimeLimit=5
  wait_settled "$JOB"
  [[ $(squeue -h -t all -j "$JOB" -o %l) == 5:00 && $(field "$JOB" 0 quoted) -eq $(told) ]]
}

@test "what is done by when holds for an array that limits itself" {
  refused 'At most 1 run at a time' games --budget=50 -t 3 -a 0-3%1 -A physics --deadline=now+8minutes --wrap 'sleep 1'
  accepted games --budget=50 -t 3 -a 0-3 -A physics --deadline=now+8minutes --wrap 'sleep 1'
  scancel "$JOB"
  accepted games --budget=50 -t 3 -a 0-2%1 -A physics --deadline=now+11minutes --wrap 'sleep 2'
  cluster_wait 60 all_tasks_done "$JOB"
}

all_tasks_done() { [[ $(squeue -h -r -t all -j "$1" -o %T | sort -u) == COMPLETED ]]; }

@test "all is well" {
  all_is_well
}
