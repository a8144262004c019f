#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The size that the market gives a job stays within the limits of its account, as slurmdbd knows them.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_ACCOUNTING=1
  cluster_set prices.floor 1
  cluster_set prices.fixed 1
  cluster_set planning.auction_period 0:01
  cluster_start
  sacctmgr -i add account physics Cluster=market
  sacctmgr -i add user games Account=physics DefaultAccount=physics
  sacctmgr -i modify user games where account=physics set MaxTRESPerJob=cpu=3
  open_account physics 100000
  smarket account add lab
  cluster_reset mechanism dva owners '({ nodes = "n[1-4]"; account = "lab"; ask = "100"; })'
  sleep 2
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

of_job() { scontrol show job "$JOB" -o | grep -o " $1=[^ ]*" | cut -d= -f2; }

@test "a limit on CPUs halves its range until it fits" {
  # 8 CPUs are within its bid; of 1-16 are tried 8, 8.5, 4.75 and 2.875.
  bid games -A physics --budget-rate=800 --workload=cpu:16:00 --malleable=cpu:1-16 -n 1 --wrap "sleep 2"
  wait_settled "$JOB" 0 120
  [ "$(of_job NumCPUs)" = 2 ] || { scontrol show job "$JOB" && false; }
  [ "$(of_job TimeLimit)" = 00:09:00 ]
}

# Sizes are set as the job's owner could set them; what an operator gave the job is no part of that change.
@test "a limit that an operator lifted by a QOS stays lifted, and its size is nobody's to change" {
  sacctmgr -i add qos wide set MaxTRESPerJob=cpu=16
  bid games -A physics --hold --budget-rate=800 --workload=cpu:16:00 --malleable=cpu:1-16 -n 1 --wrap "sleep 2"
  # Slurm 22.05 does not show why.
  run scontrol update JobId="$JOB" NumTasks=16
  [ "$status" -ne 0 ] || { echo "$output" && false; }
  run scontrol update JobId="$JOB" TimeLimit=60
  [ "$status" -ne 0 ] || { echo "$output" && false; }
  [ "$(of_job NumTasks) $(of_job TimeLimit)" = "1 00:17:00" ]
  scontrol update JobId="$JOB" QOS=wide
  cluster_as games scontrol release "$JOB"
  wait_settled "$JOB" 0 120
  [ "$(of_job QOS)" = wide ]
  [ "$(of_job NumCPUs)" = 8 ] || { scontrol show job "$JOB" && false; }
  [ "$(of_job TimeLimit)" = 00:03:00 ]
}

@test "all is well" { all_is_well; }
