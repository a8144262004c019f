# SPDX-License-Identifier: GPL-2.0-or-later
# How the demo talks: numbered steps, each command in bold before its output, and a stop when the story goes wrong.

STEP=0
SAID=
if [[ -t 1 ]]; then BOLD=$'\e[1m' PLAIN=$'\e[0m'; else BOLD='' PLAIN=''; fi

bold() { printf '%s%s%s\n' "$BOLD" "$*" "$PLAIN"; }

step() {
  STEP=$((STEP + 1))
  printf '\n'
  bold "$STEP. $*"
}

say() { printf '  %s\n' "$*"; }

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# The command as a person would type it.
typed() {
  local word line=''
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=,+%@-]+$ ]] || word="'$word'"
    line+=" $word"
  done
  printf '%s' "${line# }"
}

# run_as USER CMD…: shows the command and its output, keeps both streams in SAID, returns its status.
run_as() {
  local user=$1 prompt status=0
  shift
  prompt='$'
  [[ $user != root ]] || prompt='#'
  bold "  $user$prompt $(typed "$@")"
  if [[ $user == root ]]; then
    SAID=$("$@" 2>&1) || status=$?
  else
    SAID=$(cluster_as "$user" "$@" 2>&1) || status=$?
  fi
  [[ -z $SAID ]] || sed 's/^/    /' <<<"$SAID"
  return "$status"
}

show() { run_as "$@" || fail "this should have worked"; }

show_refused() { ! run_as "$@" || fail "this should have been refused"; }

quiet() { "$@" | sed 's/^/    /'; }

expect_said() { [[ $SAID == *"$1"* ]] || fail "expected to read '$1'"; }

expect() { [ "$@" ] || fail "expected: $*"; }

less() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a + 0 < b + 0)}'; }
