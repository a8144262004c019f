#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Two clusters with books of their own: credits leave one with a receipt and come into a pot of the other, once.

load lib/market

# make NAME: a cluster with a key of its own; its folder is in HOME_NAME.
make() {
  CLUSTER_SLURM_EXTRA=ClusterName=$1
  cluster_new
  (umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$CLUSTER_DIR/ledger/key")
  cluster_set mechanism tycoon
  cluster_set tycoon.account user
  cluster_set tycoon.fund_max 1
  cluster_set planning.auction_period 0:01
  cluster_set bank.key "$CLUSTER_DIR/ledger/key"
  cluster_start
  smarket account add physics --users games,daemon
  smarket deposit physics 100
  export "HOME_$1=$CLUSTER_DIR"
}

# at NAME: what follows is about this cluster.
at() {
  local home=HOME_$1
  export MARKET_CLUSTER_HOME=${!home}
  export SLURM_CONF=$MARKET_CLUSTER_HOME/etc/slurm.conf
  cluster_adopt
}

public_key() { smarket check | sed -n 's/^bank .*public key //p'; }

# trust NAME KEY
trust() { cluster_reset bank.trusts "( { cluster = \"$1\"; key = \"$2\"; } )" && cluster_wait 30 smarket check; }

setup_file() {
  local key1 key2
  export CLUSTER_NODES=1 CLUSTER_CPUS=4
  make hpc1
  make hpc2
  key2=$(public_key)
  at hpc1
  key1=$(public_key)
  trust hpc2 "$key2"
  at hpc2
  trust hpc1 "$key1"
  [[ ${#key1} -eq 64 && ${#key2} -eq 64 && $key1 != "$key2" ]]
}

teardown_file() {
  at hpc1
  cluster_stop
  at hpc2
  cluster_stop
}

receipt() { echo "$HOME_hpc2/users/games/r.json"; }
present() { cluster_as games smarket fund main -A physics --receipt "${1:-$(receipt)}" 2>&1; }
pot() { ledger "select posted from account where name = '@hpc2:main/cpu/games/physics'"; }

@test "credits leave with a receipt and come once, whatever happens in between" {
  at hpc1
  [[ $(cluster_as games smarket transfer physics hpc2:main/games 1 --receipt 2>&1) == *"only its coordinators and operators"* ]]
  [[ $(smarket transfer physics hpc3:main/games 1 --receipt 2>&1) == *"bank.trusts in market.conf names no cluster hpc3"* ]]
  smarket transfer physics hpc2:main/games 90 --receipt >"$(receipt)"
  chmod 644 "$(receipt)"
  [[ $(posted physics) -eq 10000000 && $(posted @bank/hpc2) -eq 90000000 ]]
  books_balance
  at hpc2
  [[ $(present) == *"main (cpu, physics): 90.00 credits"* ]]
  [[ $(pot) -eq 90000000 && $(posted @bank/hpc1) -eq -90000000 && $(posted physics) -eq 100000000 ]]
  [[ $(present) == *"it was presented before"* ]]
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  [[ $(present) == *"it was presented before"* ]]
  [[ $(pot) -eq 90000000 ]]
  books_balance
}

@test "the same identity is written again, with the same amount alone" {
  local id
  at hpc1
  id=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$(receipt)")
  cluster_restart_slurmctld KILL
  cluster_wait 30 smarket check
  [[ $(smarket transfer physics hpc2:main/games 90 --receipt --again "$id") == *"\"$id\""* ]]
  [[ $(smarket transfer physics hpc2:main/games 10 --receipt --again "$id" 2>&1) == *"the ledger refused it"* ]]
  [[ $(posted physics) -eq 10000000 ]]
}

@test "what is forged, for another user, host or cluster is refused" {
  local forged=$HOME_hpc2/users/games/forged.json id
  at hpc1
  smarket transfer physics hpc2:main/daemon 1 --receipt >"$HOME_hpc2/users/games/daemon.json"
  smarket transfer physics hpc2:gpu/games 1 --receipt >"$HOME_hpc2/users/games/gpu.json"
  chmod 644 "$HOME_hpc2"/users/games/*.json
  [[ $(present "$(receipt)") == *"it is for hpc2:main/games, not for hpc1:main/games"* ]]
  at hpc2
  sed 's/"90\.00"/"900.00"/' "$(receipt)" >"$forged"
  grep -q '"900.00"' "$forged"
  [[ $(present "$forged") == *"is not signed by hpc1, or was changed since"* ]]
  id=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$(receipt)")
  sed "s/$id/${id}1/" "$(receipt)" >"$forged"
  [[ $(present "$forged") == *"is not signed by hpc1, or was changed since"* ]]
  [[ $(present "$HOME_hpc2/users/games/daemon.json") == *"it is for hpc2:main/daemon, not for hpc2:main/games"* ]]
  [[ $(present "$HOME_hpc2/users/games/gpu.json") == *"it is for hpc2:gpu/games"* ]]
  [[ $(present /dev/null) == *"--receipt=/dev/null: a receipt of"* ]]
  [[ $(pot) -eq 90000000 ]]
}

@test "a job is paid from what came" {
  at hpc2
  bid games -A physics -n 1 -t 1 --wrap "sleep 3"
  [[ $SAID == *"takes part: pot main (cpu) holds 90.00 credits"* ]]
  wait_settled "$JOB"
  [[ $(field "$JOB" 0 charged) -gt 0 && $(pot) -eq $((90000000 - $(field "$JOB" 0 charged))) ]]
}

@test "all is well" {
  at hpc1
  all_is_well
  at hpc2
  all_is_well
}
