#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every client's way to bid, on the clients themselves: the job gets its price and its bill. Ways that are misspelt are
# not silently jobs without a bid. One CPU costs 1.00 for its minute.

load lib/market

setup_file() {
  CLUSTER_NODES=2
  cluster_new
  fixed_rate 60
  cluster_set comment yes
  cluster_start
  open_account physics 1000 games
  ! has_rest || start_slurmrestd
}

teardown_file() {
  cluster_adopt
  cluster_stop
}

setup() { cluster_adopt; }

# Runs CMD as games with the standard error in SAID and the standard output in OUTPUT.
as_games() {
  STATUS=0
  OUTPUT=$(cluster_as games "$@" 2>"$CLUSTER_DIR/run/said") || STATUS=$?
  SAID=$(<"$CLUSTER_DIR/run/said")
}

# The job ran as a bid: one CPU for one minute was paid for, from the account.
billed() {
  wait_settled "$1"
  [[ $(segment "$1") == "settled|COMPLETED|1000000|1000000|0|"* && $(field "$1" 0 account) == physics ]] || {
    echo "job $1: $(segment "$1")" >&2
    return 1
  }
}

# Slurm knows the job, and the market does not.
unbid() { [[ -n $(scontrol show job "$1") && -z $(ledger "select 1 from segment where job_id = $1") ]]; }

# What is said to slurmrestd below is the interface of Slurm 22.05.
has_rest() { [[ $(scontrol -V) == *" 22.05."* ]]; }

# A JSON object as slurmrestd 22.05 wants a job, with MEMBERS (jq) added.
rest_job() {
  jq -n "{script: \"#!/bin/bash\ntrue\n\", job: ({environment: {PATH: \"/bin:/usr/bin\"}, account: \"physics\",
    time_limit: 1, tasks: 1, name: \"rest\", standard_output: \"/dev/null\", current_working_directory: \"/tmp\"} + $1)}"
}

# A slurmrestd of the user's own, as portals start them; with the cluster's mark, so that it ends with the cluster.
start_slurmrestd() {
  local games
  games=$(id -g games)
  cluster_spawn slurmrestd setpriv --reuid games --regid "$games" --clear-groups -- \
    slurmrestd -f "$SLURM_CONF" -a rest_auth/local -s openapi/v0.0.38 "unix:$CLUSTER_DIR/users/games/rest"
  cluster_ready 20 slurmrestd test -S "$CLUSTER_DIR/users/games/rest"
}

# Sets JOB (0 when it was refused), SAID and OUTPUT (the whole answer).
rest_submit() {
  rest_job "$1" >"$CLUSTER_DIR/users/games/job.json"
  OUTPUT=$(cluster_as games curl --silent --unix-socket rest -H 'Content-Type: application/json' \
    --data-binary @job.json http://localhost/slurm/v0.0.38/job/submit)
  JOB=$(jq -r '.job_id // 0' <<<"$OUTPUT")
  SAID=$(jq -r '.job_submit_user_msg // ""' <<<"$OUTPUT")
}

# says PATTERN: what the user read is so (a bash pattern); else everything is shown.
says() {
  # shellcheck disable=SC2053
  [[ $SAID == $1 ]] || {
    printf 'wanted: %s\nsaid: %s\nanswer: %s\n' "$1" "$SAID" "$OUTPUT" >&2
    return 1
  }
}

@test "sbatch, salloc and srun read their own variables, below their options" {
  as_games env SBATCH_BUDGET=5 SLURM_BUDGET=0 sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  [[ $STATUS -eq 0 && $SAID == *"market: accepted for 1.00 credits (physics)"* ]]
  billed "$OUTPUT"
  as_games env SBATCH_VALUE=5:1-00:2-00 sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  billed "$OUTPUT"
  as_games env SBATCH_BUDGET=0.5 sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  [[ $STATUS -ne 0 && $SAID == *"market: needs 1.00, budget is 0.50"* ]]
  as_games env SBATCH_BUDGET=0.5 sbatch --budget=5 --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  billed "$OUTPUT"
  as_games env SLURM_BUDGET=5 SBATCH_BUDGET=0 srun -A physics -n 1 -t 1 bash -c 'echo $SLURM_JOB_ID'
  billed "$OUTPUT"
  as_games env SALLOC_BUDGET=5 salloc -A physics -n 1 -t 1 bash -c 'echo $SLURM_JOB_ID'
  billed "$OUTPUT"
}

@test "the variable goes before the script's #SBATCH line, as Slurm's own do" {
  printf '%s\n' '#!/bin/bash' '#SBATCH --budget=0.5' true >"$CLUSTER_DIR/users/games/script"
  as_games sbatch --parsable -A physics -n 1 -t 1 -o /dev/null script
  [[ $STATUS -ne 0 && $SAID == *"budget is 0.50"* ]]
  as_games env SBATCH_BUDGET=5 sbatch --parsable -A physics -n 1 -t 1 -o /dev/null script
  billed "$OUTPUT"
}

@test "a variable with something wrong in it is refused by name" {
  as_games env SBATCH_BUDGET=five sbatch -A physics -n 1 -t 1 --wrap true
  [[ $STATUS -ne 0 && $SAID == *"market: --budget takes credits such as 40"* && $SAID == *"(five)"* ]]
}

@test "--export loses no bid" {
  local export
  for export in NONE NIL ALL PATH; do
    as_games sbatch --export=$export --budget=5 --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
    billed "$OUTPUT"
  done
  as_games env SBATCH_BUDGET=5 sbatch --export=NONE --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  billed "$OUTPUT"
}

@test "a misspelt variable is warned of, and the job goes without a bid" {
  as_games env SBATCH_BUDGTE=5 sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  [[ $STATUS -eq 0 && $SAID == "sbatch: market: nothing reads SBATCH_BUDGTE; bids are read from SBATCH_BUDGET"* ]]
  unbid "$OUTPUT"
  as_games env SRUN_BUDGET=5 srun -A physics -n 1 -t 1 true
  [[ $STATUS -eq 0 && $SAID == "srun: market: nothing reads SRUN_BUDGET;"* ]]
}

@test "a submit host without the plugin: its variable is warned of" {
  sed '/^PlugStackConfig/d' "$SLURM_CONF" >"$CLUSTER_DIR/etc/plain.conf"
  cp "$CLUSTER_DIR/etc/plain.conf" "$CLUSTER_DIR/users/games/slurm.conf"
  echo "PlugStackConfig=/dev/null" >>"$CLUSTER_DIR/users/games/slurm.conf"
  as_games env SLURM_CONF="$CLUSTER_DIR/users/games/slurm.conf" SBATCH_BUDGET=5 \
    sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --wrap true
  [[ $STATUS -eq 0 && $SAID == *"market: SBATCH_BUDGET is in the job's environment, but the client that submitted it does not read it"* ]]
  unbid "$OUTPUT"
}

@test "qsub: #SBATCH lines in its script, or the variable" {
  printf '%s\n' '#!/bin/bash' '#PBS -N torque' '#SBATCH --budget=5' true >"$CLUSTER_DIR/users/games/pbs"
  chmod +x "$CLUSTER_DIR/users/games/pbs"
  as_games qsub -A physics -l nodes=1,walltime=0:01:00 -o /dev/null -e /dev/null pbs
  [[ $STATUS -eq 0 && $OUTPUT =~ ^[0-9]+$ ]]
  billed "$OUTPUT"
  as_games env SBATCH_BUDGET=5 qsub -A physics -l nodes=1,walltime=0:01:00 -o /dev/null -e /dev/null -b y true
  [[ $STATUS -eq 0 && $OUTPUT =~ ^[0-9]+$ ]]
  billed "$OUTPUT"
}

@test "snakemake: --cluster with a budget from each rule's resources" {
  snakemake --help | grep -qE -- '--cluster[ ,]' || skip "this snakemake has no --cluster"
  local job
  cat >"$CLUSTER_DIR/users/games/Snakefile" <<'END'
rule all:
    output: "made"
    resources: budget=5
    shell: "echo $SLURM_JOB_ID >{output}"
END
  as_games snakemake --cores 1 --jobs 1 --latency-wait 20 --cluster \
    "sbatch --parsable -A physics -n 1 -t 1 -o /dev/null --budget={resources.budget}"
  [[ $STATUS -eq 0 ]] || says ""
  job=$(<"$CLUSTER_DIR/users/games/made")
  billed "$job"
}

@test "perl: spank_job_env of libslurm-perl" {
  cat >"$CLUSTER_DIR/users/games/submit.pl" <<'END'
use Slurm;
my $slurm = Slurm::new();
my $answer = $slurm->submit_batch_job({
  script => "#!/bin/bash\ntrue\n", account => "physics", time_limit => 1, num_tasks => 1, min_nodes => 1,
  name => "perl", work_dir => "/tmp", std_out => "/dev/null", user_id => $<, group_id => $( + 0,
  environment => {PATH => "/bin:/usr/bin"},
  spank_job_env => {"_SLURM_SPANK_OPTION_market_budget" => "5"},
}) or die $slurm->strerror() . "\n";
print "$answer->{job_id}\n";
END
  as_games perl submit.pl
  [[ $STATUS -eq 0 && $OUTPUT =~ ^[0-9]+$ ]] || says ""
  billed "$OUTPUT"
}

@test "slurmrestd: the bid stands in the comment, and is cut out of it" {
  has_rest || skip "needs the REST interface of 22.05"
  rest_submit '{comment: "project x; market: budget=5"}'
  says "*market: accepted for 1.00 credits (physics)*"
  [[ $(scontrol show job "$JOB" -o) == *" Comment=project x "* ]]
  billed "$JOB"
  rest_submit '{comment: "market: value=5:1-00:2-00"}'
  [[ $(scontrol show job "$JOB" -o) != *" Comment="* ]]
  billed "$JOB"
}

@test "slurmrestd: a bid too low and a slip are refused, and what only looks like a bid is told" {
  has_rest || skip "needs the REST interface of 22.05"
  local comment
  for comment in 'market: budget=0.5' 'market budget=5'; do # of a refusal slurmrestd 22.05 passes on the code alone
    rest_submit "{comment: \"$comment\"}"
    [[ $JOB -eq 0 && $(jq '.errors[0].error_code' <<<"$OUTPUT") -eq 2050 ]]
  done
  rest_submit '{comment: "budget=5"}'
  says "market: --comment: 'budget=5' is no bid, so the job goes without one; write market: budget=CREDITS*"
  unbid "$JOB"
  rest_submit '{environment: {SBATCH_BUDGET: "5"}}'
  says "market: SBATCH_BUDGET is in the job's environment, but the client*"
  unbid "$JOB"
}

@test "a comment's bid: an array's tasks each, one bid only, nothing left for others to read" {
  bid games --array=0-1 -A physics -n 1 -t 1 --comment='market: budget=5' --wrap true
  [[ $SAID == *"market: 2 tasks accepted for 2.00 credits"* && $(squeue -h -r -j "$JOB" -o %k) != *budget* ]]
  cluster_wait 60 eval "[[ \$(ledger \"select count(*) from segment where array_job_id = $JOB and charged = 1000000\") -eq 2 ]]"
  refused "*'market: budget=6': the job has another bid already" games --budget=5 --comment='market: budget=6' -A physics -n 1 -t 1 --wrap true
  refused "*a bid there is one of" games --comment='market: budget=5; market: budget=6' -A physics -n 1 -t 1 --wrap true
  refused "*--budget=five: " games --comment='market: budget=five' -A physics -n 1 -t 1 --wrap true
  accepted games -A physics -n 1 -t 1 --begin=now+5minutes --budget=5 --wrap true
  as_games scontrol update "jobid=$JOB" comment='market: budget=9'
  [[ $STATUS -ne 0 ]]
  [[ $(scontrol show job "$JOB" -o) != *Comment=* ]]
  cluster_as games scontrol update "jobid=$JOB" comment='seen by many'
  scancel "$JOB"
}

@test "a site that takes no bids from comments says so" {
  cluster_reset comment no
  refused "*'market: budget=5': this site takes no bids from comments; give --budget, --budget-rate or --value" \
    games -A physics -n 1 -t 1 --comment='market: budget=5' --wrap true
  refused "*'market: budgte=5': a bid is given with --budget, --budget-rate or --value" \
    games -A physics -n 1 -t 1 --comment='market: budgte=5' --wrap true
  bid games -A physics -n 1 -t 1 --comment='budget=5' --wrap true
  [[ $STATUS -eq 0 && $SAID == "sbatch: market: --comment: 'budget=5' is no bid, so the job goes without one; give --budget, --budget-rate or --value" ]]
  unbid "$JOB"
  bid games -A physics -n 1 -t 1 --comment='stock market, budgets of 1929' --wrap true
  [[ $STATUS -eq 0 && -z $SAID ]]
}

@test "quiet: an acceptance is not told, a refusal and a warning are" {
  cluster_reset quiet accepted
  bid games -A physics -n 1 -t 1 --budget=5 --wrap true
  [[ $STATUS -eq 0 && -z $SAID ]]
  billed "$JOB"
  refused "needs 1.00, budget is 0.50" games -A physics -n 1 -t 1 --budget=0.5 --wrap true
  bid games -A physics -n 1 -t 1 --comment='budget=5' --wrap true
  [[ $STATUS -eq 0 && $SAID == *"is no bid"* ]]
}

@test "the books balance" {
  cluster_wait 90 no_liens
  all_is_well
}
