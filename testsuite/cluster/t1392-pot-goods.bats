#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Pots for two goods, what their runs bring who brought the nodes, the agent by what credits bought, bills by account.

load lib/market

setup_file() {
  export CLUSTER_NODES=2 CLUSTER_CPUS=8
  CLUSTER_GRES=gpu:a100:4
  CLUSTER_SLURM_EXTRA="PartitionName=second Nodes=n2 State=UP"
  CLUSTER_MAIN_NODES=n1
  cluster_new
  cluster_set mechanism tycoon
  cluster_set tycoon.account user
  cluster_set tycoon.fund_max 1
  cluster_set planning.auction_period 0:01
  cluster_set prices.weights '( { tres = "cpu"; weight = "1"; }, { tres = "gres/gpu"; weight = "10"; } )'
  cluster_start
  open_account physics 1000 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

fund() { cluster_as games smarket fund -A physics "$@" --interval=1:00:00 >/dev/null; }
# pot TRES [HOST]
pot() { ledger "select posted from account where name = '@market:${2:-main}/$1/games/physics'"; }
submit() { bid games -A physics "$@"; }

@test "a job of two goods is charged to both pots" {
  local left
  fund main 10
  submit -n 4 -t 1 --gres=gpu:a100:2 --wrap "sleep 4"
  [[ $(cluster_as games smarket fund --show) != *gres/gpu* ]]
  wait_settled "$JOB"
  # For want of a pot of GPUs it ran as a job without a bid; of its CPUs it pays.
  left=$((10000000 - $(field "$JOB" 0 charged)))
  [[ $(pot cpu) -eq $left ]]
  fund main 20 --tres=gres/gpu
  cluster_as games smarket fund --show | grep -q "main (gres/gpu, physics): 20.00 credits"
  submit -n 4 -t 1 --gres=gpu:a100:2 --wrap "sleep 6"
  wait_settled "$JOB"
  local charged elapsed gpus
  charged=$(field "$JOB" 0 charged)
  elapsed=$(field "$JOB" 0 elapsed)
  gpus=$((20000000 - $(pot gres/gpu)))
  echo "# $charged micro-credits, of which $gpus for GPUs, in $elapsed s" >&3
  # Half of the CPUs and half of the GPUs alone: half of both bids of 10 and 20 over 3600 s, to the period.
  [[ $((left - $(pot cpu) + gpus)) -eq $charged ]]
  [[ $gpus -ge $((elapsed * 2770)) && $gpus -le $((elapsed * 2778 + 1)) ]]
  [[ $((charged - gpus)) -ge $((elapsed * 1385)) && $((charged - gpus)) -le $((elapsed * 1389 + 1)) ]]
}

@test "who joined with nodes gets what runs pay there, and keeps it" {
  local before earned
  smarket account add lab-a
  [[ $(smarket account join lab-a --allotment=100 --nodes=n1) == *"gets what runs pay on n1"*"got its allotment of 100.00"* ]]
  [[ $(smarket account join lab-a --allotment=100 2>&1) == *"had its allotment before"* ]]
  smarket account add lab-b
  [[ $(smarket account join lab-b --nodes='n[1-2]' 2>&1) == *"n1 earns for account lab-a already"* ]]
  sleep 2
  before=$(posted @revenue)
  submit -n 4 -t 1 --wrap "sleep 4"
  wait_settled "$JOB"
  earned=$(field "$JOB" 0 charged)
  [[ $earned -gt 0 && $(posted lab-a) -eq $((100000000 + earned)) && $(posted @revenue) -eq $before ]]
  fund second 10
  submit -p second -n 4 -t 1 --wrap "sleep 2"
  wait_settled "$JOB"
  [[ $(posted lab-a) -eq $((100000000 + earned)) ]]
  smarket account collect | grep -q "what owners of nodes earned stays theirs"
  [[ $(posted lab-a) -eq $((100000000 + earned)) && $(posted @revenue) -eq 0 ]]
  books_balance
}

@test "the agent weighs hosts by what a credit brought there" {
  local weight expected
  [[ $(cluster_as daemon smarket fund --advise --measured --rate=0.01 main 2>&1) == *"main: your pot paid for no run there in the last day"* ]]
  cluster_as games smarket fund --advise --measured --rate=0.01 main,second --json >"$CLUSTER_DIR/run/advice"
  for host in main second; do
    weight=$(jq ".hosts[] | select(.host == \"$host\") | .weight" "$CLUSTER_DIR/run/advice")
    expected=$(ledger "select sum(billing * elapsed) * 1e6 / sum(charged - refunded) from segment where user = 'games' and partition = '$host' and account like '@%'")
    echo "# $host: $weight billing-seconds for a credit" >&3
    awk -v a="$weight" -v b="$expected" 'BEGIN { exit !(b > 0 && a > 0.999 * b && a < 1.001 * b) }'
  done
  [[ $(cluster_as games smarket fund --measured main 1 2>&1) == *"with --advise"* ]]
}

rival_spends() { [[ $(smarket --json prices -p main | jq '[.goods[] | select(.tres == "cpu") | .spent_rate] | add > 0') == true ]]; }

@test "--apply sets the intervals by the advice" {
  local bid left rival
  cluster_as daemon smarket fund main 10 -A physics --interval=1:00:00 >/dev/null
  rival=$(cluster_as daemon sbatch --parsable -A physics -o /dev/null -n 4 -t 5 --wrap "sleep 280" 2>/dev/null)
  cluster_wait 60 rival_spends
  bid=$(cluster_as games smarket fund --advise --rate=0.01 main:64 --json | jq '.hosts[0].bid')
  cluster_as games smarket fund --advise --rate=0.01 main:64 --apply >/dev/null
  cluster_as games smarket fund --show --json >"$CLUSTER_DIR/run/pots"
  left=$(pot cpu)
  echo "# bid $bid for $left micro-credits" >&3
  # The interval is what is left over the bid; what the rival bids falls a little from one question to the next.
  awk -v i="$(jq '.pots[] | select(.host == "main" and .tres == "cpu") | .interval' "$CLUSTER_DIR/run/pots")" -v b="$bid" -v l="$left" \
    'BEGIN { exit !(b > 0 && i > 0.98 * l / 1e6 / b - 1 && i < 1.02 * l / 1e6 / b + 1) }'
  scancel "$rival"
  wait_settled "$rival"
}

@test "bills by account list what its pots paid" {
  [[ $(sbill -A physics -S now-1hour | grep -c @market:) -eq $(ledger "select count(*) from segment where account like '@%/physics'") ]]
  [[ $(sbill -A physic -S now-1hour | grep -c @market:) -eq 0 ]]
}

@test "all is well" { all_is_well; }
