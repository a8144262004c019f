# SPDX-License-Identifier: GPL-2.0-or-later
# Abacus, Fig. 14 on a real Slurm: service levels against orders by deadline. Sourced by mapreduce, whose folder and points it uses.
#
# 20 jobs of 8 to 32 of 64 CPUs for 30 s with a limit of a minute; so many come in a time that they ask for LOAD times the CPUs;
# deadlines 70 to 190 s after the submission, budgets 50 to 200.

# levels_list LOAD: lines "AT CPUS BUDGET DEADLINE_AFTER"
levels_list() {
  draws 14 "for (i = 1; i <= 20; ++i) { cpus = 8 + int(draw() * 25); printf \"%.1f %d %d %d\n\", work / 64 / $1, cpus, 50 + draw() * 150, 70 + draw() * 120; work += cpus * 30 }"
}

# levels_play NAME RULE: done has "BUDGET MET" of each job of the list.
levels_play() {
  local mine=$folder/$1 begin at cpus budget after job number=0
  CLUSTER_NODES=4 CLUSTER_CPUS=16 CLUSTER_SLURM_EXTRA='MinJobAge=7200'
  cluster_new
  trap cluster_stop EXIT
  cluster_set mechanism "$2"
  [[ $2 != abacus ]] || cluster_set abacus.slo deadline
  cluster_set planning.auction_period 0:01
  cluster_start
  open_account physics 1000000 "${users[@]}"
  begin=$((EPOCHSECONDS + 2))
  while read -r at cpus budget after; do
    sleep "$(awk -v b="$begin" -v at="$at" -v now="$EPOCHREALTIME" 'BEGIN { d = b + at - now; print (d > 0 ? d : 0) }')"
    number=$((number + 1))
    job=$(cluster_as "${users[number % 5]}" sbatch --parsable -o /dev/null -A physics -n "$cpus" -t 1 --budget="$budget" \
      --deadline="$(date -d "@$((EPOCHSECONDS + after))" +%Y-%m-%dT%H:%M:%S)" --wrap 'exec sleep 30' 2>>"$mine/said" </dev/null) || job=-
    echo "$budget $((EPOCHSECONDS + after)) $job" >>"$mine/submitted"
  done <"$mine/list"
  cluster_wait 600 eval '[[ -z $(squeue -h -o %A) ]]'
  while read -r budget after job; do
    scontrol show job "$job" -o 2>/dev/null | grep -q 'JobState=COMPLETED' && echo "$budget 1" || echo "$budget 0"
  done <"$mine/submitted" >"$mine/done"
  all_is_well
}

levels_points() {
  local load rule
  for load in $loads14; do
    for rule in abacus edf; do
      mkdir -p "$folder/f14-$load-$rule"
      levels_list "$load" >"$folder/f14-$load-$rule/list"
      rm -f "$folder/f14-$load-$rule/submitted"
      while [[ $(jobs -rp | wc -l) -ge $at_once ]]; do wait -n || failed=1; done
      (levels_play "f14-$load-$rule" "$rule") >"$folder/f14-$load-$rule.out" 2>&1 &
    done
  done
}

profit() { awk '{ sum += $1 * $2 } END { print sum + 0 }' "$folder/$1/done"; }

levels_report() {
  local load status=0 ours theirs
  echo '## Fig. 14: profit (budgets of jobs that met their deadline), Abacus with levels, edf, Abacus to edf'
  for load in $loads14; do
    is_done "f14-$load-abacus" && is_done "f14-$load-edf" || { status=1 && continue; }
    ours=$(profit "f14-$load-abacus") theirs=$(profit "f14-$load-edf")
    line "load $load" "$ours $theirs $(awk -v a="$ours" -v e="$theirs" 'BEGIN { printf "%.2f", e ? a / e : 1 }')"
    awk -v a="$ours" -v e="$theirs" 'BEGIN { exit !(a >= 0.9 * e) }' || status=1
  done
  return "$status"
}
