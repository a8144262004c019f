#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Menus on a real Slurm: smarket menu shows completions and prices, sbatch --quote takes a row, once, and what was told is
# what is paid; a start that is late through Slurm's doing costs less.

load lib/market

setup_file() {
  cluster_new
  cluster_set mechanism contracts
  cluster_set prices.floor 0.1
  cluster_set prices.cap 100
  cluster_set contracts.floor none
  cluster_set contracts.epoch 1-0
  cluster_set planning.slot 0:10
  cluster_set planning.start_slack 0:05
  cluster_set planning.quote_hold 1:00
  cluster_start
  open_account physics 100000 games,nobody
  # Half of all bids of the past have a second beyond their limit, half six minutes; three minutes are sold as a whole,
  # some time ahead, so that who wants less than that goes before and who can wait behind.
  local i now
  now=$(date +%s)
  for i in $(seq 400); do
    echo "insert into bid (id, submitted, earliest, deadline, duration, tres, value, partition, account, uid, accepted, price, mechanism, cluster)
      values ('past:$i', $((now - 7200 - i)), $((now - 7200 - i)), $((now - 3600 - i + 1 + i % 2 * 360)), 3600, 'cpu=64', $((i * 10)), 'main', 'physics', 1, 1, 0, 'contracts/3', 'market');"
  done | sqlite3 -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db"
  for i in 120 122 124; do
    accepted games -A physics -N "$CLUSTER_NODES" --exclusive -t 1 --budget=50000 --begin=now+$((i * 60)) --deadline=now+$((i * 60 + 90)) --wrap true
  done
  sleep 1
  find_seed
}

# Half of all draws have more replicas that want a place before what is sold than surrogates that get one: only then that
# place costs something. find_seed [ARGUMENT…]: takes a seed of such a draw, for a menu with these options.
find_seed() {
  local seed
  for seed in $(seq 30); do
    cluster_reset seed "seed $seed"
    menu games --rows=100 "$@"
    [[ $(ask '.rows | length') -lt 2 ]] || return 0
  done
  echo "$MENU" && return 1
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# menu USER ARGUMENT…: sets MENU, its JSON, for one task of a minute.
menu() {
  local user=$1
  shift
  MENU=$(cluster_as "$user" smarket --json menu -A physics -n 1 -t 1 "$@")
}
ask() { jq -r "$1" <<<"$MENU"; }
name() { ask '.menu'; }

@test "rows: completions rise, prices fall, and the cheapest is free where the site sets no floor" {
  menu games --rows=100
  [[ $(ask '.rows | length') -ge 2 ]] || { echo "$MENU" && return 1; }
  [[ $(ask '[.rows[].completes] == ([.rows[].completes] | sort | unique)') == true ]]
  [[ $(ask '[.rows[].price | tonumber] == ([.rows[].price | tonumber] | sort | unique | reverse)') == true ]]
  [[ $(ask '.rows[-1].price') == 0.00 ]]
}

@test "the table for people, and a picture" {
  local table
  table=$(cluster_as games smarket menu -A physics -n 1 -t 1 --svg "$CLUSTER_DIR/run/menu.svg" 2>&1) || true
  [[ $table == *--svg*"Permission denied"* ]]
  table=$(smarket menu -A physics -n 1 -t 1 --svg "$CLUSTER_DIR/run/menu.svg" 2>&1) || true
  [[ $table == *"not a member of account physics"* && ! -e $CLUSTER_DIR/run/menu.svg ]] || { echo "$table" && return 1; }
  smarket account add physics --users root
  cluster_wait 20 smarket menu -A physics -n 1 -t 1
  table=$(smarket menu -A physics -n 1 -t 1 --value=90:1:9 --svg "$CLUSTER_DIR/run/menu.svg")
  [[ $table == "menu "*", good until "*"ROW "*"DONE BY"*"PRICE"*"WORTH TO YOU"*"LEFT TO YOU"*free*"sbatch --quote="* ]] || { echo "$table" && return 1; }
  head -c 4 "$CLUSTER_DIR/run/menu.svg" | grep -q '<svg'
}

@test "all see the same menu, however often and when they ask; none is taken when it is good no more" {
  local first quote user before
  before=$(liens physics)
  menu nobody --rows=100
  first=$(ask '[.rows[].price]')
  for _ in 1 2 3; do menu games --rows=100; done
  [[ $(ask '[.rows[].price]') == "$first" ]]
  quote=$(name):$(ask '.rows | length')
  sleep 70 # a menu is good for a minute
  refused "menu ${quote%:*} "*"ask again with smarket menu" games -A physics -n 1 -t 1 --quote="$quote" --wrap true
  [[ $(liens physics) -eq $before ]]
  for user in nobody games; do
    menu "$user" --rows=100
    [[ $(ask '[.rows[].price]') == "$first" ]] || { echo "$first, then $MENU" && return 1; }
  done
}

# Types are slacks beyond the time limit and credits for a billing-hour, so the first place of all is one contract for all.
@test "50 calls for 60 to 109 minutes: the same start costs the same for a billing-hour" {
  local minutes seed unit units=()
  for seed in $(seq 30); do
    cluster_reset seed "seed $seed"
    MENU=$(cluster_as games smarket --json menu -A physics -n 1 -t 60)
    [[ $(ask '.rows[0].price | tonumber > 0') != true ]] || break
  done
  for minutes in {60..109}; do
    MENU=$(cluster_as games smarket --json menu -A physics -n 1 -t "$minutes")
    [[ $(ask '.rows[0].start') -lt $(($(date +%s) + 60)) ]]
    unit=$(ask "(.rows[0].price | tonumber) * 60 / $minutes")
    units+=("$unit")
  done
  echo "${units[@]}"
  [[ $(printf '%s\n' "${units[@]}" | jq -s 'min > 0 and (max - min) / max < 0.01') == true ]]
}

@test "the row's price is the bill to the micro-credit" {
  menu games --rows=100
  local row=1 price done_by
  price=$(ask '.rows[0].price')
  done_by=$(ask '.rows[0].completes')
  accepted games -A physics -n 1 -t 1 --quote="$(name):$row" --wrap 'sleep 1'
  [[ $SAID == *"row $row of menu $(name), done by "*"if it is late you pay less, never more"* ]] || { echo "$SAID" && return 1; }
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -eq $(micro "$price") && $(field "$JOB" 0 quoted) -eq $(micro "$price") ]]
  [[ $(field "$JOB" 0 end) -le $done_by ]]
}

@test "used once, by its user, for its size, while it is good: else no job and no lien" {
  local before
  before=$(liens physics)
  menu games
  local quote
  quote=$(name):$(ask '.rows | length')
  refused 'is for a time limit of 0:01:00' games -A physics -n 1 -t 2 --quote="$quote" --wrap true
  refused 'is for cpu=1' games -A physics -n 2 -t 1 --quote="$quote" --wrap true
  refused 'is not known' nobody -A physics -n 1 -t 1 --quote="$quote" --wrap true
  refused 'give one of --budget, --budget-rate, --value and --quote' games -A physics -n 1 -t 1 --budget=5 --quote="$quote" --wrap true
  refused 'not for an array' games -A physics -n 1 -t 1 --array=1-2 --quote="$quote" --wrap true
  [[ $(liens physics) -eq $before ]]
  refused 'is not held' games -A physics -n 1 -t 1 --quote=nothing --wrap true
  bid games -A physics -n 1 -t 1 --quote=nothing: --wrap true
  [[ $STATUS -ne 0 && $SAID == *"--quote takes MENU:ROW"* ]]
  accepted games -A physics -n 1 -t 1 --quote="$quote" --hold --wrap true
  local held=$JOB
  sleep 1
  refused 'is not known' games -A physics -n 1 -t 1 --quote="$quote" --wrap true
  scancel "$held"
  cluster_wait 20 liens_are physics "$before"
}

@test "a dry run uses nothing up" {
  menu games
  cluster_as games sbatch --test-only -A physics -n 1 -t 1 --quote="$(name):1" --wrap true
  sleep 1.5
  accepted games -A physics -n 1 -t 1 --quote="$(name):$(ask '.rows | length')" --wrap true
}

# Sigmoids of the past, for a minute as for an hour: all of their value to half a minute beyond the time limit, none of it after
# two and a half to three minutes.
learn_sigmoids() {
  local i now
  now=$(date +%s)
  for i in $(seq 60); do
    echo "insert into bid (id, submitted, earliest, deadline, duration, tres, value, class, falls, zero, partition, account, uid, accepted, price, mechanism, cluster)
      values ('sigmoid:$i', $((now - 7200 - i)), $((now - 7200 - i)), $((now - 3600)), 3600, 'cpu=64', $((i * 60)), 'curve', $((3600 + i % 2 * 30)), $((3750 + i % 2 * 30)), 'main', 'physics', 1, 1, 0, 'contracts/3', 'market');"
  done | sqlite3 -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db"
  cluster_set contracts.classes '( { name = "plain"; shape = "hard_deadline"; }, { name = "curve"; shape = "sigmoid"; } )'
}

# What the job with that quote was promised, from its note in Slurm's own state: "sigmoid COMPLETION START MAX DROP ZERO".
contract_of() {
  grep -aoP 'MARKET_NOTE=\K\{"market":.*?\}\}' "$CLUSTER_DIR/state/job_state" |
    jq -r --arg quote "$1" '.market | select(.quote == $quote) | .ex_post'
}

contract_is_saved() { cluster_state_saved && [[ -n $(contract_of "$(name):1") ]]; }

# adjusted CONTRACT START QUOTED: the share that the sigmoid, 99 % of its maximum at its drop and 1 % at its zero, leaves of the
# price of a run that started then (equation 2), and the micro-credits.
adjusted() {
  jq -nr --arg contract "$1" --argjson start "$2" --argjson quoted "$3" '
    ($contract | split(" ") | map(tonumber? // .)) as [$shape, $done, $promised, $max, $drop, $zero]
    | def value(t): $max / (1 + (2 * (99 | log) / ($zero - $drop) * (t - ($drop + $zero) / 2) | exp));
    (value($done + $start - $promised) / value($done)) as $share
    | if $shape == "sigmoid" then "\($share) \($quoted * $share | round)" else "no sigmoid" end'
}

@test "late through no fault of its own costs what is left of its contract's worth, and a crash changes nothing" {
  learn_sigmoids
  find_seed --class=curve
  local price contract promised share charged
  price=$(ask '.rows[0].price')
  [[ $(ask .class) == curve && $(micro "$price") -gt 0 ]] || { echo "$MENU" && return 1; }
  accepted games -A physics -n 1 -t 1 --class=curve --quote="$(name):1" --wrap 'sleep 1'
  scontrol update NodeName="n[1-$CLUSTER_NODES]" State=DRAIN Reason=test
  cluster_wait 30 contract_is_saved
  contract=$(contract_of "$(name):1")
  cluster_restart_slurmctld KILL
  promised=$(cut -d' ' -f3 <<<"$contract")
  while [[ $EPOCHSECONDS -lt $((promised + 20)) ]]; do sleep 1; done
  scontrol update NodeName="n[1-$CLUSTER_NODES]" State=RESUME
  wait_settled "$JOB" 0 120
  read -r share charged <<<"$(adjusted "$contract" "$(field "$JOB" 0 start)" "$(micro "$price")")"
  echo "$contract: $share of $price are $charged; $(segment "$JOB"), $(field "$JOB" 0 note)"
  [[ $(field "$JOB" 0 state) == COMPLETED && $(field "$JOB" 0 quoted) -eq $(micro "$price") ]]
  [[ $(jq -n "$share > 0 and $share < 1") == true && $charged -lt $(micro "$price") && $charged -gt 0 ]]
  [[ $(($(field "$JOB" 0 charged) - charged)) =~ ^(-1|0|1)$ ]]
  [[ $(field "$JOB" 0 note) == "ex post × $(printf %.3f "$share")"* ]]
}

@test "the books balance" {
  scancel -u games
  cluster_wait 60 liens_are physics 0
  all_is_well
}
