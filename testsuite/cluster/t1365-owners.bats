#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Owners of nodes ask prices on a running cluster (dva), jobs bid by the hour, and what a node earns is shown and kept.

load lib/market

setup_file() {
  local lab list=''
  cluster_new
  cluster_set prices.floor 1
  cluster_set prices.fixed 1
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 100000 games
  # The cheapest node is the last one, so that luck places nothing right.
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

earned() { ledger "select coalesce(sum(amount), 0) from transfer join account on account.id = credit where name = '$1'"; }

is_kept_back() { [[ $(squeue -h -j "$1" -o %r) == Price ]]; }

# at_rate CREDITS: the job was charged that for an hour, up to rounding.
at_rate() {
  local elapsed charged
  elapsed=$(field "$JOB" 0 elapsed)
  charged=$(field "$JOB" 0 charged)
  [ "$charged" -ge $((elapsed * $1 * 1000000 / 3600)) ] && [ "$charged" -le $((elapsed * $1 * 1000000 / 3600 + 1)) ] ||
    { echo "charged $charged for $elapsed s" && false; }
}

@test "an owner asks more, and the next job runs on the next node at the owner's price" {
  run smarket ask n4 250
  [ "$status" -eq 0 ] && [[ "$output" == *"n4: asks 250"* ]] || { echo "$output" && false; }
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 2"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n3 ]
  at_rate 500
}

@test "a price that changes while a job runs is for the next one" {
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 6"
  cluster_wait_state RUNNING "$JOB"
  smarket ask n[1-4] 900
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n3 ]
  at_rate 500
}

@test "who asks more than any bid gets none: the job is held, until a price is met" {
  smarket ask n[1-4] 5000
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 1"
  cluster_wait 20 is_kept_back "$JOB"
  run smarket why "$JOB"
  [[ "$output" == *"ask 10000.00 an hour at least, it bids 3000.00"*"[PRICE]"* ]] || { echo "$output" && false; }
  smarket ask n2 300
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n2 ]
  at_rate 600
}

@test "a price is kept through kill -9, and by whom it was asked" {
  smarket ask n4 120 --tres=mem:0
  cluster_state_saved
  cluster_end slurmctld KILL
  cluster_start_slurmctld
  all_idle() { [ "$(sinfo -h -o %T -n n[1-4])" = idle ]; }
  cluster_wait 60 all_idle || { sinfo && false; }
  run smarket show owners
  [ "$status" -eq 0 ] || { echo "$output" && false; }
  [[ "$output" == *"n4"*"lab-4"*"120.00,mem:0.00"* ]] || { echo "$output" && false; }
  [ "$(ledger "select count(*) from ask where node = 'n4' and uid = 0")" -ge 3 ]
  bid games -A physics -n 2 -t 1 --budget=50 --wrap "sleep 1"
  wait_settled "$JOB" 0 60
  [ "$(of_job NodeList)" = n4 ] || { scontrol show job "$JOB" && false; }
}

@test "only managers ask, and not anything" {
  run cluster_as games smarket ask n4 1
  [ "$status" -ne 0 ] && [[ "$output" == *"only managers of account lab-4 may ask a price for it"* ]] || { echo "$output" && false; }
  run smarket ask n9 1
  [ "$status" -ne 0 ] && [[ "$output" == *"there is no node n9"* ]]
  run smarket ask n4 much
  [ "$status" -ne 0 ] && [[ "$output" == *"PRICE much"* ]]
  run smarket ask n4 1 --tres=node:3
  [ "$status" -ne 0 ] && [[ "$output" == *"--tres=node:3"* ]]
  smarket account add lab-4 --users games
  cluster_wait 20 cluster_as games smarket ask n4 100
  # Others' income is nobody's business.
  run cluster_as games smarket show owners --json
  [[ $(jq -r '.owners[] | select(.node == "n4") | has("earned")' <<<"$output") == true ]]
  [[ $(jq -r '.owners[] | select(.node == "n3") | has("earned")' <<<"$output") == false ]]
}

@test "a bid by the hour: lien, charge and bill" {
  smarket ask n[1-3] 5000
  local limit
  for limit in 1 10; do
    bid games -A physics -n 2 -t "$limit" --budget-rate=360 --wrap "sleep 2"
    wait_settled "$JOB" 0 60
    at_rate 200 # n4 asks 2 × 100, and no other node is within 360
    [ "$(field "$JOB" 0 quoted)" -eq $((limit * 6000000)) ]
    [ "$(sbill -j "$JOB" -n -P --format=BudgetRate)" = 360.00 ]
    [ "$(sbill -j "$JOB" -n -P --format=RPU | cut -d. -f1)" = 200 ] || [ "$(sbill -j "$JOB" -n -P --format=RPU)" = 199.9998 ] || { sbill -j "$JOB" --format=RPU,PBR && false; }
    [ "$(sbill -j "$JOB" -n -P --format=PBR)" = 0.556 ]
  done
  run cluster_as games sbatch -A physics -n 2 -t 1 --budget-rate=10 --budget=5 --wrap true
  [ "$status" -ne 0 ] && [[ "$output" == *"give one of --budget, --budget-rate, --value and --quote"* ]] || { echo "$output" && false; }
  run cluster_as games sbatch -A physics -n 2 -t 1 --budget-rate=x --wrap true
  [ "$status" -ne 0 ] && [[ "$output" == *"--budget-rate takes credits for an hour"* ]] || { echo "$output" && false; }
  run cluster_as games env SBATCH_BUDGET_RATE=3000 sbatch --test-only -A physics -n 2 -t 1 --wrap true
  [[ "$output" == *"bids 3000.00 an hour"* ]] || { echo "$output" && false; }
  run cluster_as games sbatch --test-only -A physics -n 2 -t 1 --budget=50 --wrap true
  [[ "$output" == *"bids 3000.00 an hour"* ]] || { echo "$output" && false; }
}

@test "posted prices take no bid by the hour" {
  cluster_reset mechanism era
  run cluster_as games sbatch -A physics -n 2 -t 1 --budget-rate=360 --wrap true
  [ "$status" -ne 0 ] && [[ "$output" == *"--budget-rate: only where runs are charged by a rate"* ]] || { echo "$output" && false; }
  local lab list=''
  for lab in 1 2 3 4; do list+="{ nodes = \"n$lab\"; account = \"lab-$lab\"; ask = \"$((500 - 100 * lab))\"; },"; done
  cluster_reset mechanism dva owners "(${list%,})"
}

# 40 jobs through a kill, a drain, a requeue, a reconfigure, and prices that change while they run.
@test "every node earns what it asked, nobody pays more than he bid, and all adds up" {
  local i jobs=() cpus rate node victim
  RANDOM=42
  smarket ask n[1-4] 100
  for i in $(seq 40); do
    cpus=$((1 + RANDOM % 4))
    rate=$((cpus * (60 + RANDOM % 400)))
    bid games -A physics -n "$cpus" -t 1 --requeue --budget-rate="$rate" --wrap "sleep $((1 + RANDOM % 3))"
    jobs+=("$JOB")
    case $i in
      8) smarket ask n2 150 ;;
      12) cluster_state_saved && cluster_end slurmctld KILL && cluster_start_slurmctld ;;
      16) scontrol update NodeName=n3 State=DRAIN Reason=test ;;
      20)
        victim=$(squeue -h -t R -o %i | head -1)
        [ -z "$victim" ] || scontrol requeue "$victim" || true
        ;;
      24) scontrol update NodeName=n3 State=RESUME || true ;;
      28) scontrol reconfigure ;;
      32) smarket ask n1 60 ;;
    esac
  done
  smarket ask n[1-4] 1
  # What Slurm keeps back (a requeued job for two minutes, one whose launch the kill cut off) is cancelled then.
  nothing_left() { [ -z "$(squeue -h -u games -t R,CG,PD -o '%i %r' | grep -v -e BeginTime -e 'launch failed')" ]; }
  cluster_wait 120 nothing_left || { squeue && false; }
  scancel -u games
  none_open() { [ "$(ledger "select count(*) from segment where status = 'open'")" -eq 0 ]; }
  cluster_wait 60 none_open
  run smarket show owners -S now-1hour --json
  for node in n1 n2 n3 n4; do
    [[ $(jq -r ".owners[] | select(.node == \"$node\") | .income_to_expectation >= 0.9999" <<<"$output") == true ]] ||
      { echo "$output" && false; }
  done
  # Rates above the bid, and runs whose owners got more than was charged.
  [ "$(ledger "select count(*) from segment where mechanism like 'dva/%' and elapsed > 0 and charged > 1.0 * quoted * elapsed / time_limit + 1")" -eq 0 ]
  [ "$(ledger "select count(*) from (select segment.charged - segment.refunded as paid, sum(earned) as got from node_income join segment on segment.id = segment group by segment) where got > paid")" -eq 0 ]
  [ "$(ledger "select sum(earned) from node_income")" -eq "$(ledger "select sum(case when credit.name like 'lab-%' then amount else -amount end) from transfer join account as credit on credit.id = transfer.credit join account as debit on debit.id = transfer.debit where credit.name like 'lab-%' or debit.name like 'lab-%'")" ]
}

@test "all is well" { all_is_well; }
