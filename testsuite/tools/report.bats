#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# smarket simulate --report: one page, bounded and safe to open, that Chromium draws. Screenshots are left in the build tree.

setup() {
  PATH=$TOOLS_DIR/smarket:$PATH
  cd "$BATS_TEST_TMPDIR"
  # 300 jobs of ten accounts on 8 nodes of 4 cores; names as somebody would choose who wants to break out of the page.
  awk 'BEGIN {
    srand(3); split("physics|chemistry|</script><script>stolen=1</script>|<b>bold</b>|<img src=x onerror=stolen=1>|biology|Ökologie & Co|{{data}}|-->|math", names, "|")
    print "JobID|Submit|Elapsed|NCPUS|State|Account|User|Partition|Timelimit"
    for (i = 1; i <= 300; i++) {
      time = 36000 + i * 220; run = 300 + int(rand() * 7000)
      printf "%d|2026-03-0%dT%02d:%02d:%02d|%02d:%02d:%02d|%d|COMPLETED|%s|user%d|%s|%d:00\n", i, 2 + int(time / 86400), int(time / 3600) % 24,
        int(time / 60) % 60, time % 60, int(run / 3600), int(run / 60) % 60, run % 60, 1 + int(rand() * 12), names[1 + i % 10], i % 7,
        i % 3 ? "main" : "long", 10 + int(run / 60) }
  }' >log
}

needs_report() {
  smarket simulate --sacct=log --nodes=8x4 --mechanism=fifo --report=/dev/null >/dev/null 2>err && return
  grep -q '^smarket: error: --report: this smarket was built without uPlot' err
  skip "this build has no uPlot"
}

page_data() { sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"; }

@test "all jobs, waits and bills of a run are in the page's data" {
  needs_report
  smarket simulate --sacct=log --nodes=8x4 --mechanism=easy,first_fit --slack=1..9 --jobs=jobs.csv --json --report=page.html >out
  page_data page.html >data
  local mechanism
  for mechanism in easy first_fit; do
    local jobs done wait charged
    read -r jobs done wait charged < <(jq -r --arg name $mechanism '.mechanisms[] | select(.mechanism == $name) | .groups |
      "\(map(.jobs) | add) \(map(.done) | add) \(map(.wait) | add) \(map(.charged) | add)"' data)
    awk -F, -v name=$mechanism -v jobs="$jobs" -v done="$done" -v wait="$wait" -v charged="$charged" '
      $1 == name { ++j; if (/COMPLETED/) { ++d; w += $13 } c += $NF }
      END { exit !(j == jobs && d == done && w == wait && c - charged < 0.2 && charged - c < 0.2) }' jobs.csv
  done
  [[ $(jq '(.plan.jobs | length) == 300 and .plan.share == 1' data) == true ]]
  # Every core-second of the series, times in steps, is one of a job that ran.
  [[ $(jq '.timeline.step as $step | .mechanisms[0].groups | (map(.busy[1:] | add) | add) * $step / 10 / (map(.core_s) | add) |
    . > 0.99 and . < 1.01' data) == true ]]
}

@test "names of accounts cannot leave the data" {
  needs_report
  smarket simulate --sacct=log --nodes=8x4 --mechanism=easy --report=page.html >/dev/null
  page_data page.html | jq -e '.accounts.names | index("</script><script>stolen=1</script>") != null'
  # As many script elements as the page has by itself: the data, uPlot, the page's own.
  [[ $(grep -o '</script>' page.html | wc -l) == 3 ]]
  ! grep -q 'stolen=1</script>' page.html
  ! grep -qE '(src|href)="?(https?:)?//' page.html
}

@test "a large log gives a page of bounded size, and says what it leaves out" {
  needs_report
  awk 'BEGIN { srand(1); print "; MaxProcs: 512"; print "; MaxNodes: 64"; for (i = 1; i <= 120000; i++)
    print i, i * 60, -1, 60 + int(rand() * 9000), 1 + int(rand() * 16), -1, -1, -1, 10000, -1, 1, i % 500, i % 300, 1, 1 + i % 9, 1, -1, -1 }' >large.swf
  smarket simulate --swf=large.swf --mechanism=easy,fifo --report=page.html >/dev/null
  (($(stat -c %s page.html) < 4000000))
  page_data page.html >data
  [[ $(jq -c '[(.plan.jobs | length), .plan.of, .accounts.others, (.accounts.names | length), (.timeline.steps <= 400)]' data) == '[2000,120000,260,41,true]' ]]
  [[ $(jq '.mechanisms[0].groups | map(.jobs) | add' data) == 120000 ]]
}

@test "the same seed gives the same page; errors are one line" {
  needs_report
  smarket simulate --sacct=log --nodes=8x4 --mechanism=easy,era --report=1.html >/dev/null
  smarket simulate --sacct=log --nodes=8x4 --mechanism=easy,era --report=2.html >/dev/null
  cmp 1.html 2.html
  run smarket simulate --sacct=log --nodes=8x4 --report=/does/not/exist
  [[ $status == 1 && $output == 'smarket: error: --report: /does/not/exist: No such file or directory' ]]
  run smarket simulate --sacct=log --nodes=8x4 --mechanism=fifo --report=/dev/full
  [[ $status == 1 && $output == *'/dev/full: No space left on device'* ]]
}

@test "Chromium draws it, without network or complaint, by keyboard and in print" {
  needs_report
  command -v chromium >/dev/null || skip "chromium is not installed"
  command -v python3 >/dev/null || skip "python3 is not installed"
  smarket simulate --sacct=log --nodes=8x4 --mechanism=easy,fairshare,era,tycoon --slack=1..9 --report=page.html >/dev/null
  python3 "$MARKET_SOURCE_DIR/testsuite/tools/chromium_page.py" page.html "$TOOLS_DIR/../testsuite/report"
  [[ -s $TOOLS_DIR/../testsuite/report/screen.png ]]
}

@test "the example of README.md" {
  needs_report
  local command
  command=$(grep -A 1 '^build/release/contrib/smarket/smarket simulate' "$MARKET_SOURCE_DIR/README.md" | sed 's/\\$//; s/.*smarket simulate/simulate/' | tr -d '\n')
  command=${command//testsuite/$MARKET_SOURCE_DIR/testsuite}
  [[ $command == *--report=what-if.html ]]
  # shellcheck disable=SC2086
  smarket $command >table
  [[ $(awk '/^(fairshare|fifo|era|tycoon) / { print $1 }' table | sort -u | wc -l) == 4 && -s what-if.html ]]
}
