#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of the commands: every verb and option is offered, and values where there is a list.

setup() {
  PATH=$TOOLS_DIR/smarket:$TOOLS_DIR/sbill:$PATH
  source "$MARKET_SOURCE_DIR/contrib/completions/slurm-market.bash"
}

# offered WORD…: what is offered for the last one.
offered() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _slurm_market
}

offers() { [[ " ${COMPREPLY[*]} " == *" $1 "* ]] || { echo "not offered: $1 in ${COMPREPLY[*]}" && return 1; }; }

@test "every verb of smarket, and the verbs below account" {
  offered smarket ''
  local verb
  for verb in account balance deposit withdraw transfer refund quote menu submit reserve why prices show rebid ask fund check simulate solve; do offers "$verb"; done
  offered smarket account ''
  [[ ${COMPREPLY[*]} == 'add income collect join list show' ]]
  offered smarket --json acc
  [[ ${COMPREPLY[*]} == account ]]
}

@test "every option of a verb, in its short and its long form" {
  offered smarket quote -
  local option
  for option in -n --ntasks --gpus-per-task --deadline -A; do offers "$option"; done
  offered smarket quote --gpus-per-
  [[ ${COMPREPLY[*]} == '--gpus-per-node --gpus-per-task' ]]
  offered sbill --delim
  [[ ${COMPREPLY[*]} == --delimiter ]]
  offered sbill statement --mo
  [[ ${COMPREPLY[*]} == --month ]]
}

@test "states and fields" {
  offered sbill -s OUT
  [[ ${COMPREPLY[*]} == OUT_OF_MEMORY ]]
  offered sbill -o Char
  [[ ${COMPREPLY[*]} == Charged ]]
}

@test "nothing where there is no slurmctld, no ledger and no list" {
  offered smarket solve ''
  [[ -z ${COMPREPLY[*]} ]]
}
