#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# smarket submit --all on a real Slurm: one CPU for an hour costs 0.60, so one for a minute 0.01.

load lib/market

setup_file() {
  cluster_new
  cluster_set charge resale
  fixed_rate 0.60
  cluster_start
  open_account physics 100 games
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# script NAME SBATCH-LINE…: one that sleeps for two seconds, and its path.
script() {
  local path="$CLUSTER_DIR/users/games/$1" line
  shift
  {
    echo '#!/bin/bash'
    for line in "$@"; do echo "#SBATCH $line"; done
    echo "sleep 2"
  } >"$path"
  chmod 755 "$path"
}

scripts() {
  script a.sh "-n 16" "-t 1" "-o /dev/null"
  script b.sh "-n 32" "-t 1" "-o /dev/null"
  script c.sh "-n 64 -t 2 -o /dev/null"
}

jobs_of_games() { squeue -h -u games -o %i | wc -l; }
has_jobs() { [[ $(jobs_of_games) -eq $1 ]]; }

@test "a budget that is too small by a cent buys nothing" {
  scripts
  run cluster_as games env SBATCH_ACCOUNT=physics smarket submit --all --budget=1.75 -- a.sh b.sh c.sh
  [ "$status" -ne 0 ]
  [[ $output == *"needs 1.76, budget is 1.75"* ]]
  [ "$(jobs_of_games)" -eq 0 ]
  sleep 2
  [ "$(liens physics)" -eq 0 ]
}

@test "the sum buys three jobs with a lien each, and they run" {
  local answer job before
  before=$(posted physics)
  scripts
  answer=$(cluster_as games env SBATCH_ACCOUNT=physics smarket --json submit --all --budget=1.76 -- a.sh b.sh c.sh)
  [ "$(jq -r .price <<<"$answer")" == 1.76 ]
  [ "$(jq '.jobs | length' <<<"$answer")" -eq 3 ]
  [ "$(jobs_of_games)" -eq 3 ]
  cluster_wait 10 liens_are physics 1760000
  [ "$(ledger "select count(*) from segment where status = 'open'")" -eq 3 ]
  for job in $(jq '.jobs[].job' <<<"$answer"); do wait_settled "$job" 0 400; done
  for job in $(jq '.jobs[].job' <<<"$answer"); do [ "$(field "$job" 0 state)" == COMPLETED ]; done
  [ "$(posted physics)" -ge $((before - 1760000)) ]
  cluster_wait 10 no_liens
}

@test "where one is refused none is left" {
  local before
  before=$(posted physics)
  script bad.sh "-n 1" "-t 1" "--array=1-2"
  script good.sh "-n 1" "-t 1"
  run cluster_as games env SBATCH_ACCOUNT=physics smarket submit --all --budget=5 -- good.sh bad.sh
  [ "$status" -ne 0 ]
  [[ $output == *"job 2: "*"1 job submitted before it: cancelled"* ]]
  cluster_wait 20 has_jobs 0
  cluster_wait 10 liens_are physics 0
  [ "$(posted physics)" -eq "$before" ]
}

@test "a list in a file: one job after the other, with sizes of their own" {
  local answer first second
  script plain.sh
  cat >"$CLUSTER_DIR/users/games/list" <<'EOF'
# what is done tonight
sbatch -A physics -n 4 -t 1 plain.sh
after=1 -A physics -n 8 -t 2 plain.sh one two
EOF
  answer=$(cluster_as games smarket --json submit --all --budget=1 --file=list)
  first=$(jq '.jobs[0].job' <<<"$answer")
  second=$(jq '.jobs[1].job' <<<"$answer")
  [ "$(jq -r .price <<<"$answer")" == 0.20 ]
  [ "$(jq '.jobs[1].start >= .jobs[0].completes' <<<"$answer")" == true ]
  [[ $(scontrol show job "$second" -o) == *"Dependency=afterok:$first"* ]]
  wait_settled "$first" 0 200
  wait_settled "$second" 0 300
  [ "$(field "$second" 0 start)" -ge "$(field "$first" 0 end)" ]
}

@test "a client that dies leaves no half of a list" {
  local quote
  scripts
  quote=$(cluster_as games smarket --json submit --all --budget=1.76 --file=/dev/null 2>&1 || true)
  [[ $quote == *"the list names no job"* ]]
  # It had submitted one of three when it died.
  printf '#!/bin/bash\n[[ -e %s/half ]] && kill -9 $PPID\ntouch %s/half\nexec /usr/bin/sbatch "$@"\n' \
    "$CLUSTER_DIR/users/games" "$CLUSTER_DIR/users/games" >"$CLUSTER_DIR/users/games/sbatch"
  chmod 755 "$CLUSTER_DIR/users/games/sbatch"
  run cluster_as games env SBATCH_ACCOUNT=physics PATH="$CLUSTER_DIR/users/games:$PATH" smarket submit --all --budget=1.76 -- a.sh b.sh c.sh
  [ "$status" -ne 0 ]
  [ "$(jobs_of_games)" -ge 1 ]
  [[ $(squeue -h -u games -o %T) != *RUNNING* ]]
  cluster_wait 90 has_jobs 0
  cluster_wait 10 liens_are physics 0
}

@test "bad lists get one line" {
  run cluster_as games smarket submit --all --budget=x -- a.sh
  [[ $status -ne 0 && $output == *"--budget"* ]]
  run cluster_as games smarket submit --all --budget=1
  [[ $status -ne 0 && $output == *"--file=LIST"* ]]
  run cluster_as games smarket submit --all --budget=1 -- missing.sh
  [[ $status -ne 0 && $output == *"missing.sh"* ]]
  run cluster_as games smarket submit --budget=1 -- a.sh
  [ "$status" -ne 0 ]
}

@test "the books balance" { all_is_well; }
