#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The private cluster itself, with a stock Slurm: what the other tests stand on.

load lib/cluster

setup_file() {
  export CLUSTER_MARKET=0
  CLUSTER_GRES=gpu:a100:4,gpu:t4:4
  cluster_new
  cluster_start
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

@test "four nodes of sixteen CPUs are idle" {
  [ "$(sinfo -h -N -o '%N %T %c' | sort | paste -sd' ')" = "n1 idle 16 n2 idle 16 n3 idle 16 n4 idle 16" ]
}

@test "an ordinary user's job runs as that user" {
  cluster_as games sbatch --parsable -t 1 -o out --wrap "id -un"
  cluster_wait 20 grep -qx games "$CLUSTER_DIR/users/games/out"
}

@test "gres are allocated without devices" {
  run cluster_as games srun -t 1 --gres=gpu:t4:3 sh -c 'scontrol show job -d $SLURM_JOB_ID'
  [ "$status" -eq 0 ]
  [[ $output == *"GRES=gpu:t4:3("* ]]
}

@test "slurmctld can be killed and started again" {
  local job
  job=$(cluster_as games sbatch --parsable -t 1 -H --wrap true)
  cluster_state_saved
  cluster_restart_slurmctld KILL
  [ "$(squeue -h -j "$job" -o %T)" = PENDING ]
}

gone() { [[ ! -e $1 ]]; }

@test "a cluster whose maker was killed is stopped" {
  local made told=$CLUSTER_DIR/run/told
  (
    cluster_new
    cluster_start_munged
    echo "$CLUSTER_DIR" >"$told"
    kill -KILL "$BASHPID"
  ) || true
  made=$(<"$told")
  [[ $made == */market.* && $made != "$CLUSTER_DIR" ]]
  cluster_wait 90 gone "$made"
  CLUSTER_DIR=$made
  [ -z "$(cluster_leftovers)" ]
}

@test "nothing is left after a stop" {
  local dir=$CLUSTER_DIR
  cluster_wait_state RUNNING "$(cluster_as games sbatch --parsable -t 1 --wrap "sleep 1000")"
  cluster_stop
  [ ! -e "$dir" ]
  CLUSTER_DIR=$dir
  [ -z "$(cluster_leftovers)" ]
}
