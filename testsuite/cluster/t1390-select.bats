#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# select/cons_tres_market on a real Slurm: where Slurm is free to choose it takes the cheapest nodes first, whatever rule
# trades; all else is as cons_tres does it.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_SLURM_EXTRA=$'SelectType=select/cons_tres_market\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100'
  cluster_set mechanism era
  fixed_rate 1
  local lab list=''
  for lab in 1 2 3 4; do list+="{ nodes = \"n$lab\"; account = \"lab-$lab\"; ask = \"$((500 - 100 * lab))\"; },"; done
  cluster_set owners "(${list%,})"
  cluster_start
  open_account physics 100000 games
  for lab in 1 2 3 4; do smarket account add "lab-$lab"; done
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }
# The market sees in its next pass that the nodes are free.
teardown() { cluster_adopt && cluster_cancel_all && sleep 1; }

of_job() { scontrol show job "$1" -o | grep -oP " $2=\K[^ ]*"; }

# runs_on NODES SBATCH-ARGUMENT…: the job starts there, and stays.
runs_on() {
  local nodes=$1 job
  shift
  job=$(cluster_as games sbatch --parsable -o /dev/null -A physics -t 5 "$@" --wrap "sleep 60" 2>/dev/null)
  cluster_wait_state RUNNING "$job"
  [[ $(of_job "$job" NodeList) == "$nodes" ]] || { echo "on $(of_job "$job" NodeList), wanted $nodes: $*" && return 1; }
}

@test "jobs without a bid take the cheapest nodes first" {
  [[ $(scontrol show config | grep -oP '^SelectType +=\K.*') == *cons_tres_market ]]
  local node
  for node in n4 n3 n2 n1; do runs_on "$node" -N 1 --exclusive; done
  smarket check | grep -E '^nodes +ok +select/cons_tres_market: the cheapest first$'
}

@test "several nodes, and tasks beyond one node" {
  runs_on 'n[3-4]' -N 2 --exclusive
  runs_on 'n[1-2]' -N 2
}

@test "jobs with a posted price too" {
  runs_on n4 -n 1 --budget=50
  runs_on n3 -N 1 --exclusive --budget=500
}

@test "constraints go before the order" {
  runs_on n1 -N 1 -w n1
  runs_on n3 -N 1 --exclusive -x n4
  scontrol update NodeName=n2 AvailableFeatures=fast ActiveFeatures=fast
  runs_on n2 -N 1 -C fast
}

@test "the order follows market.conf, and goes when all ask the same" {
  cluster_reset owners '({ nodes = "n[3-4]"; account = "lab-3"; ask = "900"; })'
  runs_on n1 -N 1 --exclusive
  runs_on n2 -N 1 --exclusive
  runs_on n3 -N 1 --exclusive
  cluster_cancel_all
  cluster_reset owners '({ nodes = "n[1-4]"; account = "lab-3"; ask = "900"; })'
  sleep 1
  runs_on n1 -N 1 --exclusive
}

# outcome SBATCH-ARGUMENT…: "nodes cpus memory" of a job that starts, else Slurm's refusal or "waits".
outcome() {
  local job said
  said=$(sbatch --parsable -o /dev/null -t 5 "$@" --wrap "sleep 60" 2>&1) || { echo "${said##*: }" && return 0; }
  job=$said
  if cluster_wait_state RUNNING "$job" 5 >/dev/null 2>&1; then
    echo "$(of_job "$job" NumNodes) $(of_job "$job" NumCPUs) $(of_job "$job" TRES)"
  else
    echo waits
  fi
  scancel "$job"
}

outcomes() {
  local cpus options
  cpus=$(scontrol show node n1 -o | grep -oP 'CPUTot=\K\d+')
  while read -r options; do
    # shellcheck disable=SC2086
    echo "$options: $(outcome $options)"
  done <<END
-n 1
-n $((cpus + 1))
-n $((cpus * 4))
-n $((cpus * 4 + 1))
-N 2
-N 2-3 -n 3
-N 1 --exclusive
-N 3 --exclusive
-n 3 --ntasks-per-node=1
-N 2 -c 2
--mem=300
--mem=99999999
--mem-per-cpu=50 -n $((cpus * 2))
-C fast
-C fast&slow
-C none
-w n1,n3 -N 2
-x n[1-4]
-x n[2-4] -N 1
--contiguous -N 3
--spread-job -N 4 -n 4
-N 5
--gres=gpu:1
--gres=gpu:2 -N 3
--gres=gpu:3
--core-spec=1 -N 1 --exclusive
--reservation=kept -N 1
--reservation=kept -N 2
-N 4 --exclusive
END
}

# slurmctld and all slurmd start again with what slurm.conf is to say now.
restart_all() {
  local node
  cluster_write_conf
  cluster_restart_slurmctld
  for node in n1 n2 n3 n4; do cluster_end "slurmd-$node" && cluster_start_slurmd "$node"; done
  cluster_wait 30 nodes_are_known
}

nodes_are_known() { [[ -z $(sinfo -h -N -o %T | grep -E '[*]|unknown|down') ]]; }

@test "the same jobs run with it and without, on as many nodes, CPUs and as much memory" {
  local with without
  scontrol update NodeName=n2 AvailableFeatures=fast ActiveFeatures=fast
  scontrol update NodeName=n3 AvailableFeatures=slow ActiveFeatures=slow
  CLUSTER_GRES=gpu:a100:2 CLUSTER_SLURM_EXTRA+=$'\nAllowSpecResourcesUsage=yes'
  restart_all
  scontrol create reservation ReservationName=kept Nodes=n3 Users=root StartTime=now Duration=60 >/dev/null
  cluster_reset owners '({ nodes = "n4"; account = "lab-4"; ask = "0.1"; }, { nodes = "n1"; account = "lab-1"; ask = "900"; })'
  with=$(outcomes)
  runs_on n4 -N 1 --exclusive
  # A job that runs stays through the change back, for which slurmctld and all slurmd start again.
  CLUSTER_SLURM_EXTRA=${CLUSTER_SLURM_EXTRA/cons_tres_market/cons_tres}
  restart_all
  [[ $(scontrol show config | grep -oP '^SelectType +=\K.*') != *market ]]
  cluster_wait 30 smarket check
  smarket check | grep -E "^nodes +ok +in Slurm's own order"
  [[ -n $(squeue -h -t RUNNING) ]]
  cluster_cancel_all
  without=$(outcomes)
  scontrol delete ReservationName=kept
  diff <(echo "$with") <(echo "$without")
  [[ $(grep -c ': [0-9]' <<<"$with") -ge 15 ]] || { echo "$with" && return 1; }
}

# The cheapest node is below a switch whose other node is reserved: Slurm would look there alone.
@test "where a TopologyPlugin decides, nodes have Slurm's own order" {
  printf '%s\n' 'SwitchName=s1 Nodes=n[1-2]' 'SwitchName=s2 Nodes=n[3-4]' 'SwitchName=top Switches=s[1-2]' \
    >"$CLUSTER_DIR/etc/topology.conf"
  CLUSTER_SLURM_EXTRA=$'SelectType=select/cons_tres_market\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nTopologyPlugin=topology/tree'
  restart_all
  [[ $(scontrol show config | grep -oP '^SelectType +=\K.*') == *cons_tres_market ]]
  cluster_wait 30 smarket check
  smarket check | grep -E "^nodes +ok +in Slurm's own order"
  scontrol create reservation ReservationName=kept Nodes=n3 Users=root StartTime=now Duration=60 >/dev/null
  runs_on 'n[1-2]' -N 2 --switches=1
  scontrol delete ReservationName=kept
}
