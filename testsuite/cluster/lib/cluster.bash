# SPDX-License-Identifier: GPL-2.0-or-later
# A private Slurm on loopback: own munged, slurmctld, slurmds and, when asked for, slurmdbd with its own MariaDB. All of
# it lives in one temporary folder and on ports that were free. Used by the tests and by the demo. Needs root.
#
#   cluster_new            folder, key, ports; sets CLUSTER_DIR and exports SLURM_CONF
#   cluster_start          writes the configuration and starts everything; fails with the logs' last lines
#   cluster_as USER CMD…   runs CMD as an ordinary user, in that user's folder
#   cluster_stop           ends all jobs and daemons and removes the folder; may be called at any time, also twice
#
# What to set between cluster_new and cluster_start:
CLUSTER_MARKET=${CLUSTER_MARKET:-1}         # 0: a stock Slurm, without the market
CLUSTER_ACCOUNTING=${CLUSTER_ACCOUNTING:-0} # 1: slurmdbd and MariaDB, associations enforced
CLUSTER_NODES=${CLUSTER_NODES:-4}
CLUSTER_CPUS=${CLUSTER_CPUS:-16}
CLUSTER_MEM=${CLUSTER_MEM:-64000}
CLUSTER_GRES=${CLUSTER_GRES:-}           # "gpu:a100:4,gpu:t4:4" on every node; "map:16": only counted
CLUSTER_SLURM_EXTRA=${CLUSTER_SLURM_EXTRA:-} # lines added to slurm.conf
# CLUSTER_BUILD_DIR: where the project was built (plugins, commands).
CLUSTER_USERS=(games daemon www-data nobody)

CLUSTER_LIB_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
declare -gA CLUSTER_CONF_KEYS=() # market.conf: key → value as libconfig writes it
declare -gA CLUSTER_PID=()       # daemon → process id
SLURM_PLUGIN_DIR=/usr/lib/x86_64-linux-gnu/slurm-wlm

# ---- small things -----------------------------------------------------------------------------------------------

# cluster_wait SECONDS CMD…: until CMD succeeds; fails when it has not after SECONDS.
cluster_wait() {
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000)) asked=0
  shift
  until "$@" >/dev/null 2>&1; do
    [[ ${EPOCHREALTIME/./} -lt $deadline ]] || return 1
    sleep "0.$((++asked < 10 ? 1 : 5))" # each question is a process, and many tests wait at once
  done
}

# Before every command bats writes down the whole way to it, which costs a millisecond; that of a test's own lines will do.
trace_tests_alone() {
  ! declare -F bats_debug_trap >/dev/null || trap '[[ ${#FUNCNAME[@]} -gt 3 ]] || bats_debug_trap "$BASH_SOURCE"' DEBUG
}

# cluster_slurm_since 23.11: whether the Slurm here is of that release or a later one.
cluster_slurm_since() {
  local version
  version=$(slurmctld -V)
  [[ $(printf '%s\n' "${version##* }" "$1" | sort -V | head -n 1) == "$1" ]]
}

# From 23.02 on `scontrol reconfigure` starts slurmctld anew, in the same process: nothing in its memory stays.
cluster_reconfigure_restarts() { cluster_slurm_since 23.11; }

cluster_port_free() { ! (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# First of COUNT consecutive ports that nobody listens on, below those that the kernel gives to clients.
cluster_free_ports() {
  local count=$1 base port tries
  for tries in {1..50}; do
    base=$((20000 + RANDOM % (12700 - count)))
    for ((port = base; port < base + count; port++)); do
      cluster_port_free "$port" || continue 2
    done
    echo "$base"
    return
  done
  echo "cluster: no $count free ports after $tries tries" >&2
  return 1
}

# Starts a daemon in the background, detached from the terminal and from bats.
cluster_spawn() {
  local name=$1
  shift
  MARKET_CLUSTER=$CLUSTER_DIR setsid "$@" </dev/null >>"$CLUSTER_DIR/log/$name.out" 2>&1 3>&- 4>&- &
  CLUSTER_PID[$name]=$!
  disown
  cluster_share
}

# Stops the cluster when the process that made it (a test, the demo) is gone without having done so.
cluster_watch() {
  local maker=$BASHPID # in the background it would be the watcher's own
  [[ ${CLUSTER_WATCH:-1} -eq 1 ]] || return 0
  setsid bash -c 'while kill -0 "$1" && [[ -d $3 ]]; do sleep 1; done 2>/dev/null
    source "$2"; MARKET_CLUSTER_HOME=$3; cluster_adopt && cluster_stop' \
    watch "$maker" "$CLUSTER_LIB_DIR/cluster.bash" "$CLUSTER_DIR" </dev/null >/dev/null 2>&1 3>&- 4>&- &
  disown
}

cluster_alive() { [[ -n ${CLUSTER_PID[$1]:-} ]] && kill -0 "${CLUSTER_PID[$1]}" 2>/dev/null; }

cluster_gone() { ! cluster_alive "$1"; }

# cluster_ready SECONDS NAME CMD…: until CMD succeeds; fails at once when the daemon is gone.
cluster_ready() {
  local seconds=$1 name=$2
  shift 2
  cluster_wait "$seconds" cluster_gone_or "$name" "$@" && cluster_alive "$name"
}

cluster_gone_or() {
  cluster_gone "$1" || "${@:2}"
}

# cluster_end NAME [SIGNAL]: ends one daemon and waits for it; kills it when it does not end within 10 s.
cluster_end() {
  cluster_alive "$1" || return 0
  kill "-${2:-TERM}" "${CLUSTER_PID[$1]}" 2>/dev/null
  cluster_wait 10 cluster_gone "$1" || kill -KILL "${CLUSTER_PID[$1]}" 2>/dev/null
  cluster_wait 5 cluster_gone "$1"
}

cluster_as() {
  local user=$1
  shift
  (cd "$CLUSTER_DIR/users/$user" && exec setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups -- \
    env HOME="$CLUSTER_DIR/users/$user" USER="$user" LOGNAME="$user" "$@")
}

# ---- configuration ----------------------------------------------------------------------------------------------

cluster_new() {
  local user
  trace_tests_alone
  CLUSTER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/market.XXXXXX")
  chmod 755 "$CLUSTER_DIR"
  mkdir -p "$CLUSTER_DIR"/{etc,log,run,state,spool,munge,users,ledger}
  chmod 700 "$CLUSTER_DIR/ledger"
  for user in "${CLUSTER_USERS[@]}"; do
    install -d -o "$user" "$CLUSTER_DIR/users/$user"
  done
  CLUSTER_PORT=$(cluster_free_ports $((CLUSTER_NODES + 3)))
  CLUSTER_CONF_KEYS=()
  CLUSTER_PID=()
  cluster_market_defaults
  export SLURM_CONF="$CLUSTER_DIR/etc/slurm.conf"
  export MARKET_CLUSTER_HOME="$CLUSTER_DIR"
  unset SLURM_JOB_ID SBATCH_ACCOUNT SBATCH_PARTITION SALLOC_ACCOUNT SLURM_ACCOUNT
  if [[ -n ${CLUSTER_BUILD_DIR:-} ]]; then
    cluster_install || return 1
    export PATH="$CLUSTER_DIR/bin:$PATH"
  fi
  cluster_share
  cluster_watch
}

# Plugins and commands without their debug information, where every user can read them: the build may lie in a folder
# that is closed to others.
cluster_install() {
  local file
  mkdir -p "$CLUSTER_DIR"/{bin,plugins}
  for file in "$CLUSTER_BUILD_DIR"/plugins/*.so; do
    [[ ! -e $file ]] || strip -g -o "$CLUSTER_DIR/plugins/${file##*/}" "$file" || return 1
  done
  for file in "$CLUSTER_BUILD_DIR"/{contrib/smarket/smarket,contrib/sbill/sbill,testsuite/cluster/forge}; do
    [[ ! -x $file ]] || strip -g -o "$CLUSTER_DIR/bin/${file##*/}" "$file" || return 1
  done
  chmod 755 "$CLUSTER_DIR"/bin/*
}

# cluster_set KEY VALUE: a key of market.conf, "prices.floor" for one in a group; lists and the few plain integers are
# written as they are, everything else as a string.
cluster_set() {
  case $1:$2 in
    *:[\(\[]* | *interval_ms:* | priority:* | max_array_tasks:* | planning.max_reservations:* | contracts.minimum:* | contracts.pairs:* | contracts.rows:*) CLUSTER_CONF_KEYS[$1]=$2 ;;
    *) CLUSTER_CONF_KEYS[$1]="\"$2\"" ;;
  esac
}

# Short slots and a fast market's thread, so that tests end soon.
cluster_market_defaults() {
  cluster_set database "$CLUSTER_DIR/ledger/market.db"
  cluster_set charge reserved # a run that ends has its bill at once; t1385 tests "resale"
  cluster_set planning.slot 0:10
  cluster_set planning.start_slack 0:10
  cluster_set planning.interval_ms 250
}

cluster_write_market_conf() {
  local key group='' name
  for key in $(printf '%s\n' "${!CLUSTER_CONF_KEYS[@]}" | grep -v '\.' | sort) \
    $(printf '%s\n' "${!CLUSTER_CONF_KEYS[@]}" | grep '\.' | sort); do
    name=${key#*.}
    if [[ $key == *.* && ${key%%.*} != "$group" ]]; then
      [[ -z $group ]] || echo '};'
      group=${key%%.*}
      echo "$group: {"
    fi
    echo "$name = ${CLUSTER_CONF_KEYS[$key]};"
  done >"$CLUSTER_DIR/etc/market.conf"
  [[ -z $group ]] || echo '};' >>"$CLUSTER_DIR/etc/market.conf"
}

# cluster_reset [KEY VALUE]…: a new market.conf for a market that runs.
cluster_reset() {
  while [[ $# -gt 0 ]]; do
    cluster_set "$1" "$2"
    shift 2
  done
  cluster_write_market_conf && cluster_share && scontrol reconfigure && sleep 1
}

cluster_slurm_conf() {
  local etc=$CLUSTER_DIR
  cat <<EOF
ClusterName=market
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$CLUSTER_PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$etc/munge/socket,cred_expire=8
CredType=cred/munge
PluginDir=${CLUSTER_BUILD_DIR:+$CLUSTER_DIR/plugins:}$SLURM_PLUGIN_DIR
StateSaveLocation=$etc/state
SlurmdSpoolDir=$etc/spool/%n
SlurmctldPidFile=$etc/run/slurmctld.pid
SlurmdPidFile=$etc/run/slurmd-%n.pid
SlurmctldLogFile=$etc/log/slurmctld.log
SlurmdLogFile=$etc/log/slurmd-%n.log
SlurmctldDebug=verbose
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=${CLUSTER_SELECT:-CR_Core}
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=50000,bf_interval=1,bf_window=1440,bf_resolution=10,max_rpc_cnt=100
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=100
PriorityCalcPeriod=1
MinJobAge=300
KillWait=2
CompleteWait=0
MessageTimeout=20
ReturnToService=1
SlurmdTimeout=300
SlurmdParameters=config_overrides
NodeName=n[1-$CLUSTER_NODES] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((CLUSTER_PORT + 3))-$((CLUSTER_PORT + 2 + CLUSTER_NODES))] CPUs=$CLUSTER_CPUS RealMemory=$CLUSTER_MEM${CLUSTER_GRES:+ Gres=$CLUSTER_GRES} State=UNKNOWN
PartitionName=main Nodes=${CLUSTER_MAIN_NODES:-ALL} Default=YES MaxTime=INFINITE${CLUSTER_DEFAULT_TIME:+ DefaultTime=$CLUSTER_DEFAULT_TIME} State=UP
EOF
}

# slurm.conf with later lines winning over earlier ones of the same key (nodes and partitions are only added).
cluster_write_slurm_conf() {
  {
    cluster_slurm_conf
    if [[ -n $CLUSTER_GRES ]]; then
      echo "GresTypes=$(tr ',' '\n' <<<"$CLUSTER_GRES" | cut -d: -f1 | sort -u | paste -sd,)"
    fi
    if [[ $CLUSTER_MARKET -eq 1 ]]; then
      printf '%s\n' PriorityType=priority/market JobSubmitPlugins=market JobCompType=jobcomp/market \
        "PlugStackConfig=$CLUSTER_DIR/etc/plugstack.conf"
    fi
    if [[ $CLUSTER_ACCOUNTING -eq 1 ]]; then
      printf '%s\n' AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=localhost \
        "AccountingStoragePort=$((CLUSTER_PORT + 1))" "AccountingStoragePass=$CLUSTER_DIR/munge/socket" \
        AccountingStorageEnforce=associations,limits
      if [[ -n $CLUSTER_GRES ]]; then
        echo "AccountingStorageTRES=$(tr ',' '\n' <<<"$CLUSTER_GRES" |
          awk -F: '{print "gres/" $1; print "gres/" $1 ":" $2}' | sort -u | paste -sd,)"
      fi
    fi
    printf '%s\n' "$CLUSTER_SLURM_EXTRA"
  } | awk -F= '/^$/ {next}
      {key = /^(NodeName|PartitionName)/ ? NR : tolower($1); if (!(key in at)) at[key] = ++n; line[at[key]] = $0}
      END {for (i = 1; i <= n; i++) print line[i]}' >"$CLUSTER_DIR/etc/slurm.conf"
}

# Slurm counts a gres of the gpu kind by its device files: empty files stand for them.
cluster_write_gres_conf() {
  local gres name type count device
  [[ -n $CLUSTER_GRES ]] || return 0
  mkdir -p "$CLUSTER_DIR/dev"
  for gres in ${CLUSTER_GRES//,/ }; do
    IFS=: read -r name type count <<<"$gres"
    if [[ -z $count ]]; then # without a type and files, only counted
      echo "NodeName=n[1-$CLUSTER_NODES] Name=$name Count=$type"
      continue
    fi
    for ((device = 0; device < count; device++)); do
      : >"$CLUSTER_DIR/dev/$type-$device"
    done
    echo "NodeName=n[1-$CLUSTER_NODES] Name=$name Type=$type File=$CLUSTER_DIR/dev/$type-[0-$((count - 1))]"
  done >"$CLUSTER_DIR/etc/gres.conf"
}

# From 23.11 on slurmd starts without control groups only when told so; older ones die of the line.
cluster_write_cgroup_conf() {
  if cluster_slurm_since 23.11; then echo CgroupPlugin=disabled >"$CLUSTER_DIR/etc/cgroup.conf"; fi
}

cluster_write_conf() {
  cluster_write_slurm_conf
  cluster_write_gres_conf
  cluster_write_cgroup_conf
  if [[ $CLUSTER_MARKET -eq 1 ]]; then
    echo "required $CLUSTER_DIR/plugins/spank_market.so" >"$CLUSTER_DIR/etc/plugstack.conf"
    cluster_write_market_conf
  fi
}

# ---- daemons ----------------------------------------------------------------------------------------------------

cluster_start_munged() {
  local dir=$CLUSTER_DIR/munge
  (umask 077 && head -c 128 /dev/urandom >"$dir/key")
  cluster_spawn munged munged --foreground --num-threads=4 --socket="$dir/socket" --key-file="$dir/key" \
    --pid-file="$dir/pid" --seed-file="$dir/seed" --log-file="$dir/log" --group-update-time=-1
  cluster_ready 10 munged munge --socket="$dir/socket" --no-input
}

cluster_start_database() {
  local dir=$CLUSTER_DIR/mysql
  mkdir -p "$dir"
  chown mysql "$dir"
  mariadb-install-db --no-defaults --user=mysql --datadir="$dir/data" --skip-test-db --auth-root-authentication-method=normal \
    >"$CLUSTER_DIR/log/mariadb-install.out" 2>&1 || return 1
  cluster_spawn mariadbd mariadbd --no-defaults --user=mysql --datadir="$dir/data" --socket="$dir/socket" \
    --bind-address=127.0.0.1 --port=$((CLUSTER_PORT + 2)) --pid-file="$dir/pid" --log-error="$dir/log" \
    --innodb-buffer-pool-size=128M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0
  cluster_ready 30 mariadbd mariadb --no-defaults --socket="$dir/socket" -u root -e 'select 1' || return 1
  mariadb --no-defaults --socket="$dir/socket" -u root -e "create database slurm_acct_db;
    create user 'slurm'@'127.0.0.1' identified by 'slurm'; create user 'slurm'@'localhost' identified by 'slurm';
    grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1'; grant all on slurm_acct_db.* to 'slurm'@'localhost'"
}

cluster_start_slurmdbd() {
  (umask 077 && cat >"$CLUSTER_DIR/etc/slurmdbd.conf") <<EOF
AuthType=auth/munge
AuthInfo=socket=$CLUSTER_DIR/munge/socket
DbdHost=localhost
DbdPort=$((CLUSTER_PORT + 1))
SlurmUser=root
DebugLevel=info
LogFile=$CLUSTER_DIR/log/slurmdbd.log
PidFile=$CLUSTER_DIR/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((CLUSTER_PORT + 2))
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
EOF
  cluster_spawn slurmdbd slurmdbd -D
  cluster_ready 60 slurmdbd sacctmgr -n show cluster || return 1
  cluster_wait 30 sacctmgr -i add cluster market || sacctmgr -n show cluster | grep -q market
}

cluster_start_slurmctld() {
  cluster_spawn slurmctld slurmctld -D -f "$SLURM_CONF"
  cluster_ready 20 slurmctld scontrol ping
}

cluster_start_slurmd() { cluster_spawn "slurmd-$1" slurmd -D -f "$SLURM_CONF" -N "$1"; }

cluster_nodes_idle() { [[ $(sinfo -h -N -o '%N %T' | sort -u | grep -c ' idle$') -eq $CLUSTER_NODES ]]; }

cluster_start() {
  local node
  cluster_write_conf && cluster_start_munged || { cluster_complain munged; return 1; }
  if [[ $CLUSTER_ACCOUNTING -eq 1 ]]; then
    cluster_start_database || { cluster_complain mariadbd; return 1; }
    cluster_start_slurmdbd || { cluster_complain slurmdbd; return 1; }
  fi
  cluster_start_slurmctld || { cluster_complain slurmctld; return 1; }
  for ((node = 1; node <= CLUSTER_NODES; node++)); do
    cluster_start_slurmd "n$node"
  done
  cluster_wait $((30 + CLUSTER_NODES / 4)) cluster_nodes_idle || { cluster_complain slurmd-n1; return 1; }
}

cluster_complain() {
  echo "cluster: $1 did not start" >&2
  tail -n 20 "$CLUSTER_DIR/log/$1".* "$CLUSTER_DIR/munge/log" >&2 2>/dev/null
}

# bats runs every test in a process of its own: setup_file shares the cluster's variables, setup adopts them.
cluster_share() {
  declare -p CLUSTER_DIR CLUSTER_PORT CLUSTER_PID CLUSTER_CONF_KEYS CLUSTER_MARKET CLUSTER_ACCOUNTING CLUSTER_NODES \
    CLUSTER_GRES CLUSTER_SLURM_EXTRA | sed 's/^declare \(-[aAx-]*\)/declare -g \1/' >"$CLUSTER_DIR/run/cluster.vars"
}

cluster_adopt() {
  trace_tests_alone
  # shellcheck disable=SC1091
  [[ ! -r $MARKET_CLUSTER_HOME/run/cluster.vars ]] || source "$MARKET_CLUSTER_HOME/run/cluster.vars"
}

cluster_restart_slurmctld() {
  cluster_end slurmctld "${1:-TERM}" && cluster_start_slurmctld
}

# Until slurmctld has written its jobs to disk as they are now: a new job makes it write, some seconds later.
cluster_state_saved() {
  local name=saved.$BASHPID.$EPOCHREALTIME job saved=0
  job=$(sbatch --parsable --hold -J "$name" -D / -o /dev/null -t 1 --wrap true) || return 1
  cluster_wait 30 grep -qa "$name" "$CLUSTER_DIR/state/job_state" || saved=1
  scancel "$job"
  return "$saved"
}

cluster_job_state() { squeue -h -j "$1" -t all -o %T 2>/dev/null; }

cluster_is_state() { [[ "|$1|" == *"|$(cluster_job_state "$2")|"* ]]; }

# cluster_wait_state STATE[|STATE…] JOB [SECONDS]
cluster_wait_state() {
  cluster_wait "${3:-30}" cluster_is_state "$1" "$2" || {
    echo "job $2 is $(cluster_job_state "$2"), wanted $1" >&2
    return 1
  }
}

# ---- the end ----------------------------------------------------------------------------------------------------

# cluster_no_jobs [SQUEUE-OPTION…]: slurmctld answers, and says that no such job waits, runs or is about to end.
cluster_no_jobs() {
  local jobs
  jobs=$(squeue -h -o %A "$@" 2>/dev/null) && [[ -z $jobs ]]
}

cluster_cancel_all() {
  cluster_alive slurmctld || return 0
  squeue -h -o %A 2>/dev/null | sort -u | xargs -r scancel --quiet 2>/dev/null
  cluster_wait 15 cluster_no_jobs
}

# What the daemons left behind (a slurmstepd and its children outlive their slurmd): they carry the cluster's mark. A slurmstepd
# writes its title over that, and has its log open.
cluster_leftovers() {
  local file process
  for process in $(find /proc/[0-9]*/fd -maxdepth 1 -lname "$CLUSTER_DIR/*" 2>/dev/null | cut -d/ -f3 | sort -u); do
    [[ $(cat "/proc/$process/comm" 2>/dev/null) != slurmstepd ]] || echo "$process"
  done
  for file in /proc/[0-9]*/environ; do
    if tr '\0' '\n' <"$file" 2>/dev/null | grep -qFx "MARKET_CLUSTER=$CLUSTER_DIR"; then
      basename "$(dirname "$file")"
    fi
  done 2>/dev/null
}

cluster_all_gone() {
  local name
  for name in "$@"; do
    cluster_gone "$name" || return 1
  done
}

# All at once: each waits for its job steps to end.
cluster_end_slurmds() {
  local name names=() signal
  for name in "${!CLUSTER_PID[@]}"; do
    [[ $name != slurmd-* ]] || names+=("$name")
  done
  for signal in TERM KILL; do
    for name in "${names[@]}"; do
      ! cluster_alive "$name" || kill "-$signal" "${CLUSTER_PID[$name]}" 2>/dev/null || true
    done
    ! cluster_wait 10 cluster_all_gone "${names[@]}" || return 0
  done
}

cluster_stop() {
  local daemon
  [[ -n ${CLUSTER_DIR:-} && -d $CLUSTER_DIR ]] || return 0
  cluster_cancel_all || true
  cluster_end slurmctld || true
  cluster_end_slurmds || true
  for daemon in slurmdbd mariadbd munged; do
    cluster_end "$daemon" || true
  done
  cluster_leftovers | xargs -r kill -KILL 2>/dev/null || true
  if mountpoint -q "$CLUSTER_DIR/ledger"; then umount "$CLUSTER_DIR/ledger"; fi
  if [[ -n ${CLUSTER_KEEP_LOGS:-} ]]; then
    mkdir -p "$CLUSTER_KEEP_LOGS" && cp -r "$CLUSTER_DIR/log" "$CLUSTER_DIR/etc" "$CLUSTER_DIR/ledger" "$CLUSTER_KEEP_LOGS"
  fi
  rm -rf "$CLUSTER_DIR"
  CLUSTER_DIR=
}
