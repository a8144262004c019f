#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The agent of smarket fund, and incomes, as a person types them.

setup() {
  SMARKET=$TOOLS_DIR/smarket/smarket
  DIR=$(mktemp -d)
  echo "database = \"$DIR/ledger.db\";" > "$DIR/market.conf"
  export MARKET_CONF=$DIR/market.conf FAKE_SLURM_QUERY=$DIR/query FAKE_SLURM_MODE=command
  export FAKE_SLURM_COMMAND="$DIR/answer"
  unset SLURM_CONF SBATCH_ACCOUNT
  cat > "$DIR/answer" <<ANSWER
#!/bin/bash
query=\$(sed -n 's/^_SLURM_SPANK_OPTION_market_query=//p' "$DIR/query")
host=\$(jq -r '.partition // .hosts' <<< "\$query")
case \$(jq -r .verb <<< "\$query"):\$host in
  prices:main) others=0.02 capacity=64 ;;
  prices:gpu) others=0.001 capacity=64 ;;
  prices:old) others=0.004 capacity=64 ;;
  prices:busy) others=0.006 capacity=64 ;;
esac
history='[0.002, 0.004, 0.006, 0.008, 0.010, 0.012, 0.014, 0.016, 0.018, 0.020]'
echo "{\"ok\": true, \"rows\": [], \"pots\": [], \"goods\": [{\"tres\": \"cpu\", \"capacity\": \${capacity:-0}, \"spent_rate\": \${others:-0}, \"history\": \$history}]}"
ANSWER
  chmod +x "$DIR/answer"
}

teardown() { rm -rf "$DIR"; }

smarket() { LD_PRELOAD=$FAKE_SLURM "$SMARKET" "$@"; }

# The paper's best response by hand (section 3.4.1): with weights 64, 16, 8 and others' 0.02, 0.001, 0.004 the bids are
# √(w·y)·(0.01 + 0.025) / Σ√(w·y) − y; Σ√ = 1.13137 + 0.12649 + 0.17889.
@test "the agent spreads a rate over hosts" {
  run smarket --json fund --advise --rate=0.01 main:64,gpu:16,old:8
  [ "$status" -eq 0 ]
  bids=$(jq -r '[.hosts[] | (.bid * 100000 | round), (.share * 1000 | round)] | join(" ")' <<< "$output")
  [ "$bids" = "756 274 208 675 36 82" ]
  run smarket fund --advise --rate=0.01 main:64,gpu:16,old:8
  [[ $output == *main*"27.4 %"*gpu*"67.5 %"*old*"8.2 %"* ]]
}

# 16 of 64 CPUs against 0.006 a second need 0.006 · 16 / 48 = 0.002; in nine of ten periods others bid at most 0.018,
# which needs 0.006.
@test "the agent tells what so many CPUs need" {
  run smarket --json fund --advise --cpus=16 --confidence=0.9 busy
  [ "$status" -eq 0 ]
  [ "$(jq -r '[.expected_bid, .bid, .coverage] | map(. * 1000 | round) | join(" ")' <<< "$output")" = "2 6 900" ]
}

@test "bad input is one line" {
  for words in '' 'main' 'main x' 'main,gpu' '--close' '--show --close main' '--advise main:64' '--advise --rate=x main:64' \
    '--advise --rate=1 main' '--rate=1 main 10' '--advise --cpus=64 busy' '--every=5 main 10'; do
    # shellcheck disable=SC2086
    run smarket fund $words
    [ "$status" -ne 0 ] || { echo "accepted: $words" && false; }
    [ "${#lines[@]}" -eq 1 ] || { echo "$words: $output" && false; }
  done
}

@test "incomes, what is collected, allotments" {
  smarket account add physics
  run smarket account income physics 100 --per=1-0
  [ "$output" = "physics: gets 100.00 each 1-00:00:00 out of the treasury from now on" ]
  run smarket account income physics 100 --per=x
  [ "$status" -ne 0 ]
  run smarket account income nobody 100 --per=1-0
  [ "$status" -ne 0 ]
  run smarket account income physics 0 --per=1-0
  [ "$output" = "physics: its income ends" ]
  run smarket account join physics --allotment=100 --nodes=n[01-04]
  [[ $status -ne 0 && $output == *"slurm.conf"* ]]
  echo ClusterName=hpc > "$DIR/slurm.conf"
  SLURM_CONF=$DIR/slurm.conf run smarket account join physics --allotment=100 --nodes=n[01-04]
  [[ $output == *"got its allotment of 100.00, once"* ]]
  run smarket account join physics --allotment=100
  [ "$status" -ne 0 ]
  run smarket account collect
  [[ $output == "0.00 of revenue returned"* ]]
}
