#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The short form of kill-campaign: under each mechanism two kills of slurmctld. Every run is billed once, nothing else is.

@test "twelve kills: none lost, none double, none charged that never ran" {
  run "$BATS_TEST_DIRNAME/kill-campaign" --kills 12 --seed 20261128 --longest 8 --kills-per-round 2
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *"lost 0, double 0, never ran 0, open liens 0, sum 0"* ]]
  [[ $output == *"now under dva"*"now under abacus"*"now under tycoon"*"now under pots"*"now under contracts"* ]]
  # Slurm saved some of them before it was killed, so that there was something to bill.
  [[ $output =~ ([0-9]+)\ charged\ with ]]
  [ "${BASH_REMATCH[1]}" -ge 1 ]
}
