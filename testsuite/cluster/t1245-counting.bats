#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever a job asks for, what it is told, has set aside and pays is of what Slurm allocates. Random sets of options
# on four kinds of nodes; COUNTING_SEED draws others, COUNTING_SETS makes it longer, COUNTING_REFUSALS names
# a file for what Slurm would run and the market refuses.

load lib/market

setup() {
  RANDOM=${COUNTING_SEED:=1}
  echo "COUNTING_SEED=$COUNTING_SEED"
  SETS=${COUNTING_SETS:-8}
}

teardown() { cluster_stop; }

# A CPU counts 1000, a MB 1, a GPU 100000 and a node 7000; a minute of each costs a thousandth of that.
start_market() {
  cluster_new
  cluster_set prices.weights '({tres = "cpu"; weight = "1";}, {tres = "mem"; weight = "1.024";},
    {tres = "gres/gpu"; weight = "100";}, {tres = "node"; weight = "7";})'
  fixed_rate 60
  cluster_start
  if [[ $CLUSTER_ACCOUNTING -eq 1 ]]; then
    sacctmgr -i add account physics >/dev/null
    sacctmgr -i add user games account=physics >/dev/null
  fi
  open_account physics 1000000 games
}

# any WORDS…: one of them; upto N: 1 to N
any() { local words=("$@") && echo "${words[RANDOM % $#]}"; }
upto() { echo $((1 + RANDOM % $1)); }
maybe() { [[ $((RANDOM % 3)) -gt 0 ]] || echo "$1"; }

shape_options() {
  case $(upto 6) in
    1 | 2) echo "-n $(upto 6)" ;;
    3) echo "-N 2 -n $(upto 7)" ;;
    4) echo "-N 2" ;;
    5) echo "-N $(upto 2) --ntasks-per-node=$(upto 4)" ;;
    6) echo "-n $(upto 6) --ntasks-per-node=$(upto 3)" ;;
  esac
}

core_options() {
  maybe "-c $(upto 4)"
  maybe "$(any --threads-per-core=1 --ntasks-per-core=1 --ntasks-per-core=2 "--mincpus=$(upto 5)" --exclusive \
    --hint=nomultithread)"
}

memory_options() { any '' "--mem=$(upto 4000)" "--mem=$(upto 4000)" "--mem-per-cpu=$(upto 2500)" --mem=0; }

gpu_options() {
  any "--gpus=$(upto 3)" "--gres=gpu:$(upto 2)" "--gpus-per-node=$(upto 2)" --gpus-per-task=1 \
    "--gpus=$(upto 2) --ntasks-per-gpu=$(upto 2)" "--gpus=a100:$(upto 2)"
  maybe "$(any "--cpus-per-gpu=$(upto 3)" "-c $(upto 3)" "--mincpus=$(upto 5)")"
  any '' "--mem=$(upto 4000)" "--mem-per-gpu=$(upto 3000)" "--mem-per-cpu=$(upto 1500)"
}

# Thousandths of a credit for what Slurm gave the job. A node of its own is paid for with all its memory.
value_of() {
  local tres cpu mem node gpu
  tres=$(scontrol show job "$1" -o | grep -oP ' (Alloc)?TRES=\K[^ ]*')
  cpu=$(grep -oP '(^|,)cpu=\K\d+' <<<"$tres")
  node=$(grep -oP '(^|,)node=\K\d+' <<<"$tres")
  gpu=$(grep -oP '(^|,)gres/gpu=\K\d+' <<<"$tres" || echo 0)
  mem=$(grep -oP '(^|,)mem=\K[^,]*' <<<"$tres" || echo 0M)
  mem=$(awk -v m="$mem" 'BEGIN { printf "%d", m * (m ~ /G$/ ? 1024 : m ~ /T$/ ? 1048576 : 1) }')
  if [[ $2 == *--exclusive* && $mem -gt 0 ]]; then mem=$((node * CLUSTER_MEM)); fi
  echo $((cpu * 1000 + mem + gpu * 100000 + node * 7000))
}

# What Slurm would do with the job: its processors, or nothing when it refuses it.
will_run() {
  # shellcheck disable=SC2086
  cluster_as games sbatch -A physics -t 1 --test-only $1 --wrap true 2>&1 | grep -oP 'using \K\d+(?= processors)'
}

told() { micro "$(grep -o 'accepted for [0-9.]*' <<<"$SAID" | cut -d' ' -f3)"; }

# try_sets KIND: KIND_options gives one set. Draws until SETS were accepted, and judges each; of ten one must be.
try_sets() {
  local options cpus sets=0 accepted=0
  while [[ $accepted -lt $SETS ]]; do
    [[ $((sets++)) -lt $((SETS * 10)) ]] || { echo "only $accepted of $sets are accepted" && return 1; }
    options=$("$1_options" | xargs)
    cpus=$(will_run "$options") || true
    # shellcheck disable=SC2086
    bid games -A physics -t 1 --budget=100000 $options --wrap 'sleep 1'
    if [[ -z $JOB ]]; then
      [[ -z $cpus || -z ${COUNTING_REFUSALS:-} ]] || echo "[$options] $SAID" >>"$COUNTING_REFUSALS"
      [[ -z $cpus || $SAID == *'market: '*--* ]] || { echo "[$options] runs, but: $SAID" && return 1; }
      continue
    fi
    [[ -n $cpus ]] || { echo "[$options] is refused by Slurm, but: $SAID" && return 1; }
    judge "$options" "$cpus" || return 1
    accepted=$((accepted + 1))
  done
}

judge() {
  local cost lien
  # Where Slurm's scheduler was too busy for the first planned start for a minute, the market plans another after one more.
  cluster_wait_state 'RUNNING|COMPLETED' "$JOB" 180 || { echo "[$1] does not start: $SAID" && return 1; }
  cost=$(($(value_of "$JOB" "$1") * 1000))
  wait_settled "$JOB"
  lien=$(ledger "select group_concat(amount) from transfer where kind = 'lien' and segment = $(run_of "$JOB")")
  # A sentence rounds up to hundredths.
  [[ $(((cost + 9999) / 10000 * 10000)) -eq $(told) && $lien == "$cost" && $(field "$JOB" 0 charged) -eq $cost ]] && return
  echo "[$1] will run on $2 CPUs, took $cost, told $(told), lien $lien, charged $(field "$JOB" 0 charged):" \
    "$(scontrol show job "$JOB" -o | grep -oP ' (Alloc)?TRES=\K[^ ]*')"
  return 1
}

core_sets_options() { shape_options && core_options && memory_options; }
memory_sets_options() { shape_options && maybe "-c $(upto 3)" && memory_options; }
gpu_sets_options() {
  any "-n $(upto 4)" '-N 2' '-N 2 -n 2' "-N $(upto 2) --ntasks-per-node=$(upto 3)"
  gpu_options
}

THREADS='16 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2'

@test "cores of two threads" {
  CLUSTER_NODES=2 CLUSTER_CPUS=$THREADS CLUSTER_MEM=16000 CLUSTER_SELECT=CR_Core_Memory
  start_market
  try_sets core_sets
  all_is_well
}

@test "one task on each core" {
  CLUSTER_NODES=2 CLUSTER_CPUS=$THREADS CLUSTER_MEM=16000 CLUSTER_SELECT=CR_Core_Memory,CR_ONE_TASK_PER_CORE
  CLUSTER_SLURM_EXTRA=DefMemPerCPU=100
  start_market
  try_sets core_sets
  all_is_well
}

@test "memory above a limit for each CPU" {
  CLUSTER_NODES=2 CLUSTER_CPUS=8 CLUSTER_MEM=16000 CLUSTER_SELECT=CR_Core_Memory
  CLUSTER_SLURM_EXTRA=$'DefMemPerCPU=500\nMaxMemPerCPU=1000'
  start_market
  try_sets memory_sets
  all_is_well
}

@test "GPUs with CPUs and memory of their own" {
  CLUSTER_NODES=2 CLUSTER_CPUS=8 CLUSTER_MEM=16000 CLUSTER_GRES=gpu:a100:2 CLUSTER_SELECT=CR_Core_Memory
  CLUSTER_ACCOUNTING=1 CLUSTER_SLURM_EXTRA=$'DefMemPerCPU=500\nDefCpuPerGPU=2\nDefMemPerGPU=1500'
  start_market
  try_sets gpu_sets
  all_is_well
}
