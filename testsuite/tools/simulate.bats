#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# smarket simulate: logs, options, outputs and their errors.

setup() {
  PATH=$TOOLS_DIR/smarket:$PATH
  cd "$BATS_TEST_TMPDIR"
  # Four cores. Job 1 holds three until 10 (limit 20), job 2 wants four, job 3 (limit 30) would delay it, job 4 would not.
  cat >small.swf <<'END'
; MaxProcs: 4
; MaxNodes: 2
1 0 -1 10 3 -1 -1 3 20 -1 1 1 1 1 1 1 -1 -1
2 0 -1 5 4 -1 -1 4 5 -1 1 2 1 1 1 1 -1 -1
3 1 -1 30 1 -1 -1 1 30 -1 1 3 1 1 1 1 -1 -1
4 1 -1 9 1 -1 -1 1 19 -1 1 3 1 1 1 1 -1 -1
END
}

refuses() {
  local wanted=$1
  shift
  local status=0
  smarket simulate "$@" >out 2>err || status=$?
  cat out err
  [[ $status == 1 && ! -s out && $(wc -l <err) == 1 && $(<err) == *"$wanted"* ]]
}

@test "starts of an example by hand, in the table of jobs" {
  smarket simulate --swf=small.swf --mechanism=fifo,easy --jobs=jobs.csv >table
  [[ $(cut -d, -f1,2,9,10 jobs.csv) == "mechanism,job,start,end
fifo,1,0,10
fifo,2,10,15
fifo,3,15,45
fifo,4,15,24
easy,1,0,10
easy,2,10,15
easy,3,15,45
easy,4,1,10" ]]
  grep -qE '^fifo +4 +4 ' table
  # 30 + 20 + 30 + 9 core-seconds of 4 cores in 45 s
  grep -qE '^easy +4 +4 +0 +0 +49\.4 %' table
}

@test "the same as JSON, with what the log was" {
  sed '4i1 2 3' small.swf | gzip >bad.swf.gz
  smarket simulate --swf=bad.swf.gz --mechanism=easy --json >out 2>err
  [[ $(jq -c '.log.bad_lines' out) == '[{"first_line":4,"kind":"3 fields instead of 18","lines":1}]' ]]
  [[ $(jq -c '.mechanisms[0] | [.mechanism, .jobs, .completed, .wait_s.mean, .last_end]' out) == '["easy",4,4,6,45]' ]]
  grep -q '^smarket: 1 bad line left out: 3 fields instead of 18 (first: line 4)$' err
}

@test "each decision is a line of JSON that tells the nodes" {
  smarket simulate --swf=small.swf --mechanism=easy --decisions=lines >/dev/null
  [[ $(jq -c '[.time, .job, .decision, .cores]' lines) == '[0,"1","start",{"n1":2,"n2":1}]
[1,"4","start",{"n2":1}]
[10,"2","start",{"n1":2,"n2":2}]
[15,"3","start",{"n1":1}]' ]]
}

@test "a log of sacct, with and without the names of its columns" {
  printf '%s\n' '7|2026-03-01T10:00:00|00:10:00|2|COMPLETED' '7.batch|2026-03-01T10:00:00|00:10:00|2|COMPLETED' \
    '8|2026-03-01T10:00:00|00:00:00|2|PENDING' >bare
  { echo 'JobID|Submit|Elapsed|NCPUS|State' && cat bare; } >named
  smarket simulate --sacct=named --nodes=1x2 --json >one 2>/dev/null
  smarket simulate --sacct=bare --fields=jobid,submit,elapsed,ncpus,state --nodes=1x2 --json >two 2>/dev/null
  cmp one two
  [[ $(jq -c '[.log.jobs, .log.steps, .log.unfinished, .mechanisms[0].completed]' one) == '[1,1,1,1]' ]]
  refuses '--nodes: the log does not say' --sacct=named
}

@test "the same seed gives the same bytes, another one other values" {
  local run
  for run in 1 2; do smarket simulate --swf=small.swf --seed=a --slack=1..3 --jobs=$run.csv --decisions=$run.json >$run.txt; done
  cmp 1.csv 2.csv && cmp 1.json 2.json && cmp 1.txt 2.txt
  smarket simulate --swf=small.swf --seed=b --slack=1..3 --jobs=3.csv >/dev/null
  ! cmp -s 1.csv 3.csv
}

# 800 an hour buy all 8 cores at 100: 960 CPU-seconds take 120 s and cost 26.67; first_fit runs the job of the log, 300 s on two.
@test "bids for work take the size that they pay for" {
  printf '%s\n' '1 0 -1 300 2 -1 -1 2 600 -1 1 1 1 1 1 1 -1 -1' >one.swf
  echo '1,800;cpu:16:00;cpu:1-8' >bids
  echo 'database = "/x"; mechanism = "dva"; prices = { floor = "100"; fixed = "100"; cap = "1000"; };' >market.conf
  smarket simulate --swf=one.swf --nodes=2x8 --bids=bids --market-conf=market.conf --mechanism=dva,first_fit --jobs=jobs.csv >table
  [[ $(cut -d, -f1,6,9,10,19 jobs.csv) == "mechanism,cores,start,end,charged
dva,8,"*",26.666667
first_fit,2,"* ]] || { cat jobs.csv && false; }
  awk -F, 'NR > 1 {print $10 - $9}' jobs.csv | xargs | grep -qx '120 300'
  echo '1,800;cpu:16:00' >bids
  refuses 'not RATE;WORKLOAD;RANGE[;DEADLINE]' --swf=one.swf --nodes=2x8 --bids=bids --strict --mechanism=dva
}

@test "budgets and deadlines of --bids decide what was served" {
  printf '%s\n' '1,4,10' '2,10,14' '3,2' '4,1' >bids
  smarket simulate --swf=small.swf --mechanism=easy --bids=bids --json >out
  [[ $(jq -c '.mechanisms[0] | [.asked_value, .served_value, .late]' out) == '[17,7,1]' ]]
}

@test "--first, --until and --scale-load" {
  [[ $(smarket simulate --swf=small.swf --mechanism=fifo --first=2 --json | jq .mechanisms[0].jobs) == 2 ]]
  [[ $(smarket simulate --swf=small.swf --mechanism=fifo --until=0:12 --json | jq -c '.mechanisms[0] | [.completed, .unfinished]') == '[1,3]' ]]
  sed -i 's/^3 1 /3 60 /' small.swf
  smarket simulate --swf=small.swf --mechanism=fifo --scale-load=2 --slack=3 --jobs=jobs.csv >/dev/null
  [[ $(awk -F, '$2 == 3 { print $7, $17 }' jobs.csv) == '30 120' ]]
}

@test "a node that fails kills what runs there" {
  printf '5,n2,fail\n7,n2,resume\n' >events
  smarket simulate --swf=small.swf --mechanism=fifo --node-events=events --jobs=jobs.csv >/dev/null
  # Job 1 began on both nodes. It comes behind the others: job 2 runs from 7 to 12, then job 4 on one core to 21.
  [[ $(awk -F, '$2 == 1 { print $9, $10, $14 }' jobs.csv) == '21 31 1' ]]
}

# One core. Job 1 gets it for its limit of an hour at 0.10 and ends early; job 2 offers too little; job 3 is planned behind
# job 1 and moves up when that ends. The price is the floor, so each owes what it ran: 600 s of 3600 for 0.10, 900 of 7200 for 0.20.
one_core() {
  cat >one.swf <<'END'
; MaxProcs: 1
; UnixStartTime: 1700000000
1 0 -1 600 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1
2 1 -1 600 1 -1 -1 1 3600 -1 1 2 2 1 1 1 -1 -1
3 2 -1 900 1 -1 -1 1 7200 -1 1 1 3 1 1 1 -1 -1
END
  printf '%s\n' 1,1 2,0.09 3,5 >bids
}

@test "a market sells, refuses, starts earlier and bills" {
  one_core
  smarket simulate --swf=one.swf --bids=bids --mechanism=first_fit --jobs=jobs.csv --decisions=lines --json >out
  [[ $(jq -c '.mechanisms[0] | [.mechanism, .completed, .refused, .revenue, .complaints]' out) == '["first_fit",2,1,0.041667,[]]' ]]
  [[ $(awk -F, 'NR > 1 { print $2, $15, $19 }' jobs.csv) == '1 COMPLETED 0.016667
2 REFUSED 0.00
3 COMPLETED 0.025' ]]
  local ended started
  ended=$(awk -F, '$2 == 1 { print $10 }' jobs.csv)
  started=$(awk -F, '$2 == 3 { print $9 }' jobs.csv)
  ((started >= ended && started <= ended + 2))
  [[ $(jq -r 'select(.decision == "refuse") | .text' lines) == *'needs 0.10, budget is 0.09'* ]]
  [[ $(jq -r 'select(.decision == "accept" and .job == "1") | .text' lines) == *'accepted for 0.10 credits (group1)'* ]]
}

# Job 1 pays 0.0167 of 1 and job 3 0.025 of 5, a mean of 1.1 %. At the floor of 0.10 a core-hour their 1500 s would have brought
# that, 0.0417. Job 2 came at 22:13.
@test "what a market took of budgets and of what it expected, and what it refused when" {
  one_core
  smarket simulate --swf=one.swf --bids=bids --mechanism=first_fit --json >out
  [[ $(jq -c '.mechanisms[0] | [.payment_to_budget, .income_to_expectation, .refused_value_by_hour[22]] | map(. * 1000 | round)' out) == '[11,1000,90]' ]]
  smarket simulate --swf=one.swf --bids=bids --mechanism=first_fit,fifo >table
  grep -qE '^first_fit +1\.1 % +100\.0 % +0\.09 +22:00$' table
  [[ $(smarket simulate --swf=one.swf --mechanism=fifo --json | jq -c '.mechanisms[0] | [.payment_to_budget, .income_to_expectation]') == '[null,null]' ]]
}

@test "every mechanism runs on the same jobs, and gives the same bytes again" {
  one_core
  local all=era,first_fit,on_demand,contracts,abacus,tycoon,dva,edf,earliest_finish,random run
  for run in 1 2; do
    smarket simulate --swf=one.swf --mechanism=$all,easy --sigmoid=1..2:3..6 --jobs=$run.csv --decisions=$run.json >$run.txt
  done
  cmp 1.csv 2.csv && cmp 1.json 2.json && cmp 1.txt 2.txt
  # A line for each, the ten markets once more in a table of their own, and two lines above each table.
  [[ $(wc -l <1.txt) == 26 ]]
}

@test "accounts have --credits where it is given" {
  one_core
  smarket simulate --swf=one.swf --bids=bids --mechanism=first_fit --credits=0.15 --json >out
  [[ $(jq -c '.mechanisms[0] | [.completed, .refused, .revenue]' out) == '[1,2,0.016667]' ]]
}

# At 0.20 job 1 owes 0.20 for its 600 s of 3600 and, of the rest, the half above the floor: 0.033333 + 0.083333. Job 3 owes 0.05 + 0.175
# of 0.40. With "reserved" both owe all.
@test "the site's own settings" {
  one_core
  printf 'database = "/nowhere/ledger.db";\nmechanism = "first_fit";\nprices: { fixed = "0.2"; cap = "2.0"; };\n' >market.conf
  smarket simulate --swf=one.swf --bids=bids --market-conf=market.conf --mechanism=site --json >out
  [[ $(jq -c '.mechanisms[0] | [.mechanism, .revenue]' out) == '["site",0.341667]' ]]
  echo 'charge = "reserved";' >>market.conf
  smarket simulate --swf=one.swf --bids=bids --market-conf=market.conf --mechanism=site --json >out
  [[ $(jq -c '.mechanisms[0] | [.mechanism, .revenue]' out) == '["site",0.6]' ]]
  refuses '--mechanism: "site": allowed are fifo' --swf=one.swf --mechanism=site
  refuses '--market-conf: ' --swf=one.swf --market-conf=/does/not/exist
  refuses '--credits: ' --swf=one.swf --credits=-1
}

@test "a log without a date is simulated by a market too" {
  smarket simulate --swf=small.swf --mechanism=era --slack=30 --jobs=jobs.csv --json >out
  [[ $(jq '.mechanisms[0].completed' out) -ge 1 ]]
  [[ $(awk -F, '$2 == 1 { print $7, $9 < 200 }' jobs.csv) == '0 1' ]]
}

# Node m has four cores, the n's two each; only the long queue may use m.
@test "the machine of a slurm.conf, of a JSON file and of scontrol" {
  printf '%s\n' 'NodeName=n[1-2] CPUs=2' 'NodeName=m Sockets=2 CoresPerSocket=2 Gres=gpu:2' 'PartitionName=main Nodes=n[1-2] Default=YES' \
    'PartitionName=long Nodes=ALL' >slurm.conf
  cat >machine.json <<'END'
{"nodes": [{"names": "n[1-2]", "cores": 2}, {"names": "m", "cores": 4, "gpus": 2}],
 "partitions": [{"name": "main", "nodes": "n[1-2]", "default": true}, {"name": "long", "nodes": "ALL"}]}
END
  mkdir bin
  cat >bin/scontrol <<'END'
#!/bin/sh
case $3 in
  nodes) printf '%s\n' 'NodeName=n1 CPUTot=2' 'NodeName=n2 CPUTot=2' 'NodeName=m CPUTot=4 Gres=gpu:2' ;;
  partitions) printf '%s\n' 'PartitionName=main Default=YES Nodes=n[1-2]' 'PartitionName=long Default=NO Nodes=m,n[1-2]' ;;
esac
END
  chmod +x bin/scontrol
  printf '%s\n' 'JobID|Submit|Elapsed|NCPUS|State|Partition' '1|2026-03-01T10:00:00|00:10:00|4|COMPLETED|main' \
    '2|2026-03-01T10:00:00|00:10:00|4|COMPLETED|long' '3|2026-03-01T10:00:00|00:10:00|5|COMPLETED|main' >log
  smarket simulate --sacct=log --slurm-conf=slurm.conf --mechanism=fifo --decisions=lines --json >1 2>err
  smarket simulate --sacct=log --machine=machine.json --mechanism=fifo --json >2 2>/dev/null
  PATH=$PWD/bin:$PATH smarket simulate --sacct=log --from-slurm --mechanism=fifo --json >3 2>/dev/null
  cmp 1 2 && cmp 1 3
  grep -q '1 job that the machine cannot hold' err
  [[ $(jq -c '[.machine, .mechanisms[0].wait_s.mean]' 1) == '[{"cores":8,"nodes":3},0]' ]]
  [[ $(jq -c .cores lines) == '{"n1":2,"n2":2}
{"m":4}' ]]
  refuses '--nodes, --slurm-conf, --machine and --from-slurm: give one machine' --sacct=log --nodes=1x4 --from-slurm
  refuses '--slurm-conf: /does/not/exist: No such file' --sacct=log --slurm-conf=/does/not/exist
  sed -i 's/cores/core/' machine.json
  refuses '--machine: machine.json: "core" is no key here' --sacct=log --machine=machine.json
  printf '#!/bin/sh\necho "slurm_load_node error: Unable to contact slurm controller"; exit 1\n' >bin/scontrol
  PATH=$PWD/bin:$PATH refuses '--from-slurm: scontrol: slurm_load_node error' --sacct=log --from-slurm
}

@test "workloads of the papers come with machine and bids" {
  local name
  for name in era:60 abacus tycoon:200 contracts:100 dva:100; do
    smarket simulate --generate=$name --mechanism=easy --json >out
    [[ $(jq '.mechanisms[0] | .completed > 50 and .asked_value > 0 and .served_value <= .asked_value' out) == true ]]
  done
  refuses '--generate: "best": allowed are era, abacus, tycoon, contracts, dva' --generate=best
  refuses '--slack: the jobs of --generate have bids of their own' --generate=dva --slack=2
  refuses '--swf and --generate: give one log' --swf=small.swf --generate=dva
}

@test "the bids of a ledger, and samples of MapReduce jobs" {
  "$LEDGER_FIXTURE" books.db 1700000000
  refuses 'no job of the log can be simulated' --ledger=books.db --nodes=1x8
  sqlite3 books.db "INSERT INTO bid (id, submitted, earliest, deadline, duration, tres, value, partition, account, uid, accepted, price, mechanism, cluster)
    VALUES ('refused:test:1:1000', 1699990000, 1699990000, 1699999999, 600, 'cpu=4', 7.5, 'main', 'physics', 1000, 0, 0, 'era/1', 'test')"
  smarket simulate --ledger=books.db --nodes=1x8 --mechanism=fifo --jobs=jobs.csv >/dev/null
  [[ $(tail -n 1 jobs.csv | cut -d, -f3-7,11,16,17) == 'uid1000,physics,main,4,1699990000,600,7.50,1699999999' ]]
  refuses 'no job of the log can be simulated' --ledger=books.db --cluster=other --nodes=1x8
  refuses '--ledger: ' --ledger=/does/not/exist --nodes=1x8
  printf 'job0\t49\t49\t256000000\t0\t64000000\n' >sample.tsv
  smarket simulate --mapreduce=sample.tsv --nodes=4x1 --mechanism=fifo --jobs=jobs.csv >/dev/null
  [[ $(tail -n 1 jobs.csv | cut -d, -f6,7,11) == '2,49,10' ]]
  refuses '--nodes: the log does not say' --mapreduce=sample.tsv
}

# The terminal is one that script(1) makes. A bar comes after 0.2 s: the run must take seconds on the
# fastest machine.
@test "a terminal gets a bar that is wiped away in the end" {
  command -v script >/dev/null || skip "script is not installed"
  awk 'BEGIN { print "; MaxProcs: 1000"; for (i = 1; i <= 1000000; i++) print i, i * 6, -1, 5000, 1, -1, -1, 1, 6000, -1, 1, i % 9, 1, 1, 1, 1, -1, -1 }' >large.swf
  timeout 60 script -qec "smarket simulate --swf=large.swf --mechanism=conservative" seen >/dev/null </dev/null 3>&-
  tr '\r' '\n' <seen >lines
  grep -qaE '^.\[Kconservative \[#*\.*\] +[0-9]+ %  [0-9,]+/s  [0-9]+:[0-9]{2} left' lines
  # What comes behind the last bar wipes it away.
  grep -aE -A 1 '^.\[Kconservative ' lines | tail -n 1 | grep -qaE '^.\[K(MECHANISM|$)'
}

@test "bad options are refused with one line that says what is allowed" {
  refuses 'give one log'
  refuses '--swf and --sacct: give one log' --swf=small.swf --sacct=small.swf
  refuses '--cluster: only with --sacct and --ledger' --swf=small.swf --cluster=c
  refuses '/does/not/exist: No such file' --swf=/does/not/exist
  refuses '--fields: only with --sacct' --swf=small.swf --fields=jobid
  refuses '--nodes: "8": write COUNTxCORES' --swf=small.swf --nodes=8
  refuses '--mechanism: "best": allowed are fifo, easy' --swf=small.swf --mechanism=best
  refuses '--value-per-hour: "dear": allowed are lognormal(M,S)' --swf=small.swf --value-per-hour=dear
  refuses '--slack: "5..2": allowed are' --swf=small.swf --slack=5..2
  refuses '--sigmoid: "1": write DROP:ZERO' --swf=small.swf --sigmoid=1
  refuses '--slack and --sigmoid' --swf=small.swf --sigmoid=1:2 --slack=2
  refuses '--scale-load: 0: allowed are' --swf=small.swf --scale-load=0
  refuses '--first: -1: allowed is' --swf=small.swf --first=-1
  refuses '--until' --swf=small.swf --until=soon
  refuses '--jobs: /does/not/exist: No such file' --swf=small.swf --jobs=/does/not/exist
  sed 3q small.swf >wide.swf
  refuses 'none ran, or the machine is too small' --swf=wide.swf --nodes=1x2
  echo '5,n9,fail' >events
  refuses '--node-events: events: line 1: a node that the machine does not have' --swf=small.swf --node-events=events
  sed -i '3i1 2 3' small.swf
  refuses 'small.swf: line 3: 3 fields instead of 18 (--strict; 1 lines are bad)' --swf=small.swf --strict
}

@test "a full disk is told" {
  run smarket simulate --swf=small.swf --jobs=/dev/full
  [[ $status == 1 && $output == *'/dev/full: No space left on device'* ]]
}

@test "Ctrl-C writes what was done" {
  awk 'BEGIN { print "; MaxProcs: 1000"; for (i = 1; i <= 400000; i++) print i, i, -1, 5000, 1, -1, -1, 1, 6000, -1, 1, i % 9, 1, 1, 1, 1, -1, -1 }' >large.swf
  smarket simulate --swf=large.swf --mechanism=conservative,easy --decisions=lines --json >out 2>err 3>&- &
  local simulation=$! status=0
  until [[ -s lines ]]; do sleep 0.1; done
  kill -INT "$simulation"
  wait "$simulation" || status=$?
  [[ $status == 130 ]]
  grep -q 'interrupted: conservative until' err
  [[ $(jq -c '[.mechanisms | length, .[0].whole]' out) == '[1,false]' ]]
}

@test "a pipe gets no bar" {
  smarket simulate --swf=small.swf 2>err >/dev/null
  [[ ! -s err ]]
}
