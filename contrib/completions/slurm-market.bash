# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of smarket and sbill in bash. What they offer is read from their own --help, so nothing here grows old.

# The words of a section of a command's --help: its subcommands, or its options.
_slurm_market_words() {
  local section=$1
  shift
  "$@" --help 2>/dev/null | awk -v section="$section:" '
    /^[A-Z][A-Za-z]*:/ { inside = ($0 ~ "^" section); next }
    inside && match($0, /^  [^ ]+/) { print substr($0, 3, RLENGTH - 2) }' | tr ',' '\n'
}

# Whether an option of a command is followed by a value.
_slurm_market_takes_value() {
  local option=$1
  shift
  "$@" --help 2>/dev/null | grep -qE -- "(^ *|,)$option(,[^ ]*)? TEXT"
}

# The verbs among the words typed so far, and the command they make.
_slurm_market_command() {
  local word verbs
  command=("${COMP_WORDS[0]}")
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    verbs=$'\n'$(_slurm_market_words Subcommands "${command[@]}")$'\n'
    [[ $word == -* || $verbs != *$'\n'"$word"$'\n'* ]] || command+=("$word")
  done
}

# The values of an option, or of a verb's argument, where there is a list of them.
_slurm_market_values() {
  case $1 in
    -A | --account | --accounts | balance | show | deposit | withdraw | transfer | statement)
      "${SMARKET:-smarket}" balance --json 2>/dev/null | grep -o '"account": "[^"]*' | cut -d'"' -f4
      ;;
    --class) "${SMARKET:-smarket}" show classes --json 2>/dev/null | grep -o '"class": "[^"]*' | cut -d'"' -f4 | sort -u ;;
    -p | -r | --partition) sinfo -h -o %R 2>/dev/null ;;
    -s | --state)
      printf '%s\n' BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REQUEUED TIMEOUT UNUSED VOIDED
      ;;
    -o | --format) sbill --helpformat 2>/dev/null ;;
    ask) sinfo -h -N -o %N 2>/dev/null | sort -u ;;
    --cancel | why | rebid) squeue -h --me -o %i 2>/dev/null ;;
  esac
}

_slurm_market() {
  local command words current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  _slurm_market_command
  if [[ $current == -* ]]; then
    words=$(_slurm_market_words Options "${command[@]}")
  elif [[ $previous == -* ]] && _slurm_market_takes_value "$previous" "${command[@]}"; then
    words=$(_slurm_market_values "$previous")
  else
    words=$(_slurm_market_words Subcommands "${command[@]}")
    [[ -n $words ]] || words=$(_slurm_market_values "${command[-1]}")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _slurm_market smarket sbill
