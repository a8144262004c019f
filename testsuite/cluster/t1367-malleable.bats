#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs whose size the market decides at the award (dva, LOVRA), on nodes whose cheapest one is the last.

load lib/market

setup_file() {
  local lab list=''
  cluster_new
  cluster_set prices.floor 1
  cluster_set prices.fixed 1
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 100000 games
  for lab in 1 2 3 4; do
    smarket account add "lab-$lab"
    list+="{ nodes = \"n$lab\"; account = \"lab-$lab\"; ask = \"$((500 - 100 * lab))\"; },"
  done
  cluster_reset mechanism dva owners "(${list%,})"
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

of_job() { scontrol show job "$JOB" -o | grep -o " $1=[^ ]*" | cut -d= -f2; }

# 960 CPU-seconds on 1 to 16 CPUs for 800 an hour: 8 of n4, whose CPUs cost 100, for 120 s.
malleable() { bid games -A physics --budget-rate=800 --workload=cpu:16:00 --malleable=cpu:1-16 -n 1 "$@"; }

# is_job STATE TASKS TIME-LIMIT
is_job() { [[ "$(of_job JobState) $(of_job NumTasks) $(of_job TimeLimit)" == "$1 $2 $3" ]]; }

wait_job() {
  cluster_wait 30 is_job "$@" || { scontrol show job "$JOB" && smarket why "$JOB" && false; }
}

# A job of 16 CPUs on n4, so that nothing starts there. Sets BUSY.
fill_n4() {
  bid games -A physics --budget-rate=30000 -n 16 -w n4 -t 5 --wrap "sleep 300"
  BUSY=$JOB
  cluster_wait_state RUNNING "$BUSY"
}

@test "the award decides size, node and time limit, and its bill is what ran" {
  malleable --wrap 'echo "$SLURM_NTASKS $SLURM_CPUS_ON_NODE"; sleep 3' -o "$CLUSTER_DIR/users/games/size"
  [[ "$SAID" == *"its size is settled when nodes are awarded to it"*"8 CPUs on n4, its work takes 0:02:00"* ]] ||
    { echo "$SAID" && false; }
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ]
  [ "$(of_job NumCPUs)" = 8 ]
  [ "$(of_job TimeLimit)" = 00:03:00 ] # 120 s and 10 for start and clean-up, in whole minutes
  run cat "$CLUSTER_DIR/users/games/size"
  [ "$output" = "8 8" ] || { echo "$output" && false; }
  local elapsed charged
  elapsed=$(field "$JOB" 0 elapsed)
  charged=$(field "$JOB" 0 charged)
  [ "$charged" -ge $((elapsed * 800000000 / 3600)) ] && [ "$charged" -le $((elapsed * 800000000 / 3600 + 1)) ]
  [ "$(field "$JOB" 0 note)" = "8 CPUs on n4, its work takes 0:02:00" ]
  run sbill -j "$JOB" --json
  [[ "$output" == *"8 CPUs on n4"* ]] || { echo "$output" && false; }
}

@test "what is free decides with the price: a full node is passed over" {
  fill_n4
  malleable --wrap "sleep 30"
  wait_job RUNNING 4 00:05:00
  [ "$(of_job NodeList)" = n3 ]
  run smarket why "$JOB"
  [[ "$output" == *"4 CPUs on n3, its work takes 0:04:00"* ]] || { echo "$output" && false; }
  scancel "$JOB" "$BUSY"
  wait_settled "$JOB" 0 60
  wait_settled "$BUSY" 0 60
}

@test "its owner cannot change the size, hold and release keep it the market's" {
  local other
  malleable --hold --wrap "sleep 1"
  run cluster_as games scontrol update JobId="$JOB" NumTasks=16
  [ "$status" -ne 0 ]
  run cluster_as games scontrol update JobId="$JOB" TimeLimit=60
  [ "$status" -ne 0 ]
  is_job PENDING 1 00:17:00 || { scontrol show job "$JOB" && false; }
  cluster_as games scontrol release "$JOB"
  wait_settled "$JOB" 0 60
  [ "$(of_job NumCPUs)" = 8 ]
}

@test "a requeued run keeps its size" {
  malleable --requeue --wrap "sleep 60"
  wait_job RUNNING 8 00:03:00
  cluster_as games scontrol requeue "$JOB"
  wait_settled "$JOB" 0 60
  wait_job PENDING 8 00:03:00
  cluster_as games scancel "$JOB"
}

# Slurm starts nothing, or as ever again.
pause_starts() {
  sed -i 's/sched_interval=2,/sched_interval=-1,/; s/bf_interval=1,/bf_interval=600,/' "$CLUSTER_DIR/etc/slurm.conf"
  scontrol reconfigure
}
allow_starts() {
  sed -i 's/sched_interval=-1,/sched_interval=2,/; s/bf_interval=600,/bf_interval=1,/' "$CLUSTER_DIR/etc/slurm.conf"
}

@test "kill -9 of slurmctld between the award and the start loses neither size nor lien" {
  pause_starts
  malleable --wrap "sleep 2"
  wait_job PENDING 8 00:03:00
  [ "$(of_job ReqNodeList)" = n4 ]
  cluster_state_saved
  cluster_end slurmctld KILL
  allow_starts
  cluster_start_slurmctld
  wait_settled "$JOB" 0 90
  [ "$(of_job NodeList) $(of_job NumCPUs)" = "n4 8" ] || { scontrol show job "$JOB" && false; }
  [ "$(field "$JOB" 0 charged)" -eq $((($(field "$JOB" 0 elapsed) * 800000000 + 1800) / 3600)) ]
}

@test "an award lost by a drain before the start: the size goes with the next one" {
  pause_starts
  malleable --wrap "sleep 2"
  wait_job PENDING 8 00:03:00
  scontrol update NodeName=n4 State=DRAIN Reason=test
  wait_job PENDING 4 00:05:00
  [ "$(of_job ReqNodeList)" = n3 ]
  run cluster_as games scontrol update JobId="$JOB" NumTasks=16
  [ "$status" -ne 0 ]
  smarket rebid "$JOB" --budget-rate=1600
  wait_job PENDING 8 00:03:00
  allow_starts
  scontrol reconfigure
  wait_settled "$JOB" 0 90
  scontrol update NodeName=n4 State=RESUME
  [ "$(of_job NodeList)" = n3 ]
  [ "$(of_job NumCPUs)" = 8 ]
}

@test "what it cannot be with is refused in one line" {
  refused "--malleable needs --workload" games -A physics --budget-rate=8 --malleable=cpu:1-2 -n 1 --wrap true
  refused "--workload needs --malleable" games -A physics --budget-rate=8 --workload=cpu:5 -n 1 --wrap true
  refused "add --budget-rate" games -A physics --workload=cpu:5 --malleable=cpu:1-2 -n 1 --wrap true
  refused "arrays keep their size" games -A physics --budget-rate=8 --workload=cpu:5 --malleable=cpu:1-2 -n 1 -a 1-2 --wrap true
  refused "begins with 2 CPUs, the job asks for 1" games -A physics --budget-rate=8 --workload=cpu:5 --malleable=cpu:2-4 -n 1 --wrap true
  run cluster_as games srun -A physics --budget-rate=8 --workload=cpu:5 --malleable=cpu:1-2 -n 1 true
  [ "$status" -ne 0 ] && [[ "$output" == *"--malleable is for sbatch"* ]]
}

# 12 of n4's CPUs, the 4 that are left there, and 8 of n3's.
@test "smarket simulate gives the same jobs the same nodes and sizes" {
  local rate number=0 real='' folder=$BATS_TEST_TMPDIR
  echo 'JobID|User|Account|Partition|Submit|Elapsed|Timelimit|AllocCPUS|State' >"$folder/log"
  for rate in 1200 800 1600; do
    bid games -A physics --budget-rate=$rate --workload=cpu:2:00 --malleable=cpu:1-16 -n 1 --wrap "sleep 60"
    cluster_wait_state RUNNING "$JOB"
    real+="$(of_job NodeList) $(of_job NumCPUs) "
    number=$((number + 1))
    echo "$number|games|physics|main|2026-01-01T00:00:0$number|00:00:30|00:10:00|1|COMPLETED" >>"$folder/log"
    echo "$number,$rate;cpu:2:00;cpu:1-16" >>"$folder/bids"
  done
  cluster_as games scancel -u games
  smarket simulate --strict --sacct="$folder/log" --bids="$folder/bids" --nodes=4x16 --mechanism=site \
    --market-conf="$CLUSTER_DIR/etc/market.conf" --decisions="$folder/decisions" >/dev/null
  run jq -rj 'select(.decision == "start") | .cores | to_entries[] | "\(.key) \(.value) "' "$folder/decisions"
  [ "$real" = "n4 12 n4 4 n3 8 " ] || { echo "$real" && false; }
  [ "$output" = "$real" ] || { echo "$output" && cat "$folder/decisions" && false; }
}

@test "-N 2-4 takes as many nodes as the bid pays for" {
  # 100 + 200 + 300 are within 700, 1,000 are not.
  bid games -A physics --budget-rate=700 -N 2-4 -t 1 --wrap "sleep 2"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = 'n[2-4]' ]
}

@test "all is well" { all_is_well; }
