#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Five partitions with five rules in one Slurm: each sells by its own, and one ledger serves all.

load lib/market

RULES=(main:era gpu:contracts short:tycoon condo:dva mr:abacus)

# The list of markets, where `short` has the rule given. Beside `main` two partitions with other rates share its node.
markets() {
  local short=${1:-tycoon} entry name rule more list=''
  for entry in "${RULES[@]}"; do
    IFS=: read -r name rule <<<"$entry"
    more=''
    [[ $name != short ]] || rule=$short
    [[ $name != main ]] || more='rates = ( { partition = "fast"; factor = "3"; }, { partition = "small"; factor = "0.5"; } );'
    list+="${list:+, }{ name = \"${name}s\"; mechanism = \"$rule\"; $more
      partitions = [ \"$name\"${more:+, \"fast\", \"small\"} ]; }"
  done
  echo "( $list )"
}

setup_file() {
  CLUSTER_NODES=5 CLUSTER_CPUS=8 CLUSTER_MAIN_NODES=n1 CLUSTER_ACCOUNTING=1
  CLUSTER_SLURM_EXTRA=$'PartitionName=gpu Nodes=n2 MaxTime=INFINITE State=UP
PartitionName=short Nodes=n3 MaxTime=INFINITE State=UP
PartitionName=condo Nodes=n4 MaxTime=INFINITE State=UP
PartitionName=mr Nodes=n5 MaxTime=INFINITE State=UP
PartitionName=fast Nodes=n1 MaxTime=INFINITE State=UP
PartitionName=small Nodes=n1 MaxTime=INFINITE State=UP AllowQos=high
AccountingStorageEnforce=associations,limits,qos'
  cluster_new
  fixed_rate 60
  cluster_set markets "$(markets)"
  cluster_set qos '( { name = "normal"; factor = "1"; }, { name = "high"; factor = "2"; }, { name = "low"; factor = "0.5"; } )'
  cluster_start
  sacctmgr -i add qos high,low
  sacctmgr -i add account physics Cluster=market
  sacctmgr -i add user games Account=physics DefaultAccount=physics QOS=normal,high DefaultQOS=normal
  sacctmgr -i add user daemon Account=physics DefaultAccount=physics QOS=low,high DefaultQOS=low
  open_account physics 100000 games daemon
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

why_says() { cluster_as games smarket why "$1" 2>/dev/null | grep -q "$2"; }

lien_is() { [[ $(ledger "select quoted from segment where job_id = $1") -eq $2 ]]; }

# A bid in main is accepted; no job comes of it.
main_takes_bids() {
  bid games -A physics -p main -n 1 -t 1 --budget=5 --test-only --wrap true
  [[ $SAID == *"accepted for"* ]]
}

all_settled() { [[ $(ledger "select count(*) from segment where status = 'open'") -eq 0 ]]; }

@test "smarket shows five markets with their rules" {
  local shown entry name rule
  shown=$(smarket show markets)
  for entry in "${RULES[@]}"; do
    IFS=: read -r name rule <<<"$entry"
    grep -Eq "^${name}s +$rule/[0-9]+ +$name[ ,]" <<<"$shown" || { echo "$shown" && false; }
  done
  [[ $(smarket show markets --json | jq -r '.markets | length') -eq 5 ]]
}

@test "twenty jobs in each, one reconfigure that changes one market alone, and every promise is kept" {
  local i entry name rule far before
  accepted games -A physics -p main -n 8 -t 1 --budget=100 --begin=now+40 --wrap true
  far=$JOB
  cluster_wait 30 why_says "$far" 'promised by'
  before=$(cluster_as games smarket why "$far" | grep -o 'promised by .*')
  for i in {1..20}; do
    for entry in "${RULES[@]}"; do
      IFS=: read -r name rule <<<"$entry"
      [[ $i -ne 10 || $name != mr ]] || {
        cluster_reset markets "$(markets abacus)"
        cluster_wait 20 smarket check
        [[ $(cluster_as games smarket why "$far" | grep -o 'promised by .*') == "$before" ]]
      }
      bid games -A physics -p "$name" -n 1 -t 1 --budget=60 -J "$name" --wrap true
      [[ $STATUS -eq 0 ]] || { echo "$name: $SAID" >&2 && false; }
    done
  done
  cluster_wait 120 all_settled
  for name in main gpu condo mr; do
    rule=$(printf '%s\n' "${RULES[@]}" | grep "^$name:" | cut -d: -f2)
    [[ $(ledger "select count(*) from segment where partition = '$name' and mechanism not like '$rule/%'") -eq 0 ]]
    [[ $(ledger "select count(*) from segment where partition = '$name' and state = 'COMPLETED'") -ge 20 ]]
  done
  # What waited in `short` at the reconfigure joined the new rule; both rules billed there.
  [[ $(ledger "select count(*) from segment where partition = 'short' and state = 'COMPLETED'") -eq 20 ]]
  [[ $(ledger "select count(*) from segment where partition = 'short' and mechanism not like 'tycoon/%' and mechanism not like 'abacus/%'") -eq 0 ]]
  [[ $(ledger "select count(*) from segment where start > planned_start + 20 and partition = 'main' and note = 'late'") -eq 0 ]]
  [[ $(field "$far" 0 state) == COMPLETED && $(field "$far" 0 charged) -eq $(micro 8) ]]
  [[ $(ledger "select sum(posted) from account") -eq 0 ]]
}

@test "scontrol update Partition= moves a pending bid to the other market at its terms" {
  accepted games -A physics -p main -n 1 -t 1 --budget=5 --begin=now+1hour --wrap true
  cluster_wait 30 why_says "$JOB" era/1
  cluster_as games scontrol update jobid="$JOB" partition=condo
  cluster_wait 30 why_says "$JOB" auction
  cluster_wait 30 lien_is "$JOB" "$(micro 5)"
  scancel "$JOB"
}

# cpus × 60 an hour × a minute: one CPU is 1.00.
@test "a QOS multiplies what is quoted and billed, whatever its letters" {
  cluster_as games smarket quote -n 2 -t 1 -p main -q high | grep -q 'QOS high × 2; total 4.00'
  cluster_as games smarket quote -n 2 -t 1 -p main | grep -q 'billing-hours; total 2.00'
  accepted games -A physics -p main --qos=HIGH -n 2 -t 1 --budget=50 --wrap true
  [[ $SAID == *"accepted for 4.00 "* ]]
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -eq $(micro 4) && $(field "$JOB" 0 note) == 'QOS high × 2' ]]
}

@test "the default QOS of the association has its price, and one that is not the user's is refused" {
  cluster_as daemon smarket quote -n 2 -t 1 -p main | grep -q 'QOS low × 0.5; total 1.00'
  accepted daemon -A physics -p main -n 2 -t 1 --budget=50 --wrap true
  [[ $SAID == *"accepted for 1.00 "* ]]
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -eq $(micro 1) ]]
  bid games -A physics -p main --qos=low -n 2 -t 1 --budget=50 --wrap true
  [[ $STATUS -ne 0 && -z $JOB ]]
}

@test "who moves to a dearer QOS pays for it, or is refused" {
  accepted daemon -A physics -p main --qos=low -n 2 -t 1 --budget=3 --begin=now+1hour --wrap true
  cluster_wait 30 lien_is "$JOB" "$(micro 1)"
  ! cluster_as daemon scontrol update jobid="$JOB" qos=high || false
  scontrol show job "$JOB" | grep -q 'QOS=low'
  scancel "$JOB"
  accepted daemon -A physics -p main --qos=low -n 2 -t 1 --budget=30 --begin=now+1hour --wrap true
  cluster_wait 30 lien_is "$JOB" "$(micro 1)"
  cluster_as daemon scontrol update jobid="$JOB" qos=high
  cluster_wait 30 lien_is "$JOB" "$(micro 4)"
  cluster_as daemon smarket why "$JOB" | grep -q 'QOS high × 2'
  scancel "$JOB"
}

@test "of several partitions the cheapest that takes the user is taken" {
  bid games -A physics -p fast,main,small -n 2 -t 1 --budget=50 --wrap true
  [[ $SAID == *"accepted for 2.00 "* ]] || { echo "$SAID" && false; }
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 partition) == main && $(field "$JOB" 0 charged) -eq $(micro 2) ]]
  bid games -A physics -p fast,small --qos=high -n 2 -t 1 --budget=50 --wrap true
  [[ $SAID == *"accepted for 2.00 "* ]] || { echo "$SAID" && false; }
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 partition) == small ]]
  refused 'short holds an auction' games -A physics -p main,short -n 1 -t 1 --budget=5 --wrap true
  refused 'needs 2.00, budget is 1.00' games -A physics -p fast,main -n 2 -t 1 --budget=1 --wrap true
}

@test "a QOS that market.conf leaves out is warned of" {
  sacctmgr -i add qos extra
  cluster_wait 90 eval "smarket check | grep -q 'does not name extra'"
  sacctmgr -i delete qos extra
  cluster_wait 90 eval "! smarket check | grep -q 'does not name extra'"
}

@test "a node in two markets is named, and both refuse bids until that is mended" {
  scontrol update PartitionName=gpu Nodes=n1,n2
  cluster_wait 30 eval "smarket check | grep -q 'node n1 is in markets mains and gpus'"
  refused "node n1 is in markets mains and gpus" games -A physics -p main -n 1 -t 1 --budget=5 --wrap true
  refused "node n1 is in markets mains and gpus" games -A physics -p gpu -n 1 -t 1 --budget=5 --wrap true
  scontrol update PartitionName=gpu Nodes=n2
  cluster_wait 30 main_takes_bids || { echo "$SAID" && false; }
}

@test "all is well" { all_is_well && cluster_wait 10 no_reservations; }
