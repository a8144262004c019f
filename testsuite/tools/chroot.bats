#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The chroot of another Debian: what is said without one, and that nothing is left however a command in it ends.

CHROOT=$BATS_TEST_DIRNAME/../chroot

@test "whether there is one, and a wrong line is a usage message" {
  export SLURM_MARKET_CHROOT=$BATS_TEST_TMPDIR
  run "$CHROOT" --made trixie
  [ "$status" -eq 1 ]
  touch "$BATS_TEST_TMPDIR/.made"
  run "$CHROOT" --made trixie
  [ "$status" -eq 0 ]
  for line in '' trixie '--nonsense trixie' '--made'; do
    # shellcheck disable=SC2086
    run "$CHROOT" $line
    [[ $status -eq 2 && $output == usage:* ]]
  done
}

# Processes that sleep for $1, which is a number that no other test sleeps for.
sleepers() { pgrep -fx "sleep $1" || true; }

until_sleepers() {
  for _ in {1..100}; do
    [[ -n $(sleepers "$1") && $2 == some || -z $(sleepers "$1") && $2 == none ]] && return
    sleep 0.1
  done
  return 1
}

@test "nothing is left after a command, an interrupt or a kill" {
  "$CHROOT" --made trixie || skip "no chroot was made here"
  [ "$(id -u)" -eq 0 ] || skip "needs root"
  local seconds=$((100000 + BASHPID)) signal
  run "$CHROOT" trixie sh -c "setsid sleep $seconds & grep -c ' /slurm-market ' /proc/mounts; exit 7"
  [ "$status" -eq 7 ]
  [ "$output" = 1 ]
  until_sleepers "$seconds" none
  for signal in INT TERM KILL; do
    # The shell has what it starts in the background ignore interrupts.
    env --default-signal=INT "$CHROOT" trixie sh -c "setsid sleep $seconds & sleep $seconds" 3>&- &
    until_sleepers "$seconds" some
    kill "-$signal" $!
    until_sleepers "$seconds" none
  done
  ! grep -q slurm-market/trixie/ /proc/mounts || false
}
