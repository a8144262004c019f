#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Who may not read the ledger's file is told his own runs by slurmctld, byte for byte as sbill prints them from the file;
# a coordinator those of his account; nobody another's.

load lib/market

setup_file() {
  cluster_new
  CLUSTER_ACCOUNTING=1
  # One CPU for one minute costs 1.
  fixed_rate 60
  cluster_start
  sacctmgr -i add account physics Cluster=market
  sacctmgr -i add account biology Cluster=market
  sacctmgr -i add user nobody Account=physics DefaultAccount=physics
  sacctmgr -i add user games Account=physics DefaultAccount=physics
  sacctmgr -i add user daemon Account=biology DefaultAccount=biology
  sacctmgr -i add user www-data Account=biology DefaultAccount=biology
  sacctmgr -i add coordinator Account=physics Names=www-data
  open_account physics 1000
  open_account biology 1000
  sleep 2
  run_some
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# Completed, failed and array runs of nobody; others' runs in the same account and in another.
run_some() {
  local user
  accepted nobody -n 1 -t 1 --budget=1 --wrap true
  accepted nobody -n 2 -t 1 --budget=2 --wrap false
  accepted nobody -n 1 -t 1 --budget=1 --array=1-3 --wrap true
  for user in games daemon; do accepted "$user" -n 1 -t 1 --budget=1 --wrap true; done
  cluster_wait 90 no_liens
  accepted nobody -n 1 -t 1 --budget=1 --begin=now+2hours --wrap true
  cluster_wait 20 liens_are physics 1000000
}

# same_as_file USER OPTIONS-FOR-THE-FILE… -- OPTIONS…: sbill as the user, and as root on the file narrowed to that.
same_as_file() {
  local user=$1 narrowed=()
  shift
  while [[ $1 != -- ]]; do narrowed+=("$1") && shift; done
  shift
  sbill "${narrowed[@]}" "$@" >"$CLUSTER_DIR/run/by-file"
  cluster_as "$user" sbill "$@" >"$CLUSTER_DIR/run/by-market"
  [ -s "$CLUSTER_DIR/run/by-file" ]
  cmp "$CLUSTER_DIR/run/by-file" "$CLUSTER_DIR/run/by-market"
}

runs_in() { jq '.jobs | length' "$CLUSTER_DIR/run/by-market"; }

@test "the file is closed to nobody" {
  run cluster_as nobody sqlite3 -readonly "$CLUSTER_DIR/ledger/market.db" "select 1"
  [ "$status" -ne 0 ]
}

@test "own runs, byte for byte as from the file, in every form" {
  local form job
  same_as_file nobody -u nobody -- --json
  [ "$(runs_in)" -eq 5 ]
  for form in -P -p --noheader --totals "--delimiter=; -P" "--format=ALL -P" "--format=JobID%20,Note%-8,State" --open "--open --json"; do
    # shellcheck disable=SC2086
    same_as_file nobody -u nobody -- $form
  done
  job=$(ledger "select array_job_id from segment where array_job_id <> 0 limit 1")
  for form in "-j $job" "-j ${job}_2" "-s FAILED" "-A physics" "-r main" "-M market" "-S now-1hour -E now+1hour" \
    "-j $job --mechanism era,first_fit" "-S 2020-01-01"; do
    # shellcheck disable=SC2086
    same_as_file nobody -u nobody -- $form -P
  done
}

@test "nobody sees another's runs, whatever is asked for" {
  local other
  other=$(ledger "select job_id from segment where user = 'games'")
  for ask in "-u games" "-A biology" "-j $other" "-u daemon -S 2020-01-01"; do
    # shellcheck disable=SC2086
    [ -z "$(cluster_as nobody sbill -n -P $ask)" ]
  done
}

@test "a coordinator sees the runs of the account, and not those of others" {
  same_as_file www-data -A physics -- --json
  [ "$(runs_in)" -eq 6 ]
}

@test "an operator without the file sees all" {
  sacctmgr -i add user nobody AdminLevel=Operator Account=physics || sacctmgr -i modify user nobody set AdminLevel=Operator
  same_as_file nobody -- --json
  [ "$(runs_in)" -eq 7 ]
  sacctmgr -i modify user nobody set AdminLevel=None
}

@test "without market.conf too, as on a login node" {
  MARKET_CONF=/nonexistent/market.conf same_as_file nobody --config="$CLUSTER_DIR/etc/market.conf" -u nobody -- -P
}

@test "many ask at once, none is refused and slurmctld goes on" {
  local asks=() ask
  for ask in {1..12}; do
    cluster_as nobody sbill -n -P >"$CLUSTER_DIR/run/ask.$ask" 2>&1 &
    asks+=($!)
  done
  for ask in "${asks[@]}"; do wait "$ask"; done
  for ask in {2..12}; do cmp "$CLUSTER_DIR/run/ask.1" "$CLUSTER_DIR/run/ask.$ask"; done
  [ "$(wc -l <"$CLUSTER_DIR/run/ask.1")" -eq 5 ]
}

@test "why tells of a job that has ended, to whom it concerns" {
  local job
  job=$(ledger "select job_id from segment where state = 'FAILED'")
  run cluster_as nobody smarket why "$job"
  [ "$status" -eq 0 ]
  [[ $output == *"FAILED"* && $output == *"charged 2.00"* && $output == *"[ENDED]"* ]]
  [ "$(cluster_as nobody smarket why "$job" --json | jq -r '.code + " " + .runs[0].charged')" = "ENDED 2.00" ]
  run cluster_as games smarket why "$job"
  [ "$status" -ne 0 ]
  [[ $output == *"neither yours"* ]]
}

@test "why of one's own job without a bid, and of another's" {
  local job
  job=$(cluster_as nobody sbatch --parsable -o /dev/null --begin=now+1hour -n 1 -t 1 --wrap true)
  run cluster_as nobody smarket why "$job"
  [ "$status" -eq 0 ]
  [[ $output == *"$job carries no bid"*"[UNBID]"* ]]
  run cluster_as games smarket why "$job"
  [ "$status" -ne 0 ]
}

# Rows for nothing, so that the books balance with them.
@test "hundreds of runs come in pages" {
  sqlite3 -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db" <<'SQL'
insert into segment (key, cluster, job_id, submitted, restart, array_job_id, array_task_id, uid, user, account, partition, state,
  mechanism, tres, note, planned_start, promised_end, start, "end", suspended, elapsed, billing, quoted, charged, refunded, status,
  bid)
with recursive n(i) as (select 1 union all select i + 1 from n where i < 450)
select 'copy:' || i, cluster, 900000 + i, submitted, 0, 0, 0, uid, user, account, partition, 'VOIDED', mechanism, tres,
  'copy ' || i, 0, 0, 0, "end", 0, 0, billing, 0, 0, 0, 'voided', 'copy'
from segment, n where segment.id = (select min(id) from segment where user = 'nobody');
SQL
  same_as_file nobody -u nobody -- --json
  [ "$(runs_in)" -eq 455 ]
  same_as_file nobody -u nobody -- --format=ALL -P
}

@test "all is well" {
  cluster_cancel_all
  all_is_well
}
