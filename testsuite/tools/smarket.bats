#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# smarket as a person types it. TOOLS_DIR is contrib in the build folder, FAKE_SLURM the library that stands in for
# slurmctld, MARKET_SOURCE_DIR the source tree.

setup() {
  SMARKET=$TOOLS_DIR/smarket/smarket PAGES=$TOOLS_DIR/smarket
  DIR=$(mktemp -d)
  cat > "$DIR/market.conf" <<CONF
database = "$DIR/ledger.db";
currency = "credits";
CONF
  export MARKET_CONF=$DIR/market.conf FAKE_SLURM_QUERY=$DIR/query TZ=Europe/Berlin
  unset SLURM_CONF FAKE_SLURM_MODE FAKE_SLURM_ANSWER SBATCH_TIMELIMIT SBATCH_PARTITION SBATCH_ACCOUNT
}

teardown() { rm -rf "$DIR"; }

smarket() { LD_PRELOAD=$FAKE_SLURM "$SMARKET" "$@"; }
# Runs smarket with stdout and stderr apart: $out, $err, $status.
split() {
  status=0
  smarket "$@" > "$DIR/out" 2> "$DIR/err" || status=$?
  out=$(cat "$DIR/out") err=$(cat "$DIR/err")
}
# After split: exit code 1, nothing on stdout, one line on stderr.
one_line_error() {
  [ "$status" -eq 1 ]
  [ -z "$out" ]
  [[ $err == "smarket: error: "* ]]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
}
query() { sed -n 's/^_SLURM_SPANK_OPTION_market_query=//p' "$DIR/query"; }
# The size that a quote with these options asks for, one field.
size() { smarket quote "${@:2}" > /dev/null && query | jq -c ".size.$1"; }

open_physics() {
  smarket account add physics --users=ada,bob --note='Q4 grant'
  smarket deposit physics 1000 --note=start
}

@test "account add, list, show" {
  run smarket account add physics --users=ada,bob --note='Q4 grant'
  [ "$status" -eq 0 ]
  [ "$output" = "account physics added" ]
  run smarket account add chemistry
  [ "$status" -eq 0 ]
  run smarket account list
  [ "$status" -eq 0 ]
  [[ ${lines[0]} == ACCOUNT*BALANCE*LIENS*AVAILABLE*USERS*NOTE* ]]
  [[ $output == *physics*0.00*ada,bob*"Q4 grant"* && $output == *chemistry* ]]
  run smarket account show physics
  [ "$status" -eq 0 ]
  [[ $output == *physics* && $output != *chemistry* ]]
}

@test "a note is text of one line" {
  smarket account add physics
  for note in $'two\nlines' $'tab\there' $'cr\rhere' $'bad \xff utf8' $'esc \x1b[31m'; do
    run smarket deposit physics 1 --note "$note"
    [[ $status -ne 0 && ${#lines[@]} -eq 1 ]]
    [[ $output == *"--note"*"must be UTF-8 text without control characters"* ]]
  done
  smarket deposit physics 1 --note 'a|b, "c" – naïve =1+1'
  [ "$(smarket balance physics --json | jq -r '.accounts[0].balance // .balance')" = 1.00 ]
}

@test "account add twice is refused, but its users can be changed" {
  smarket account add physics --users=ada,bob
  split account add physics
  [ "$status" -eq 1 ]
  [ -z "$out" ]
  [[ $err == "smarket: error: account physics exists already" ]]
  run smarket account add physics --users=cyd --remove-users=ada
  [ "$status" -eq 0 ]
  [ "$output" = "account physics changed" ]
  [ "$(smarket account show physics --json | jq -c '.accounts[0].users')" = '["bob","cyd"]' ]
}

@test "deposit, withdraw, transfer, balance" {
  open_physics
  smarket account add chemistry
  run smarket transfer physics chemistry 200.5
  [ "$status" -eq 0 ]
  [[ $output == "transferred 200.50 from physics to chemistry; physics: balance 799.50, available 799.50; chemistry: balance 200.50, available 200.50" ]]
  run smarket withdraw physics 99.5 --note=back
  [ "$status" -eq 0 ]
  [[ $output == *"balance 700.00"* ]]
  run smarket balance physics
  [ "$status" -eq 0 ]
  [[ ${lines[2]} == physics*700.00*0.00*700.00* ]]
  [ "$(smarket balance physics --json | jq -r '.accounts[0].available')" = 700.00 ]
  split withdraw physics 700.01
  [ "$status" -eq 1 ]
  [ -z "$out" ]
  [[ $err == *"700.00 available"* ]]
}

@test "without a verb: my accounts" {
  smarket account add mine --users="$(id -un)"
  smarket account add other --users=nobody-here
  run smarket
  [ "$status" -eq 0 ]
  [[ $output == *mine* && $output != *other* ]]
  run smarket balance
  [ "$status" -eq 0 ]
  [[ $output == *mine* && $output != *other* ]]
}

@test "amounts that are none are refused" {
  open_physics
  for amount in -5 0 nan inf 1e3 1.2345678 '' abc 99999999999999 $'\xff'; do
    split deposit physics "$amount"
    [ "$status" -eq 1 ]
    [ -z "$out" ]
    [ "$(wc -l < "$DIR/err")" -eq 1 ]
  done
  [ "$(smarket balance physics --json | jq -r '.accounts[0].balance')" = 1000.00 ]
}

@test "unknown accounts, unknown jobs" {
  open_physics
  for verb in 'deposit nobody 5' 'withdraw nobody 5' 'transfer physics nobody 5' 'balance nobody' 'account show nobody' \
    'refund 77 5' 'refund x 5' 'refund 7_8_9 5'; do
    # shellcheck disable=SC2086
    split $verb
    [ "$status" -eq 1 ]
    [ -z "$out" ]
    [[ $err == "smarket: error: "* ]]
    [ "$(wc -l < "$DIR/err")" -eq 1 ]
  done
}

@test "refund: never more than was charged, not after the window, tasks by name" {
  "$LEDGER_FIXTURE" "$DIR/ledger.db"
  run smarket refund 1234 30 --note=goodwill
  [ "$status" -eq 0 ]
  [[ $output == "refunded 30.00 of job 1234, submitted 20"*" by "*"; physics: balance "* ]]
  split refund 1234 0.000001
  one_line_error
  split refund 1100 1
  one_line_error
  run smarket refund 1100 1 --force --cluster=test
  [ "$status" -eq 0 ]
  split refund 1250 0.000001
  one_line_error
  [[ $err == *"an array; name a task, such as 1250_"* ]]
  run smarket refund 1250_3 0.000001 --json
  [ "$status" -eq 0 ]
  [ "$(jq -r .submitted <<<"$output")" = "$(sqlite3 "$DIR/ledger.db" 'select submitted from segment where job_id = 1251')" ]
  split refund 1250_3 0.000001
  one_line_error
  split refund 1270 1
  one_line_error
  split refund 1234 1 --cluster=other
  one_line_error
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"fine"}'
  run smarket check
  [ "$status" -eq 0 ]
}

@test "show observed: what each account would have paid, who would have waited less and more" {
  smarket account add physics
  split show observed
  one_line_error
  [[ $err == *'mode = "observe"'* ]]
  rm "$DIR/ledger.db"
  "$LEDGER_FIXTURE" "$DIR/ledger.db"
  # Two runs of physics: an hour less after two, an hour more after none.
  run smarket show observed --json
  [ "$(jq -c '.accounts[1] | [.account, .jobs, .refused, .would_pay, .waited_s, .would_wait_s, .less, .same, .more]' <<<"$output")" = \
    '["physics",2,0,"6.50",3600,3600,1,0,1]' ]
  [ "$(jq -c '.accounts[0] | [.account, .jobs, .refused, .would_pay, .planned, .less]' <<<"$output")" = '["chem",1,1,"1.00",0,null]' ]
  run smarket show observed
  [[ ${lines[0]} == ACCOUNT*JOBS*REFUSED*"WOULD PAY"*WAITED*"WOULD WAIT"*LESS*SAME*MORE* ]]
  [[ $(tr -s ' ' <<<"${lines[2]}") == "chem 1 1 1.00 - - - - -"* ]]
  [[ $(tr -s ' ' <<<"${lines[3]}") == "physics 2 0 6.50 01:00:00 01:00:00 1 0 1"* ]]
  [ "$(smarket show observed --json --endtime=now-1day --starttime=now-2days | jq -c .accounts)" = '[]' ]
  [ "$(smarket show observed --json --market=other | jq -c .accounts)" = '[]' ]
  split show observed --starttime=nonsense
  one_line_error
  split show observed -S now -E now-1hour
  one_line_error
  run smarket balance physics --json
  [ "$(jq -r '.accounts[0].liens' <<<"$output")" = 31.20 ]
}

@test "balance counts this month's charges without what was refunded" {
  "$LEDGER_FIXTURE" "$DIR/ledger.db"
  # 38.90 + 12 charged, 8.90 refunded; all ended within the last minute, so at the month's first minute it may be less.
  used=$(smarket balance physics --json | jq -r '.accounts[0].used_this_month')
  [ "$used" = 42.00 ] || [ "$(date +%d%H%M)" = 010000 ]
}

@test "an ordinary user is told why the books cannot be changed, and balances come from slurmctld" {
  [ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
  open_physics
  chmod 755 "$DIR"
  # The build may lie in a folder that is closed to others.
  install -m 755 "$SMARKET" "$FAKE_SLURM" "$DIR"
  as_nobody() {
    (cd / && setpriv --reuid=65534 --regid=65534 --clear-groups \
      env LD_PRELOAD="$DIR/${FAKE_SLURM##*/}" "$DIR/smarket" "$@")
  }
  run as_nobody deposit physics 5
  [ "$status" -eq 1 ]
  [[ $output == *"permission denied"*"only its owner root and root"* ]]
  export FAKE_SLURM_QUERY=/dev/null FAKE_SLURM_ANSWER='{"ok":true,"text":"physics","accounts":[{"account":"physics","balance":"5.00","liens":"2.00","available":"3.00"}]}'
  run as_nobody balance
  [ "$status" -eq 0 ]
  [[ $output == ACCOUNT*BALANCE*LIENS*AVAILABLE*physics*5.00*2.00*3.00 ]]
  run as_nobody balance physics
  [ "$status" -eq 0 ]
  run as_nobody balance chemistry
  [ "$status" -eq 1 ]
  [[ $output == *"chemistry: not one of yours"* ]]
}

@test "an ordinary user's check passes over what is closed to him, and finds no fault in it" {
  [ "$(id -u)" -eq 0 ] || skip "needs root"
  local closed
  chmod 755 "$DIR"
  install -m 755 "$SMARKET" "$FAKE_SLURM" "$DIR"
  mkdir -m 700 "$DIR/books"
  echo "database = \"$DIR/books/ledger.db\";" >"$DIR/market.conf"
  smarket account add physics
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"fine","usable":true}'
  for closed in "$DIR/books" "$DIR/books/ledger.db"; do
    run setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$DIR/${FAKE_SLURM##*/}" "$DIR/smarket" check
    [ "$status" -eq 0 ]
    [[ $output == *"ledger       skipped  $DIR/books/ledger.db: only its owner and root may read the books"* ]]
    [[ $output != *fault* && $output != *"Permission denied"* ]]
    chmod 755 "$DIR/books"
  done
  chmod 600 "$DIR/market.conf"
  run setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$DIR/${FAKE_SLURM##*/}" "$DIR/smarket" check
  [ "$status" -eq 0 ]
  [[ $output == *"market.conf  skipped  $DIR/market.conf: only its owner and root may read it"* && $output != *fault* ]]
}

@test "a ledger made by root belongs to the owner of its folder" {
  [ "$(id -u)" -eq 0 ] || skip "needs root"
  mkdir "$DIR/books" && chown 65534:65534 "$DIR/books"
  echo "database = \"$DIR/books/ledger.db\";" > "$DIR/market.conf"
  echo 'slurmuser=nobody # as sites write it' > "$DIR/slurm.conf"
  smarket account add physics
  [ "$(stat -c %u:%a "$DIR/books/ledger.db")" = 65534:600 ]
}

@test "a ledger in the wrong hands gets no accounts, and check says so" {
  [ "$(id -u)" -eq 0 ] || skip "needs root"
  open_physics
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"fine"}'
  wrong() {
    split account add chemistry
    one_line_error
    [[ $err == *"$1"* ]]
    run smarket check
    [ "$status" -eq 1 ]
    [[ $output == *"ledger       fault "*"$1"* ]]
  }
  chown nobody "$DIR/ledger.db"
  wrong "belongs to nobody"
  chown root "$DIR/ledger.db"
  chmod 666 "$DIR/ledger.db"
  wrong "mode 666 lets others"
  chmod 600 "$DIR/ledger.db"
  chmod 777 "$DIR"
  wrong "replace the ledger"
  chmod 700 "$DIR"
  mv "$DIR/ledger.db" "$DIR/real.db" && ln -s real.db "$DIR/ledger.db"
  wrong "a symbolic link"
  rm "$DIR/ledger.db" && mv "$DIR/real.db" "$DIR/ledger.db"
  smarket account add chemistry
}

@test "market.conf: --config, MARKET_CONF, beside SLURM_CONF" {
  open_physics
  run smarket --config="$DIR/none.conf" account list
  [ "$status" -eq 1 ]
  [[ $output == *none.conf*"No such file"* ]]
  mkdir "$DIR/etc" && cp "$DIR/market.conf" "$DIR/etc/"
  unset MARKET_CONF
  export SLURM_CONF=$DIR/etc/slurm.conf
  run smarket account list
  [ "$status" -eq 0 ]
  [[ $output == *physics* ]]
  run smarket account list --config="$DIR/market.conf"
  [ "$status" -eq 0 ]
  [[ $output == *physics* ]]
}

@test "quote: the four ways to ask for four GPUs, as sbatch would put them" {
  [ "$(size tres_per_node --gres=gpu:4)" = '"gres:gpu:4"' ]
  [ "$(size tres_per_job --gpus=4)" = '"gres:gpu:4"' ]
  [ "$(size tres_per_node --gpus-per-node=4 -N1)" = '"gres:gpu:4"' ]
  [ "$(size tres_per_task --gpus-per-task=1 -n4)" = '"gres:gpu:1"' ]
  [ "$(size tres_per_job -G a100:2,t4:1)" = '"gres:gpu:a100:2,gres:gpu:t4:1"' ]
  [ "$(size tres_per_node --gpus-per-node=2 --gres=nic:1,gres:fpga:2)" = '"gres:gpu:2,gres:nic:1,gres:fpga:2"' ]
  [ "$(size tres_per_node --gres=none)" = '""' ]
}

@test "quote: counts and memory, as sbatch would put them" {
  counts() { smarket quote "$@" > /dev/null && query | jq -c '.size|[.min_nodes,.max_nodes,.tasks,.cpus_per_task,.tasks_per_node,.min_cpus]'; }
  [ "$(counts)" = '[0,0,0,0,0,1]' ]
  [ "$(counts -n 64)" = '[0,0,64,0,0,64]' ]
  [ "$(counts -c 4)" = '[0,0,0,4,0,4]' ]
  [ "$(counts -n 8 -c 4)" = '[0,0,8,4,0,32]' ]
  [ "$(counts -N 4)" = '[4,4,0,0,0,4]' ]
  [ "$(counts -N 2-4)" = '[2,4,0,0,0,1]' ]
  [ "$(counts -N 2 --ntasks-per-node=8)" = '[2,2,16,0,8,16]' ]
  [ "$(counts -N 4 -n 2)" = '[2,2,2,0,0,2]' ]
  [ "$(counts --nodes=1k)" = '[1024,1024,0,0,0,1024]' ]
  [ "$(size mem_per_node_mb --mem=4G)" = 4096 ]
  [ "$(size mem_per_node_mb --mem=4000)" = 4000 ]
  [ "$(size mem_per_cpu_mb --mem-per-cpu=1500K)" = 2 ]
  [ "$(size all_memory --mem=0)" = true ]
  [ "$(size all_memory --mem=1G)" = false ]
  [ "$(size all_memory)" = false ]
  [ "$(size exclusive --exclusive)" = true ]
  [ "$(size features -C 'avx&big')" = '"avx&big"' ]
}

@test "quote: times, partition, account" {
  smarket quote -n1 -t 2:00:30 -b 2027-01-15T08:00 --deadline=2027-01-15T18:00 -p main -A physics > /dev/null
  [ "$(query | jq -c '[.verb,.time_limit_s,.begin,.deadline,.partition,.account]')" = \
    '["quote",7260,"uts1799996400","uts1800032400","main","physics"]' ]
  SBATCH_PARTITION=gpu SBATCH_TIMELIMIT=30 smarket quote > /dev/null
  [ "$(query | jq -c '[.time_limit_s,.partition]')" = '[1800,"gpu"]' ]
  [ "$(wc -l < "$DIR/query")" -eq 1 ]
}

# batch_script LINE…: a batch script with these lines, its path in $DIR/run.sh.
batch_script() { printf '%s\n' '#!/bin/bash' "$@" > "$DIR/run.sh"; }

@test "quote: a script tells what is not given, as sbatch reads it" {
  batch_script '# a comment' '#SBATCH -n 64 --time=2:00:00' '' '#SBATCH --mem-per-cpu "1500K" # and why' \
    "#SBATCH -J 'two words' -o out.%j -Agpu --exclusive" '#SBATCH -n 32' 'srun true' '#SBATCH -n 1 -p late'
  split quote "$DIR/run.sh"
  [ "$status" -eq 0 ]
  [ -z "$err" ]
  [ "$(query | jq -c '[.size.tasks,.time_limit_s,.size.mem_per_cpu_mb,.account,.size.exclusive,.partition]')" = '[32,7200,2,"gpu",true,""]' ]
  smarket quote -n 8 --mem=4G -A physics "$DIR/run.sh" > /dev/null
  [ "$(query | jq -c '[.size.tasks,.size.mem_per_node_mb,.size.mem_per_cpu_mb,.account]')" = '[8,4096,0,"physics"]' ]
  SBATCH_TIMELIMIT=30 smarket quote "$DIR/run.sh" > /dev/null
  [ "$(query | jq .time_limit_s)" = 1800 ]
}

@test "quote, menu: what of a script is not counted is said" {
  batch_script '#SBATCH --array=1-9 -n 4 --exclusive=user' '#SBATCH --frobnicate' '#SBATCH --begin=2030-01-15T08:00'
  split quote "$DIR/run.sh"
  [ "$status" -eq 0 ]
  [ "$(query | jq .size.tasks)" = 4 ]
  [ "$err" = "smarket: $DIR/run.sh:2: --array=1-9 is not counted here
smarket: $DIR/run.sh:2: --exclusive=user is not counted here
smarket: $DIR/run.sh:3: --frobnicate is not known here and not counted" ]
  export FAKE_SLURM_ANSWER='{"ok":true,"menu":"7f3a","good_until":1800000600,"rows":[{"row":1,"completes":1800007260,"price":"3.00"}]}'
  split menu "$DIR/run.sh"
  [ "$status" -eq 0 ]
  [[ $err == *"$DIR/run.sh: --begin is not counted in a menu" ]]
  [ "$(query | jq -c '[.verb,.begin]')" = '["menu",""]' ]
}

@test "quote, menu: a script's class, work and worth" {
  batch_script '#SBATCH --class=nightly --work=300'
  smarket quote "$DIR/run.sh" > /dev/null
  [ "$(query | jq -c '[.class,.work]')" = '["nightly","300"]' ]
  smarket quote --class=urgent "$DIR/run.sh" > /dev/null
  [ "$(query | jq -c '[.class,.work]')" = '["urgent","300"]' ]
  batch_script '#SBATCH --value=40:60:120'
  export FAKE_SLURM_ANSWER='{"ok":true,"menu":"7f3a","class":"curve","good_until":1800000600,"rows":[{"row":1,"completes":1800007260,"price":"3.00"}]}'
  [[ $(smarket menu "$DIR/run.sh") == "menu 7f3a of class curve, good until "* ]]
  [ "$(query | jq .value)" = '"40:60:120"' ]
  smarket menu --budget=5 "$DIR/run.sh" > /dev/null
  [ "$(query | jq -c '[.budget,.value]')" = '["5",null]' ]
}

@test "quote: a script that sbatch would refuse" {
  refused() {
    split quote "$DIR/run.sh"
    one_line_error
    [[ $err == *"$1"* ]] || { echo "$err" && return 1; }
  }
  printf 'srun true\n' > "$DIR/run.sh"
  refused 'not a batch script'
  batch_script '#SBATCH -n'
  refused 'run.sh:2: -n needs a value'
  batch_script "#SBATCH -J 'open"
  refused 'run.sh:2: a quote is not closed'
  batch_script '#SBATCH 64'
  refused 'run.sh:2: "64" is no option'
  batch_script '#SBATCH -n 4' '#SBATCH hetjob'
  refused 'run.sh:3: of a heterogeneous job ask for each component alone'
  rm "$DIR/run.sh"
  refused 'No such file'
}

@test "show classes: a table, and nothing of few bids" {
  export FAKE_SLURM_ANSWER='{"ok":true,"classes":[{"market":"main","class":"urgent","shape":"hard_deadline","samples":60,"prior":false,"spread":[{"of":"unit value","mean":4.5,"deviation":2.1},{"of":"slack","mean":2000,"deviation":300}]},{"market":"main","class":"curve","shape":"sigmoid","samples":0,"prior":true,"spread":[]}]}'
  split show classes
  [[ $out == *"urgent  hard_deadline       60  4.5 ± 2.1 a billing-hour, due 33 ± 5 min after the limit"* ]] || { echo "$out" && return 1; }
  [[ $out == *"curve   sigmoid              -  too few bids: made up"* ]] || { echo "$out" && return 1; }
  [ "$(smarket show classes --json | jq -r '.classes[0].samples')" = 60 ]
}

@test "quote: what sbatch would refuse is refused with the option's name" {
  refused() {
    split quote "${@:2}"
    one_line_error
    [[ $err == *"$1"* ]]
  }
  refused --ntasks -n 0
  refused --ntasks -n -1
  refused --ntasks -n 99999999999
  refused --nodes -N 4-2
  refused --nodes -N 0
  refused --cpus-per-task -c x
  refused --mem --mem=4X
  refused --mem --mem=1 --mem-per-cpu=1
  refused --gres --gres=gpu:-1
  refused --constraint -C 'a|b'
  refused --time -t UNLIMITED
  refused --time -t 0
  refused --begin -b yesterday
  refused --deadline --deadline=25:00
  refused --nonsense --nonsense
}

@test "an answer is a sentence for a person, everything else with --json" {
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"1234 waits.","code":"PLANNED"}'
  split why 1234
  [ "$status" -eq 0 ]
  [ "$out" = "1234 waits." ]
  [ -z "$err" ]
  split why 1234 --json
  [ "$(jq -c . <<< "$out")" = '{"code":"PLANNED","ok":true}' ]
}

# Two starts, 64 CPUs for two hours, no deadline: the cheaper one is not the first, and says why.
@test "a quote is a table, its sum and what would remain, without noise" {
  export FAKE_SLURM_ANSWER='{"ok":true,"rule":"era/1","billing_rule":"sum","billing":64.0,"hours":2.0,"time_limit_s":7200,
    "horizon_s":604800,"floor":"0.1","cap":"0.6","account":"physics","available":"781.203333","remaining":"-3.111111",
    "rows":[{"when":"now","start":1795780800,"completes":1795788060,"price":"57.30","per_unit":"0.4477"},
    {"when":"later","start":1795867200,"completes":1795874460,"price":"38.900001","per_unit":"0.3039","cheapest":"horizon"}]}'
  FAKE_SLURM_ANSWER=$(jq -c . <<<"$FAKE_SLURM_ANSWER")
  split quote -n 64
  [ "$status" -eq 0 ]
  mapfile -t lines <<<"$out"
  [[ ${lines[0]} =~ ^WHEN\ +STARTS\ BY\ +COMPLETES\ BY\ +PRICE\ +PER\ BILLING-HOUR\ +NOTE$ ]]
  [[ ${lines[2]} =~ ^now\ .*\ 57.30\ +0.4477$ ]]
  [[ ${lines[3]} =~ ^later\ .*\ 38.91\ +0.3039\ +"cheapest within 7 days; add --deadline to start earlier"$ ]]
  [ "${lines[4]}" = "era/1: billing 64 (sum) × 02:00:00 = 128 billing-hours; total 38.91; floor 0.1, cap 0.6; you can pay up to 781.20 (physics), -3.12 would remain. Nothing was reserved." ]
  [ "$(smarket quote -n 64 --json | jq -r '.rows[1].price')" = 38.900001 ]
  FAKE_SLURM_ANSWER=$(jq -c '.floor = "none"' <<<"$FAKE_SLURM_ANSWER") # of contracts
  [[ $(smarket quote -n 64) == *"; floor none, cap 0.6; "* ]]
  FAKE_SLURM_ANSWER=$(jq -c '.deadline = 1795870800 | .rows[1].cheapest = "deadline"' <<<"$FAKE_SLURM_ANSWER")
  [[ $(smarket quote -n 64) == *"cheapest by "* && $(smarket quote -n 64) != *"add --deadline"* ]]
}

@test "prices: hour by hour where they are posted, level and spending in an auction" {
  export FAKE_SLURM_ANSWER='{"ok":true,"rule":"era/1","floor":"0.1","cap":"0.6","unit":"billing-hour","rows":[{"start":1795780800,"per_unit":"0.3000"},{"start":1795784400,"per_unit":"sold out"}]}'
  run smarket prices
  [ "$status" -eq 0 ]
  [[ ${lines[0]} =~ ^START\ +PER\ BILLING-HOUR$ && ${lines[2]} == *" 0.3000" && ${lines[3]} == *"sold out" ]]
  [ "${lines[4]}" = "era/1; floor 0.1, cap 0.6." ]
  local auction='{"ok":true,"rule":"tycoon/1","rows":[],"live":3,"priced":true,"level":0.125,"spent_per_hour":4.0,"floor":"0","cap":"1"}'
  FAKE_SLURM_ANSWER=$auction run smarket prices
  [[ ${lines[0]} =~ ^BIDS\ +LEVEL\ +SPENT/HOUR$ && ${lines[2]} =~ ^\ *3\ +0.1250\ +4.0000$ ]]
  FAKE_SLURM_ANSWER="{\"ok\":true,\"partitions\":[$(jq -c '.partition = "short"' <<<"$auction"),{\"ok\":false,\"error\":\"closed\",\"partition\":\"old\"}]}" run smarket prices -p short,old
  [[ $output == "partition short"*0.1250*"partition old"*closed ]]
}

@test "with --json a failure is JSON too, whatever fails, and the exit code stays" {
  json_error() {
    local wanted=$1
    shift
    split "$@" --json
    [ "$status" -eq "$wanted" ]
    [[ $err == "smarket: error: "* ]]
    [ "smarket: error: $(jq -r '.errors[0].description' <<<"$out")" = "$err" ]
    [ "$(jq -c '[.errors[0].error_number, .errors[0].source]' <<<"$out")" = "[$wanted,\"smarket\"]" ]
  }
  json_error 1 deposit physics 5
  smarket account add physics
  json_error 1 account add physics
  json_error 1 deposit physics 0
  json_error 1 withdraw physics 5
  json_error 1 transfer physics nowhere 5
  json_error 1 refund 1234 1
  json_error 1 account show nowhere
  json_error 1 balance nowhere
  json_error 1 quote -t 0
  json_error 1 why x
  json_error 1 rebid 1
  json_error 1 nonsense
  json_error 2 solve nosuch /dev/null
  export FAKE_SLURM_MODE=answer FAKE_SLURM_ANSWER='{"ok":false,"error":"no"}'
  for verb in quote 'why 1' prices 'rebid 1 --budget=1' 'show markets'; do
    # shellcheck disable=SC2086
    json_error 1 $verb
  done
}

@test "no slurm.conf is one line, and JSON on request" {
  [ ! -e /etc/slurm/slurm.conf ] || skip "there is one"
  status=0
  SLURM_CONF=$DIR/none.conf "$SMARKET" prices --json >"$DIR/out" 2>"$DIR/err" || status=$?
  [ "$status" -eq 1 ]
  [ "$(wc -l <"$DIR/err")" -eq 1 ]
  [[ $(jq -r '.errors[0].description' "$DIR/out") == "slurmctld cannot be asked: "* ]]
}

@test "answers come through the error path too, and the market's refusals are one line" {
  export FAKE_SLURM_MODE=refuse FAKE_SLURM_ANSWER='{"ok":true,"text":"from stderr"}'
  split why 1234
  [ "$status" -eq 0 ]
  [ "$out" = "from stderr" ]
  [ -z "$err" ]
  export FAKE_SLURM_MODE=answer FAKE_SLURM_ANSWER='{"ok":false,"error":"job 1234: not a bid"}'
  split why 1234
  [ "$status" -eq 1 ]
  [ -z "$out" ]
  [ "$err" = "smarket: error: job 1234: not a bid" ]
}

# slurmctld's market answers every question for a bill as the stand-in's command does.
@test "why: the market, else the books, else a job of one's own without a bid" {
  "$LEDGER_FIXTURE" "$DIR/ledger.db"
  cat >"$DIR/slurmctld" <<SH
#!/bin/sh
case \$(cat "$DIR/query") in
*'"verb":"why"'*) echo '{"ok":false,"error":"job 1: no bid","over_or_unknown":true,"cluster":"test"}' ;;
*) exec "$LEDGER_FIXTURE" --answer "$DIR/ledger.db" 1000 "$DIR/query" ;;
esac
SH
  chmod 755 "$DIR/slurmctld"
  export FAKE_SLURM_MODE=command FAKE_SLURM_COMMAND=$DIR/slurmctld
  split why 1234
  [ "$status" -eq 0 ]
  [[ $out == "1234 has ended: COMPLETED at "*" after 01:52:10; charged 38.90 of at most 38.90, on physics (era/1); refunded 8.90.  [ENDED]" ]]
  split why 1240
  [[ $out == *"NODE_FAIL"*"charged 0.00 of at most 12.00"*"node failure is free"*$'\n'"1240 (restart 1) has ended: COMPLETED"* ]]
  [ "$(smarket why 1250_3 --json | jq -c '[.code, (.runs | length), .runs[0].job_id, .runs[0].charged]')" = '["ENDED",1,"1250_3","0.000001"]' ]
  split why 77
  one_line_error
  [ "$err" = "smarket: error: job 1: no bid" ]
  FAKE_SLURM_JOB=77 split why 77
  [ "$status" -eq 0 ]
  [[ $out == "77 carries no bid that the market knows: Slurm alone decides when it starts"*"[UNBID]" ]]
  [ "$(FAKE_SLURM_JOB=77 smarket why 77 --json | jq -r .code)" = UNBID ]
}

@test "no market, no slurmctld" {
  export FAKE_SLURM_MODE=silent
  split prices
  [ "$status" -eq 1 ]
  [[ $err == *"does not answer"* ]]
  export FAKE_SLURM_MODE=down
  split prices
  [ "$status" -eq 1 ]
  [[ $err == *"slurmctld cannot be asked"*"connection refused"* ]]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
}

@test "why, prices, rebid ask what they should" {
  smarket why 12_3 > /dev/null
  [ "$(query)" = '{"job":"12_3","verb":"why"}' ]
  smarket prices -p gpu > /dev/null
  [ "$(query)" = '{"partition":"gpu","verb":"prices"}' ]
  smarket rebid 1234 --budget=50 > /dev/null
  [ "$(query)" = '{"budget":"50","job":"1234","verb":"rebid"}' ]
  smarket rebid 1234 --value=40:2:00:00:4:00:00 > /dev/null
  [ "$(query)" = '{"job":"1234","value":"40:2:00:00:4:00:00","verb":"rebid"}' ]
  for bad in 'why x' 'why 1_' 'why _1' 'why 1_2_3' 'why 99999999999999999999999' 'rebid 1' 'rebid 1 --budget=-5' \
    'rebid 1 --budget=5 --value=4:1:2' 'rebid 1 --value=4:2:1'; do
    # shellcheck disable=SC2086
    split $bad
    [ "$status" -eq 1 ]
    [ -z "$out" ]
    [[ $err == "smarket: error: "* ]]
  done
}

@test "check: good, then a broken market.conf, a missing and a damaged ledger" {
  open_physics
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"last pass 1 s ago"}'
  run smarket check
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *"market.conf  ok"*"ledger       ok"*"sum 0.00"*"market       ok       last pass 1 s ago"* ]]
  [ "$(smarket check --json | jq .ok)" = true ]
  FAKE_SLURM_ANSWER='{"ok":true,"text":"not available","usable":false}' run smarket check
  [ "$status" -eq 1 ]
  [[ $output == *"market       fault    not available"* ]]
  cp "$DIR/market.conf" "$DIR/good.conf"
  echo 'mechanism = "lottery";' >> "$DIR/market.conf"
  run smarket check
  [ "$status" -eq 1 ]
  [[ $output == *"market.conf:3: mechanism: lottery: one of"* ]]
  cp "$DIR/good.conf" "$DIR/market.conf"
  rm "$DIR"/ledger.db*
  run smarket check
  [ "$status" -eq 1 ]
  [[ $output == *"ledger       fault"*"no such database"* ]]
  echo garbage > "$DIR/ledger.db"
  run smarket check
  [ "$status" -eq 1 ]
  [[ $output == *"ledger       fault"* ]]
}

@test "check: what the largest arrays with a bid need of slurm.conf" {
  open_physics
  export FAKE_SLURM_ANSWER='{"ok":true,"text":"fine"}'
  run smarket check
  [ "$status" -eq 0 ]
  [[ $output == *"bids for up to 10000 tasks (max_array_tasks)"* ]]
  [[ $output == *"need MaxArraySize=10001 (it is 1001), MaxJobCount above 10000 (it is 10000) in slurm.conf"* ]]
  echo 'max_array_tasks = 100;' >>"$DIR/market.conf"
  run smarket check
  [ "$status" -eq 0 ]
  [[ $output == *"arrays       ok       bids for up to 100 tasks (max_array_tasks)"* && $output != *MaxArraySize* ]]
  FAKE_SLURM_MAX_ARRAY_SIZE=100 run smarket check
  [ "$status" -eq 0 ]
  [[ $output == *"arrays so large need MaxArraySize=101 (it is 100) in slurm.conf"* ]]
}

@test "solve: bad input is exit code 2, one line on stderr, nothing on stdout" {
  for input in '' '{' '{}' 'null'; do
    status=0
    printf '%s' "$input" | smarket solve era - > "$DIR/out" 2> "$DIR/err" || status=$?
    [ "$status" -eq 2 ]
    [ ! -s "$DIR/out" ]
    [ "$(wc -l < "$DIR/err")" -eq 1 ]
  done
  split solve lottery /dev/null
  [ "$status" -eq 2 ]
  [ -z "$out" ]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
  split solve era "$DIR/none.json"
  [ "$status" -eq 2 ]
  [ -z "$out" ]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
}

@test "output that cannot be written is an error of one line; stderr that cannot is nothing worse" {
  input='{"capacity":10,"amount":5,"others":1}'
  status=0
  smarket solve tycoon-reserve - <<< "$input" > /dev/full 2> "$DIR/err" || status=$?
  [ "$status" -eq 1 ]
  [ "$(cat "$DIR/err")" = "smarket: error: standard output: No space left on device" ]
  status=0
  smarket solve tycoon-reserve - <<< "$input" >&- 2> "$DIR/err" || status=$?
  [ "$status" -eq 1 ]
  [ "$(cat "$DIR/err")" = "smarket: error: standard output: Bad file descriptor" ]
  status=0
  smarket solve lottery - <<< "$input" 2> /dev/full || status=$?
  [ "$status" -eq 2 ]
}

@test "solve: long work says so, on a terminal alone" {
  # Cycles for ever: with the exponent 1 these two never agree.
  cat > "$DIR/endless.json" <<'JSON'
{"alpha": 1, "max_rounds": 1000000000000, "jobs": [
  {"id": "a", "budget": 0.03, "utility": "linear", "weights": [0.64, 0.01]},
  {"id": "b", "budget": 0.25, "utility": "log", "weights": [0.76, 0.02]}]}
JSON
  run script -qec "timeout 4 $SMARKET solve abacus $DIR/endless.json" /dev/null
  [[ $output == *"smarket: solving abacus: 2 s"* ]]
  run timeout 4 "$SMARKET" solve abacus "$DIR/endless.json"
  [ "$status" -eq 124 ]
  [ -z "$output" ]
  echo '{"capacity":10,"amount":5,"others":1}' > "$DIR/short.json"
  run script -qec "$SMARKET solve tycoon-reserve $DIR/short.json" /dev/null
  [[ $output != *solving* ]]
}

@test "solve: an error is one line whatever the file is called" {
  split solve era "$DIR/no"$'\n'"such"
  [ "$status" -eq 2 ]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
}

# The options named in a text, each once, sorted.
options_in() { grep -oE '(^|[^-[:alnum:]])--?[[:alnum:]][-[:alnum:]]*' | grep -oE -- '--?[[:alnum:]].*' | sort -u; }

@test "every option of --help is in the manual page, and the reverse" {
  page=$DIR/page
  # SIZES tells which options of sbatch a bid cannot have.
  sed "s/\\\\h'[^']*'//g" "$PAGES/smarket.1" | sed '/^\.SH SIZES/,/^\.SH OTHER/d; s/\\//g; s/^\.[A-Z]* *//; s/f[BIR]//g' | options_in > "$page"
  {
    smarket --help
    for verb in account 'account add' 'account list' 'account show' balance deposit withdraw transfer refund quote menu submit reserve why \
      "show owners" "show observed" "show classes" "show utility" ask fund 'account income' 'account collect' 'account join' \
      prices rebid learn check solve; do
      # shellcheck disable=SC2086
      smarket $verb --help
      grep -q "$verb" "$PAGES/smarket.1"
    done
  } | sed -n 's/^ *\(-[^ ]*\).*/\1/p' | tr , '\n' | options_in > "$DIR/help"
  grep -qx -- --gpus-per-task "$DIR/help"
  diff "$DIR/help" <(grep -xFf "$DIR/help" "$page")
  missing=$(grep -vxFf "$DIR/help" "$page" || true)
  [ -z "$missing" ] || { echo "in the page only: $missing"; false; }
}

@test "every key of the example is in market.conf(5)" {
  keys=$(sed -n 's/^ *\([a-z_]*\) = .*/\1/p' "$MARKET_SOURCE_DIR/etc/market.conf.example")
  [ "$(wc -w <<< "$keys")" -gt 30 ]
  for key in $keys; do
    tr -d '\\' < "$PAGES/market.conf.5" | grep -q "$key" || { echo "$key is not in the page"; false; }
  done
}

@test "--version and wrong usage" {
  run smarket --version
  [ "$status" -eq 0 ]
  [[ $output == "slurm-market "* ]]
  split frobnicate
  [ "$status" -eq 1 ]
  [ -z "$out" ]
  [ "$(wc -l < "$DIR/err")" -eq 1 ]
  split deposit physics
  [ "$status" -eq 1 ]
  [ -z "$out" ]
}

# Two jobs of 4 CPUs for an hour at 0.50 an hour are worth 2.00 each; times are the zone's, a whole number of weeks later.
@test "learn makes bids of a log, once, and takes them back" {
  cat >"$DIR/log" <<'LOG'
JobID|Account|User|Partition|Submit|Eligible|Start|Elapsed|Timelimit|AllocCPUS|State
1|physics|ada|main|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T10:30:00|00:20:00|01:00:00|4|COMPLETED
2|physics|bob|main|2026-03-03T10:00:00|2026-03-03T11:00:00|2026-03-03T11:00:00|00:20:00|01:00:00|4|FAILED
3|physics|bob|main|2026-03-03T10:00:00|Unknown|Unknown|00:00:00|01:00:00|4|CANCELLED
4|physics|bob|main|2026-01-03T10:00:00|2026-01-03T10:00:00|2026-01-03T10:00:00|00:20:00|01:00:00|4|COMPLETED
LOG
  open_physics >/dev/null
  [ "$(smarket learn --sacct="$DIR/log" --value-per-hour=0.50)" = \
    "2 bids learned, of 8.0 billing-hours in the log; left out: jobs 1 that never ran, 1 older than predictor.history" ]
  bids() { sqlite3 "$DIR/ledger.db" "select strftime('%w', submitted, 'unixepoch') || ' ' || ((earliest - submitted) / 60) || ' ' ||
    ((deadline - earliest) / 60) || ' ' || (duration / 60) || ' ' || tres || ' ' || value from bid order by submitted"; }
  [ "$(bids)" = $'1 0 90 60 cpu=4 2.0\n2 60 60 60 cpu=4 2.0' ]
  # At ten by the clock on the wall, in the past, by less than a week.
  [ "$(TZ=Europe/Berlin date -d "@$(sqlite3 "$DIR/ledger.db" 'select max(submitted) from bid')" +%T)" = 10:00:00 ]
  [ "$(sqlite3 "$DIR/ledger.db" "select max(submitted) < unixepoch() and max(submitted) > unixepoch() - 8 * 86400 from bid")" -eq 1 ]
  [[ $(smarket learn --sacct="$DIR/log" --value-per-hour=0.10) == "0 bids learned"*"; 2 known already"* ]]
  [[ $(bids) == *"2.0"*"2.0" ]]
  [ "$(smarket learn --clear)" = "2 learned bids taken back" ]
  [ "$(sqlite3 "$DIR/ledger.db" 'select count(*) from bid')" -eq 0 ]
  [ "$(smarket learn --clear --json | jq .forgotten)" -eq 0 ]
  smarket check >/dev/null || [[ $(smarket check) == *"books"* ]]
}

@test "learn refuses what it cannot use" {
  open_physics >/dev/null
  echo 'JobID|Submit|Elapsed|AllocCPUS' >"$DIR/empty"
  for arguments in "" "--sacct=$DIR/empty --clear" "--sacct=$DIR/none" "--sacct=$DIR/empty" \
    "--sacct=$DIR/empty --value-per-hour=cheap" "--sacct=$DIR/empty --slack=-1"; do
    # shellcheck disable=SC2086
    split learn $arguments
    one_line_error
  done
}
