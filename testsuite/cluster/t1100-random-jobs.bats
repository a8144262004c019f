#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Fifty jobs with random sizes, budgets and windows, from a seed that is printed: promises are kept and the books balance.

load lib/market

JOBS=50

setup_file() {
  cluster_new
  cluster_set prices.floor 0.6
  cluster_set prices.cap 6
  cluster_start
  open_account physics 1000 games daemon
  open_account biology 1000 www-data nobody
  submit_all
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# One line for each accepted job: id, budget in micro-credits, deadline.
submit_all() {
  local i user account cpus budget begin deadline now
  RANDOM=${MARKET_TEST_SEED:-20261127}
  echo "# seed ${MARKET_TEST_SEED:-20261127}" >&3
  : >"$CLUSTER_DIR/run/accepted"
  : >"$CLUSTER_DIR/run/refused"
  for ((i = 0; i < JOBS; i++)); do
    user=${CLUSTER_USERS[i % 4]}
    account=physics
    [[ $user =~ ^(games|daemon)$ ]] || account=biology
    cpus=$((1 + RANDOM % 24))
    budget=$(printf '%d.%02d' $((RANDOM % 2)) $((RANDOM % 100)))
    begin=$((RANDOM % 40))
    now=$(date +%s)
    deadline=$((now + begin + 75 + RANDOM % 200))
    bid "$user" -A "$account" -n "$cpus" -t 1 --budget="$budget" --begin="now+$begin" \
      --deadline="$(date -d "@$deadline" +%FT%T)" --wrap "sleep $((RANDOM % 6))"
    if [[ $STATUS -eq 0 ]]; then
      echo "$JOB $(micro "$budget") $deadline" >>"$CLUSTER_DIR/run/accepted"
    else
      echo "$cpus $budget $begin $deadline: $SAID" >>"$CLUSTER_DIR/run/refused"
    fi
  done
}

@test "some are accepted, and what is refused has a reason" {
  local accepted refused
  accepted=$(wc -l <"$CLUSTER_DIR/run/accepted")
  refused=$(grep -c . "$CLUSTER_DIR/run/refused" || true)
  echo "# $accepted accepted, $refused answer lines for refusals" >&3
  [ "$accepted" -ge 10 ]
  [ -z "$(grep -Ev 'market: |Batch job submission failed|^$' "$CLUSTER_DIR/run/refused")" ]
}

@test "every accepted job completes by its deadline" {
  local job budget deadline
  while read -r job budget deadline; do
    wait_settled "$job" 0 330
    [ "$(field "$job" 0 state)" = COMPLETED ] || { segment "$job" >&2 && false; }
    [ "$(field "$job" 0 end)" -le "$deadline" ]
  done <"$CLUSTER_DIR/run/accepted"
}

@test "no job is charged more than its budget, or than its quote" {
  local job budget deadline charged
  while read -r job budget deadline; do
    charged=$(field "$job" 0 charged)
    [ "$charged" -le "$budget" ]
    [ "$charged" -eq "$(field "$job" 0 quoted)" ]
    [ "$charged" -gt 0 ]
  done <"$CLUSTER_DIR/run/accepted"
}

@test "all entries sum to 0 and sbill's totals are the ledger's" {
  books_balance
  local account
  for account in physics biology; do
    [ "$(sbill -P -n -A "$account" --starttime=now-1hour --format=Charged |
      awk '{s += $1 * 1000000} END {printf "%.0f", s}')" -eq \
      "$(ledger "select sum(charged) from segment where account = '$account'")" ]
    [ "$(posted "$account")" -eq $((1000 * 1000000 - $(ledger "select sum(charged - refunded) from segment where account = '$account'"))) ]
  done
}

@test "all is well" { all_is_well && cluster_wait 10 no_reservations; }
