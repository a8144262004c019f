#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo checks its own story; here: that it does not fail, and that nothing is left of it.

DEMO=$BATS_TEST_DIRNAME/../../contrib/demo

@test "the demo tells its story to the end and leaves nothing" {
  run "$DEMO/run" --no-install --build-dir "$CLUSTER_BUILD_DIR" 3>&-
  echo "$output" >&2
  [ "$status" -eq 0 ]
  [[ $output == *"The books balance: the sum over all accounts is 0."* ]]
  local dir
  dir=$(grep -o '/[^ ]*/market\.[A-Za-z0-9]*/' <<<"$output" | head -n 1)
  [ -n "$dir" ]
  [ ! -e "$dir" ]
}

@test "a wrong option is a usage message" {
  run "$DEMO/run" --nonsense
  [ "$status" -eq 2 ]
  run "$DEMO/stop"
  [ "$status" -eq 2 ]
}
