#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# sbill on a ledger filled by ledger_fixture. 2026-11-27 12:00 UTC is "now" in the file; the clock is the machine's, so
# windows are always given.

NOW=1795780800

setup_file() {
  export TZ=UTC
  folder=$(mktemp -d)
  export folder db="$folder/ledger.db"
  "$LEDGER_FIXTURE" "$db" $NOW
}

teardown_file() { rm -rf "$folder"; }

setup() { unset MARKET_CONF SLURM_CONF SBILL_FORMAT; }

bill() { "$TOOLS_DIR/sbill/sbill" --database="$db" "$@"; }

# All runs of November, without padding.
november() { bill -S 2026-11-01 -E 2026-12-01 -P "$@"; }

one_line() { [ "${#lines[@]}" -eq 1 ]; }

# run --separate-stderr splits the two streams.
bats_require_minimum_version 1.5.0

@test "the default columns, as sacct pads them" {
  run bill -S 2026-11-01 -E 2026-12-01 -j 1234
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = "JobID      Restarts User     Account    Partition  State         Elapsed BillingHours    Quoted   Charged  Refunded Mechanism    " ]
  [ "${lines[1]}" = "---------- -------- -------- ---------- ---------- ---------- ---------- ------------ --------- --------- --------- ------------ " ]
  [ "${lines[2]}" = "1234              0 ann      physics    main       COMPLETED    01:52:10       119.64     38.90     38.90      8.90 era/1        " ]
  [ "${#lines[@]}" -eq 3 ]
}

@test "a row per run of a requeued job, and for each task of an array" {
  run november -n -o JobID,Restarts,State,Charged -j 1240,1250
  [ "$output" = "1240|0|NODE_FAIL|0.00
1240|1|COMPLETED|12.00
1250_3|0|FAILED|0.000001
1250_4|0|FAILED|0.000001" ]
  run november -n -o JobID -j 1234 -j 1250
  [ "${#lines[@]}" -eq 3 ]
  run november -n -o JobID,JobIDRaw -j 1250_3
  [ "$output" = "1250_3|1251" ]
  run november -n -o JobID -j 1250_3,1234
  [ "$output" = "1234
1250_3" ]
}

@test "would-be bills are shown when they are asked for, and only then" {
  run november -n -o JobID -j 1300,1303
  [ -z "$output" ]
  run november -n -o JobID,State,Charged,Note --observed
  [ "$output" = "1300|COMPLETED|4.50|
1301|COMPLETED|2.00|
1302|COMPLETED|1.00|
1303|COMPLETED|0.00|refused" ]
  run november -n --totals -o JobID,Charged --observed -A physics
  [ "${lines[2]}" = "TOTAL|6.50" ]
  run bill --observed --open
  [ "$status" -eq 1 ] && one_line
  run bill statement physics --observed
  [ "$status" -eq 1 ] && one_line
}

@test "filters by account, user, partition, state, mechanism and cluster" {
  run november -n -o JobID -A CHEM -s FAILED
  [ "$output" = "1250_3
1250_4" ]
  run november -n -o JobID -u bob -r main
  [ "$output" = "1260" ]
  run november -n -o JobID -s nf
  [ "$output" = "1240" ]
  run november -n -o JobID --mechanism first_fit
  [ "$output" = "1250_3
1250_4" ]
  run november -n -o JobID -M elsewhere
  [ "$status" -eq 0 ]
  [ "$output" = "" ]
}

@test "totals are the sums of what is shown" {
  run november -n --totals -o JobID,BillingHours,Quoted,Charged,Refunded,Cost -A physics
  # 38.90 + 12 (node failure) + 12; charged 38.90 + 0 + 12; hours 64 x (6730 + 1200 + 3600) / 3600.
  [ "${lines[3]}" = "TOTAL|204.98|62.90|50.90|8.90|42.00" ]
}

@test "the window is that of the end, start included and end not" {
  run bill -n -P -o JobID -S "$(date -d @$((NOW - 50)) +%FT%T)" -E "$(date -d @$((NOW - 30)) +%FT%T)"
  [ "$output" = "1234
1240" ]
  run bill -n -P -o JobID
  [ "$status" -eq 0 ]
  run bill -n -P -o JobID -j 1100
  [ "$output" = "1100" ]
}

@test "suspended time, notes and voided runs are there" {
  run november -n -o Suspended,SuspendedRaw,Elapsed -j 1234
  [ "$output" = "01:01:01|3661|01:52:10" ]
  run november -n -o State,Quoted,Charged,Note -j 1260
  [ "$output" = "VOIDED|7.00|0.00|cancelled before start" ]
}

@test "runs that hold a lien are shown on request" {
  run november -n -o JobID,State,Quoted -j 1270
  [ "$output" = "" ]
  run november -n -o JobID,State,Quoted,End -j 1270 --open
  [ "$output" = "1270|OPEN|31.20|Unknown" ]
}

@test "widths: cut with a plus, to the left when negative, amounts never cut unless asked" {
  run bill -S 2026-11-01 -n -j 1234 -o Partition%3,User%6,User%-6,Charged%4
  [ "$output" = "ma+    ann ann    38.+ " ]
  run bill -S 2026-11-01 -n -j 1250_3 -o jobid%8,CHARGED
  [ "$output" = "  1250_3  0.000001 " ]
}

@test "parsable output" {
  run bill -S 2026-11-01 -j 1234 -p -o JobID,User
  [ "$output" = "JobID|User|
1234|ann|" ]
}

@test "a bar in a value breaks no line of parsable output, and another delimiter or CSV shows it" {
  local books="$folder/bars.db" conf="$folder/bars.conf"
  "$LEDGER_FIXTURE" --empty "$books"
  printf 'database = "%s";\n' "$books" >"$conf"
  "$TOOLS_DIR/smarket/smarket" --config="$conf" account add bio >/dev/null
  "$TOOLS_DIR/smarket/smarket" --config="$conf" deposit bio 1 --note='a|b, "c"' >/dev/null
  local -a show=("$TOOLS_DIR/sbill/sbill" --database="$books" -n statement bio -S 2026-01-01 -E now+1day)
  run "${show[@]}" -P
  [[ ${lines[1]} == *'|@treasury|a?b, "c"' && $(tr -dc '|' <<<"${lines[1]}") == '|||||||' ]]
  run "${show[@]}" -p
  [[ ${lines[1]} == *'|a?b, "c"|' ]]
  run "${show[@]}" -P --delimiter='; '
  [[ ${lines[1]} == *'; @treasury; a|b, "c"' ]]
  run "${show[@]}" --csv
  [[ ${lines[1]} == *',@treasury,"a|b, ""c"""'* ]]
}

@test "times in JSON carry their offset, so that the doubled hour of October is told apart" {
  "$LEDGER_FIXTURE" "$folder/october.db" 1792890045
  TZ=Europe/Berlin run "$TOOLS_DIR/sbill/sbill" --database="$folder/october.db" -A physics -S 2026-10-25 -E 2026-10-26 --json
  python3 - "$output" <<'PY'
import json, sys
from datetime import datetime
jobs = json.loads(sys.argv[1])["jobs"]
assert len(jobs) == 3, jobs
for job in jobs:
    start, end = (datetime.fromisoformat(job[key]) for key in ("start", "end"))
    assert (end - start).total_seconds() == job["elapsed_seconds"] > 0, job
assert {job["end"][-6:] for job in jobs} == {"+01:00", "+02:00"}, jobs
PY
}

@test "SBILL_FORMAT is the default format" {
  SBILL_FORMAT=User run november -n -j 1234
  [ "$output" = "ann" ]
}

@test "JSON holds every field and exact amounts" {
  run november --json -j 1250_3
  [ "$status" -eq 0 ]
  python3 - "$output" <<'PY'
import json, sys
bill = json.loads(sys.argv[1])
job, = bill["jobs"]
assert job["charged"] == "0.000001" and job["job_id"] == "1250_3" and job["job_id_raw"] == 1251, job
assert job["billing_hours"] == 64 and job["elapsed_seconds"] == 3600, job
assert bill["totals"] == {"runs": 1, "quoted": "0.000001", "charged": "0.000001", "refunded": "0.00",
                          "cost": "0.000001"}, bill
PY
}

@test "a statement: opening, every change, closing" {
  run bill statement physics --month 2026-11 -P -n
  [ "${lines[0]}" = "2026-11-01T00:00:00|opening||||895.00||" ]
  [ "${lines[1]}" = "2026-11-27T11:59:10|charge|1234|0|-38.90|856.10|@revenue|" ]
  [ "${lines[2]}" = "2026-11-27T11:59:20|charge|1240|0|0.00|856.10|@revenue|node failure is free" ]
  [ "${lines[3]}" = "2026-11-27T11:59:30|charge|1240|1|-12.00|844.10|@revenue|" ]
  [ "${lines[4]}" = "2026-11-27T12:00:00|refund|1234|0|8.90|853.00|@revenue|late" ]
  [ "${lines[5]}" = "2026-12-01T00:00:00|closing||||853.00||" ]
  [ "${#lines[@]}" -eq 6 ]
}

# charges ACCOUNT MONTH: by the statement; billed ACCOUNT FROM TO: by the bill. Each "CHARGED RUNS".
charges() {
  "${boundary[@]}" statement "$1" --month "$2" -P -n | awk -F'|' '$2 == "charge" {sum -= $5; runs++} END {printf "%.2f %d", sum, runs}'
}
billed() {
  "${boundary[@]}" -A "$1" -S "$2" -E "$3" -P -n -o Charged -s CD,NF | awk '{sum += $1; runs++} END {printf "%.2f %d", sum, runs}'
}

# 40 s after midnight the market writes what ended 50 s (38.90), 40 s (0) and 30 s (12) before; then 8.90 of the first are
# given back by hand.
@test "a run belongs to the month in which it ended, in bill and statement, in every time zone" {
  local zone midnight
  for zone in UTC Europe/Berlin America/St_Johns; do
    export TZ=$zone
    midnight=$(date -d 2026-12-01T00:00:00 +%s)
    "$LEDGER_FIXTURE" "$folder/boundary-${zone##*/}.db" $((midnight + 40))
    local -a boundary=("$TOOLS_DIR/sbill/sbill" --database="$folder/boundary-${zone##*/}.db")
    [ "$(charges physics 2026-11)" = "38.90 1" ]
    [ "$(billed physics 2026-11-01 2026-12-01)" = "38.90 1" ]
    [ "$(charges physics 2026-12)" = "12.00 2" ]
    [ "$(billed physics 2026-12-01 2027-01-01)" = "12.00 2" ]
    run "${boundary[@]}" statement physics --month 2026-11 -P -n
    [ "${lines[-2]}" = "2026-11-30T23:59:50|charge|1234|0|-38.90|856.10|@revenue|" ]
    [ "${lines[-1]}" = "2026-12-01T00:00:00|closing||||856.10||" ]
    run "${boundary[@]}" statement physics --month 2026-12 -P -n
    [ "${lines[0]}" = "2026-12-01T00:00:00|opening||||856.10||" ]
    [ "${lines[1]}" = "2026-12-01T00:00:00|charge|1240|0|0.00|856.10|@revenue|node failure is free" ]
    [ "${lines[3]}" = "2026-12-01T00:00:40|refund|1234|0|8.90|853.00|@revenue|late" ]
  done
  # In Berlin's time the same instants of UTC are December's an hour earlier.
  TZ=Europe/Berlin
  boundary=("$TOOLS_DIR/sbill/sbill" --database="$folder/boundary-UTC.db")
  [ "$(charges physics 2026-11)" = "0.00 0" ]
  [ "$(billed physics 2026-12-01 2027-01-01)" = "50.90 3" ]
  [ "$(charges physics 2026-12)" = "50.90 3" ]
}

@test "a statement as CSV quotes what needs it, as JSON keeps amounts exact" {
  run bill statement physics --month 2026-10 --csv
  [[ "${lines[0]}" == "Time,Kind,JobID,Restarts,Amount,Balance,Counterpart,Note"* ]]
  [[ "${lines[2]}" == '2026-10-13T12:00:00,deposit,,,1000.00,1000.00,@treasury,"Q4, ""first"" grant"'* ]]
  run bill statement chem --month 2026-11 --json
  python3 - "$output" <<'PY'
import json, sys
statement = json.loads(sys.argv[1])
assert statement["opening_balance"] == "100.00" and statement["closing_balance"] == "99.999998", statement
assert [line["amount"] for line in statement["lines"]] == ["-0.000001"] * 2, statement
PY
}

@test "a statement for a person has a heading" {
  run bill statement PHYSICS --month 2026-11
  [ "${lines[0]}" = "Statement of physics, 2026-11-01T00:00:00 to 2026-12-01T00:00:00, in credits" ]
  run bill statement nobody
  [ "$status" -eq 1 ]
  [ "$output" = "sbill: error: no account 'nobody'" ]
}

@test "an empty ledger is fine" {
  "$LEDGER_FIXTURE" --empty "$folder/empty.db"
  run "$TOOLS_DIR/sbill/sbill" --database="$folder/empty.db"
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 2 ]
  run "$TOOLS_DIR/sbill/sbill" --database="$folder/empty.db" --json
  [ "$status" -eq 0 ]
}

@test "a missing or wrong database is one line and exit 1" {
  run --separate-stderr "$TOOLS_DIR/sbill/sbill" --database="$folder/none.db"
  [ "$status" -eq 1 ]
  [ "$output" = "" ]
  [ "$stderr" = "sbill: error: $folder/none.db: no such database" ]
  echo nonsense > "$folder/text.db"
  run "$TOOLS_DIR/sbill/sbill" --database="$folder/text.db"
  [ "$status" -eq 1 ] && one_line
  [[ "$output" == *"not a SQLite database" ]]
}

@test "another user is told who may read the books" {
  [ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
  chmod 755 "$folder"
  install -m 755 "$TOOLS_DIR/sbill/sbill" "$folder" # the build may lie in a folder that is closed to others
  cd /
  run setpriv --reuid=65534 --clear-groups "$folder/sbill" --database="$db"
  [ "$status" -eq 1 ] && one_line
  [[ "$output" == *"permission denied: only its owner root and root may read the books" ]]
}

@test "wrong options name the option, the value and what is allowed" {
  local -a cases=("-S yesterdayish" "--endtime=99:99" "-j 12x" "-j 0" "-s DANCING" "-o JobID,Colour" "-o JobID%0"
    "-o JobID%x" "--delimiter=;" "-P --delimiter=" "--month=2026-13" "-S 2026-11-02 -E 2026-11-01" "--nonsense" "extra")
  for one in "${cases[@]}"; do
    # shellcheck disable=SC2086
    run --separate-stderr bill $one
    [ "$status" -eq 1 ] || { echo "$one: exit $status"; false; }
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$one: $stderr"; false; }
    [[ "$stderr" == "sbill: error: "* ]]
  done
  run bill -s DANCING
  [[ "$output" == "sbill: error: --state: 'DANCING': one of "*"COMPLETED"* ]]
  run bill -o Colour
  [ "$output" = "sbill: error: --format: 'Colour': not a field; sbill --helpformat lists them" ]
  run bill statement
  [ "$status" -eq 1 ] && one_line
}

@test "the database is found through market.conf" {
  printf 'database = "%s";\ncurrency = "SU";\n' "$db" > "$folder/market.conf"
  run "$TOOLS_DIR/sbill/sbill" --config="$folder/market.conf" -S 2026-11-01 -n -P -o JobID -j 1234
  [ "$output" = "1234" ]
  MARKET_CONF="$folder/market.conf" run "$TOOLS_DIR/sbill/sbill" statement chem --month 2026-11
  [[ "${lines[0]}" == *"in SU" ]]
  SLURM_CONF="$folder/slurm.conf" run "$TOOLS_DIR/sbill/sbill" -S 2026-11-01 -n -P -o JobID -j 1234
  [ "$output" = "1234" ]
  run "$TOOLS_DIR/sbill/sbill" --config="$folder/none.conf"
  [ "$status" -eq 1 ] && one_line
  [[ "$output" == *"$folder/none.conf"* ]]
}

@test "with --json a failure is JSON too, and the exit code stays" {
  json_error() {
    run --separate-stderr "$TOOLS_DIR/sbill/sbill" --json "$@"
    [ "$status" -eq 1 ]
    [ "sbill: error: $(jq -r '.errors[0].description' <<<"$output")" = "$stderr" ]
    [ "$(jq -r '.errors[0].source' <<<"$output")" = sbill ]
  }
  json_error --database="$folder/none.db"
  json_error --database="$db" -s NOSUCH
  json_error --database="$db" --nonsense
  json_error --database="$db" statement nosuch
  json_error --config="$folder/none.conf"
}

# The stand-in for slurmctld runs FAKE_SLURM_COMMAND, which answers from the ledger as the market does.
@test "who may not read the ledger is told his own runs, byte for byte the same" {
  local form
  printf 'database = "%s";\n' "$folder/not/there.db" >"$folder/login.conf"
  for form in "-P" "--json" "--format=ALL -P" "-A physics" "-s nf" "-j 1240,1250_3 -P" "-r main --totals" \
    "-S 2026-11-01 --open" "-S 2026-10-01 -n" "-u ann" "-u bob" "--mechanism era" "-M test" "-M elsewhere" "-o JobID%20,Note%-4"; do
    # shellcheck disable=SC2086
    bill -S 2026-11-20 -E 2026-12-01 $form >"$folder/by-file"
    # shellcheck disable=SC2086
    MARKET_CONF=$folder/login.conf LD_PRELOAD=$FAKE_SLURM FAKE_SLURM_MODE=command FAKE_SLURM_QUERY=$folder/query \
      FAKE_SLURM_COMMAND="$LEDGER_FIXTURE --answer $db 1000 $folder/query" \
      "$TOOLS_DIR/sbill/sbill" -S 2026-11-20 -E 2026-12-01 $form >"$folder/by-market"
    cmp "$folder/by-file" "$folder/by-market"
  done
  # Of user 1001 there are no runs.
  MARKET_CONF=$folder/login.conf LD_PRELOAD=$FAKE_SLURM FAKE_SLURM_MODE=command FAKE_SLURM_QUERY=$folder/query \
    FAKE_SLURM_COMMAND="$LEDGER_FIXTURE --answer $db 1001 $folder/query" \
    run "$TOOLS_DIR/sbill/sbill" -S 2026-11-01 -E 2026-12-01 -n
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "help, version, field names" {
  run bill --help
  [ "$status" -eq 0 ]
  for option in accounts users jobs partition starttime endtime format json parsable2 noheader helpformat totals; do
    [[ "$output" == *"--$option"* ]]
  done
  run bill --version
  [ "$status" -eq 0 ]
  [[ "$output" == slurm-market\ * ]]
  run "$TOOLS_DIR/sbill/sbill" --helpformat
  [ "$status" -eq 0 ]
  [[ "$output" == *BillingHours* ]]
}

@test "the manual page names every option and field" {
  page="$MARKET_SOURCE_DIR/contrib/sbill/sbill.1.scd"
  for option in $(bill --help | grep -oE -- '--[a-z0-9]+' | sort -u); do
    grep -q -- "\*$option\*" "$page" || { echo "missing: $option"; false; }
  done
  for field in $(bill --helpformat); do
    grep -qw "$field" "$page" || { echo "missing: $field"; false; }
  done
}
