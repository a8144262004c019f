# SPDX-License-Identifier: GPL-2.0-or-later
# A list of jobs once through the real Slurm of ../lib and once through `smarket simulate`, and what differs. Sourced behind
# ../lib/market.bash.
#
# A list has lines "NUMBER AFTER CPUS MEMORY_MB RUN LIMIT_MIN BUDGET DEADLINE USER ACCOUNT": submitted AFTER seconds after the
# beginning, with a deadline so many seconds after the beginning (0: none); memory 0: not asked for.

# replay_deposit LIST CREDITS: an account of each name in the list, for its users, with so many credits.
replay_deposit() {
  local account users
  while read -r account users; do
    smarket account add "$account" --users "$users" && smarket deposit "$account" "$2" || return 1
  done < <(awk '{if (!index(users[$10], $9)) users[$10] = users[$10] (users[$10] ? "," : "") $9} END {for (a in users) print a, users[a]}' "$1" | sort)
  cluster_wait 30 smarket check && sleep 1
}

# replay_submit FOLDER NUMBER … (a line of the list): what became of it goes into FOLDER/submitted, "NUMBER JOB" or "NUMBER -".
replay_submit() {
  local folder=$1 number=$2 cpus=$4 memory=$5 run=$6 limit=$7 budget=$8 deadline=$9 user=${10} account=${11} job
  job=$(cluster_as "$user" sbatch --parsable -o /dev/null -A "$account" -J "$number" -n "$cpus" -t "$limit" --budget="$budget" \
    $([[ $memory -eq 0 ]] || echo "--mem=$memory") \
    $([[ $deadline -eq 0 ]] || date -d "@$((REPLAY_BEGIN + deadline))" +--deadline=%Y-%m-%dT%H:%M:%S) \
    --wrap "exec sleep $run" 2>"$folder/said/$number") || job=-
  echo "$number ${job:--}" >>"$folder/submitted"
}

replay_is_over() { cluster_no_jobs && no_liens; }

# Until no job is there any more. When for half a minute none runs those that wait are cancelled: nothing is to come for them.
replay_wait() {
  local deadline=$((EPOCHSECONDS + $1)) moved=$EPOCHSECONDS states
  while [[ $EPOCHSECONDS -lt $deadline ]]; do
    states=$(squeue -h -o %T) || return 1
    [[ -n $states ]] || break
    [[ -z $(grep -v PENDING <<<"$states") ]] || moved=$EPOCHSECONDS
    [[ $((EPOCHSECONDS - moved)) -lt 30 ]] || squeue -h -o %A | xargs -r scancel
    sleep 1
  done
  cluster_wait 60 replay_is_over
}

# replay_real LIST FOLDER [SECONDS]: submits the jobs at their times and waits until all have ended and are billed, at most
# SECONDS (an hour) after the last submission. FOLDER/begin is the beginning, FOLDER/real has a line "NUMBER,STATE,START,END,CHARGED"
# for each, money in micro-credits. A function replay_hook, if there is one, is called with the number of each before it is submitted.
replay_real() {
  local list=$1 folder=$2 number after rest now
  mkdir -p "$folder/said"
  : >"$folder/submitted"
  REPLAY_BEGIN=$((EPOCHSECONDS + 3))
  echo "$REPLAY_BEGIN" >"$folder/begin"
  while read -r number after rest; do
    now=${EPOCHREALTIME/./}
    # A little into the second, so that Slurm's clock shows the same one.
    now=$(((REPLAY_BEGIN + after) * 1000000 + 50000 - now))
    [[ $now -le 0 ]] || sleep "$((now / 1000000)).$(printf %06d $((now % 1000000)))"
    ! declare -F replay_hook >/dev/null || replay_hook "$number" || return 1
    # One after the other: of two in one second the market takes the first one first, as in virtual time.
    # shellcheck disable=SC2086
    replay_submit "$folder" "$number" "$after" $rest </dev/null
  done <"$list"
  replay_wait "${3:-3600}" || { echo "replay: jobs are still there: $(squeue -h | head -n 5)" >&2 && return 1; }
  replay_outcomes "$folder"
}

replay_outcomes() {
  local folder=$1
  awk '{print $1 "," ($2 == "-" ? "" : $2)}' "$folder/submitted" >"$folder/numbers"
  sqlite3 -readonly -cmd '.timeout 5000' -csv "$CLUSTER_DIR/ledger/market.db" \
    'select job_id, state, start, "end", charged - refunded from segment' >"$folder/segments"
  sqlite3 -csv :memory: \
    "create table numbers (number int, job int);
     create table segment (job int, state text, start int, end int, charged int);" \
    ".import $folder/numbers numbers" ".import $folder/segments segment" \
    "select number, case when numbers.job = '' then 'REFUSED' else coalesce(state, 'LOST') end,
            iif(state = 'COMPLETED', start, ''), iif(state = 'COMPLETED', end, ''), coalesce(charged, 0)
     from numbers left join segment using (job) order by number" >"$folder/real"
}

# replay_simulated LIST FOLDER NODES CREDITS [OPTION …]: the same list and market.conf in virtual time, beginning at the same second;
# FOLDER/simulated as FOLDER/real.
replay_simulated() {
  local list=$1 folder=$2 nodes=$3 credits=$4 begin
  shift 4
  begin=$(<"$folder/begin")
  awk -v begin="$begin" '
    function when(t) { return strftime("%Y-%m-%dT%H:%M:%S", t, 1) }
    BEGIN {OFS = "|"; print "JobID", "User", "Account", "Partition", "Submit", "Elapsed", "Timelimit", "AllocCPUS", "ReqMem", "State"}
    {print $1, $9, $10, "main", when(begin + $2), sprintf("00:%02d:%02d", $5 / 60, $5 % 60),
           sprintf("%02d:%02d:00", $6 / 60, $6 % 60), $3, $4 == 0 ? "" : $4 "Mn", "COMPLETED"}' "$list" >"$folder/list.sacct"
  awk -v begin="$begin" '{print $1 "," $7 ($8 == 0 ? "" : "," begin + $8)}' "$list" >"$folder/list.bids"
  smarket simulate --sacct="$folder/list.sacct" --bids="$folder/list.bids" --strict --nodes="$nodes" --credits="$credits" \
    --mechanism=site --market-conf="$CLUSTER_DIR/etc/market.conf" "$@" --jobs="$folder/jobs.csv" --decisions="$folder/decisions" \
    >"$folder/summary" || return 1
  sqlite3 -csv :memory: ".import $folder/jobs.csv jobs" \
    "select job, state, start, end, cast(round(charged * 1000000) as int) from jobs order by cast(job as int)" >"$folder/simulated"
}

# replay_joined FOLDER SQL: asks about both, as table both: number, after, cpus, memory, run, budget, deadline, and of each
# side r_ and s_: state, start, end (seconds after the beginning, null: it did not run), charged.
replay_joined() {
  local folder=$1
  sqlite3 -cmd '.mode list' -cmd '.separator " "' :memory: \
    "create table list (number int, after int, cpus int, memory int, run int, limit_min int, budget real, deadline int, user text, account text);
     create table real (number int, state text, start int, end int, charged int);
     create table simulated (number int, state text, start int, end int, charged int);" \
    ".separator ' '" ".import $folder/list list" ".separator ','" ".import $folder/real real" ".import $folder/simulated simulated" \
    "create table both as select l.number, l.after, l.cpus, l.memory, l.run, l.limit_min, l.budget, l.deadline,
       r.state r_state, nullif(r.start, '') - $(<"$folder/begin") r_start, nullif(r.end, '') - $(<"$folder/begin") r_end, r.charged r_charged,
       s.state s_state, nullif(s.start, '') - $(<"$folder/begin") s_start, nullif(s.end, '') - $(<"$folder/begin") s_end, s.charged s_charged
     from list l join real r using (number) join simulated s using (number);" \
    ".separator ' '" "$2"
}
