#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiments of papers/ in short form: that they run, and what must hold however few jobs there are.

@test "ERA against Rayon: 100 jobs through Slurm and the simulator, the starts within a slot" {
  run "$BATS_TEST_DIRNAME/papers/rayon" --jobs=100 --starts --build="$CLUSTER_BUILD_DIR"
  echo "$output" | sed 's/^/# /' >&3
  [ "$status" -eq 0 ]
  [[ $output == *"real Slurm 100, simulator 100 of 100"* ]]
}

@test "a random quarter of an hour under two mechanisms through Slurm and the simulator" {
  run "$BATS_TEST_DIRNAME/papers/hour" --jobs=15 --at-once=2 --build="$CLUSTER_BUILD_DIR" first_fit abacus
  echo "$output" | sed 's/^/# /' >&3
  [ "$status" -eq 0 ]
  [[ $output == *first_fit*abacus* ]]
}

@test "nodes that come and go: every accepted job is accounted for" {
  run "$BATS_TEST_DIRNAME/papers/supply" --jobs=12 --at-once=2 --build="$CLUSTER_BUILD_DIR" first_fit
  echo "$output" | sed 's/^/# /' >&3
  [ "$status" -eq 0 ]
  [[ $(grep -cE '^first_fit +0(\.25)? +[0-9]+ +[0-9.]+ +[0-9.]+$' <<<"$output") -eq 2 ]]
}

@test "owners of nodes earn what they ask, jobs pay what they bid at most" {
  run "$BATS_TEST_DIRNAME/papers/owners" --jobs=20 --build="$CLUSTER_BUILD_DIR"
  echo "$output" | sed 's/^/# /' >&3
  [ "$status" -eq 0 ]
  [[ $output == *"what is left over 0"* ]]
}

@test "and through a kill, a drain, a requeue, a reconfigure and other prices" {
  run "$BATS_TEST_DIRNAME/papers/owners" --jobs=30 --trouble --build="$CLUSTER_BUILD_DIR"
  echo "$output" | sed 's/^/# /' >&3
  [ "$status" -eq 0 ]
  [[ $output == *"what is left over 0"* ]]
}

@test "all say what they take" {
  for tool in rayon hour supply owners; do
    run "$BATS_TEST_DIRNAME/papers/$tool" --jobs=none
    [ "$status" -eq 2 ]
    [[ $output == *"--jobs=none: allowed is a number from 1"* ]]
  done
  run "$BATS_TEST_DIRNAME/papers/hour" lottery
  [[ $status -eq 2 && $output == *"allowed are"*"tycoon"* ]]
}
