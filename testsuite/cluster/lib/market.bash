# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of the market share: accounts, bids, and the ledger read without the project's own code. Money is in
# micro-credits here, so that the shell's integers are exact.

load lib/cluster

# micro 38.90 → 38900000
micro() {
  local whole=${1%%.*} fraction=000000
  [[ $1 != *.* ]] || fraction=${1#*.}000000
  echo $((10#${whole:-0} * 1000000 + 10#${fraction:0:6}))
}

# price CPUS SECONDS CREDITS_PER_HOUR → micro-credits, rounded to the nearest
price() { echo $((($1 * $2 * $(micro "$3") + 1800) / 3600)); }

# ledger SQL: asks the database itself.
ledger() { sqlite3 -readonly -cmd '.timeout 5000' "$CLUSTER_DIR/ledger/market.db" "$1"; }

# open_account NAME CREDITS [USER…]
open_account() {
  local name=$1 credits=$2
  shift 2
  smarket account add "$name" ${1:+--users "$(IFS=, && echo "$*")"}
  smarket deposit "$name" "$credits" --note "for the test"
  cluster_wait 30 smarket check # the market has found its books
  sleep 1                       # and sees the deposit within one period
}

posted() { ledger "select posted from account where name = '$1'"; }
liens() { ledger "select liens from account where name = '$1'"; }

liens_are() { [[ $(liens "$1") -eq $2 ]]; }

# One CPU for one hour costs CREDITS, whatever is asked for and when.
fixed_rate() {
  cluster_set prices.floor "$1"
  cluster_set prices.cap "$1"
}

# bid USER SBATCH-ARGUMENT…: sets JOB (empty when refused), SAID (what the user read) and STATUS.
bid() {
  local user=$1
  shift
  STATUS=0
  JOB=$(cluster_as "$user" sbatch --parsable -o /dev/null "$@" 2>"$CLUSTER_DIR/run/said") || STATUS=$?
  SAID=$(<"$CLUSTER_DIR/run/said")
}

accepted() {
  bid "$@"
  [[ $STATUS -eq 0 && $JOB =~ ^[0-9]+$ && $SAID == *"market: "*"accepted for"* ]] || {
    echo "status $STATUS, job '$JOB': $SAID" >&2
    return 1
  }
}

# refused TEXT USER SBATCH-ARGUMENT…: with a line that holds TEXT (a bash pattern).
refused() {
  local text=$1
  shift
  bid "$@"
  # shellcheck disable=SC2053
  [[ $STATUS -ne 0 && -z $JOB && $SAID == *"market: "* && $SAID == *$text* ]] || {
    echo "status $STATUS, job '$JOB', wanted '$text': $SAID" >&2
    return 1
  }
}

# Ends when SECONDS have passed since slurmctld's start time of the job.
run_for() {
  cat <<EOF
#!/bin/bash
start=\$(date -d "\$(scontrol show job \$SLURM_JOB_ID -o | grep -o ' StartTime=[^ ]*' | cut -d= -f2)" +%s%N)
rest=\$((start + $1 * 1000000000 + 300000000 - \$(date +%s%N)))
sleep \$(printf '%d.%09d' \$((rest / 1000000000)) \$((rest % 1000000000)))
EOF
}

# Slurm's own start of a job, in seconds since the epoch.
started_at() { date -d "$(scontrol show job "$1" -o | grep -o ' StartTime=[^ ]*' | cut -d= -f2)" +%s; }

# Until a job has run for SECONDS; a little more, so that Slurm's whole seconds say the same.
wait_elapsed() {
  local rest=$((($(started_at "$1") + $2) * 1000 + 300 - ${EPOCHREALTIME/./} / 1000))
  [[ $rest -le 0 ]] || sleep "$((rest / 1000)).$(printf %03d $((rest % 1000)))"
}

# Its user cancels it.
cancel_at() { wait_elapsed "$1" "$2" && cluster_as games scancel "$1"; }

requeue_at() { wait_elapsed "$1" "$2" && cluster_as games scontrol requeue "$1"; }

# The node n1, on which it runs, fails and comes back.
fail_at() {
  wait_elapsed "$1" "$2" && scontrol update NodeName=n1 State=DOWN Reason=test && scontrol update NodeName=n1 State=RESUME
}

# run_of JOB RESTART: its row in SQL; the latest, since job ids come again after a kill.
# Rests, which are bought and not used, are no runs.
run_of() { echo "(select id from segment where job_id = $1 and restart = ${2:-0} and state <> 'UNUSED' order by submitted desc limit 1)"; }

# The segment of a run: status|state|quoted|charged|refunded|elapsed
segment() { ledger "select status, state, quoted, charged, refunded, elapsed from segment where id = $(run_of "$1" "${2:-0}")"; }

is_settled() { [[ -n $(ledger "select 1 from segment where id = $(run_of "$1" "${2:-0}") and status <> 'open'") ]]; }

wait_settled() {
  cluster_wait "${3:-60}" is_settled "$1" "${2:-0}" || {
    echo "job $1: $(segment "$1" "${2:-0}"); $(scontrol show job "$1" -o 2>&1)" >&2
    return 1
  }
}

field() { ledger "select \"$3\" from segment where id = $(run_of "$1" "$2")"; }

# The double entry, recomputed from the transfers alone; and the project's own check says the same.
books_balance() {
  local wrong
  [[ $(ledger "select sum(posted) from account") -eq 0 ]] || { echo "balances do not sum to 0" >&2 && return 1; }
  wrong=$(ledger "select name from account where posted <>
      (select coalesce(sum(case when credit = account.id then amount else -amount end), 0) from transfer
       where account.id in (debit, credit) and kind not in ('lien', 'void'))
    union select name from account where liens <>
      (select coalesce(sum(amount), 0) from transfer where debit = account.id and kind = 'lien'
       and id not in (select resolves from transfer where resolves is not null))
    union select key from segment where charged - refunded <>
      (select coalesce(sum(case kind when 'charge' then amount when 'refund' then -amount else 0 end), 0)
       from transfer where segment = segment.id)")
  [[ -z $wrong ]] || { echo "wrong: $wrong" >&2 && return 1; }
  smarket check >/dev/null || { smarket check >&2 && return 1; }
}

# Books that do not answer have no known number of them.
no_liens() { [[ $(ledger "select count(*) from segment where status = 'open'") == 0 ]]; }

# The market has found its books again, and has nothing left to write into them.
all_written() {
  smarket check --json 2>/dev/null |
    jq -e '.findings[] | select(.part == "market").detail | contains("; 0 entries to write")' >/dev/null
}

# After every file: the controller is alive, all liens are gone (those of jobs that a restart forgot take a minute), the
# books balance.
all_is_well() {
  cluster_alive slurmctld && scontrol ping | grep -q UP && cluster_wait 90 no_liens && books_balance
}

no_reservations() { [[ $(scontrol show reservation -o 2>/dev/null) != *ReservationName=* ]]; }
