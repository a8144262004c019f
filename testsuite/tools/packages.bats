#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages: each holds what its hosts need, and that of slurmctld fits one release of Slurm alone.

setup_file() {
  command -v dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
  folder=$(mktemp -d)
  export folder
  cpack --config "$TOOLS_DIR/../CPackConfig.cmake" -B "$folder" >"$folder/log" 2>&1 || { cat "$folder/log" && false; }
}

teardown_file() { rm -rf "${folder:?}"; }

depends() { dpkg-deb -f "$folder"/slurm-market-"$1"_*.deb Depends; }

files() { dpkg-deb -c "$folder"/slurm-market-"$1"_*.deb | awk '{ print $6 }' | sed 's/.*\///' | grep .; }

@test "the plugins of slurmctld demand its very release" {
  [[ $(slurmctld -V) =~ ([0-9]+\.[0-9]+)\.([0-9]+) ]]
  local this="${BASH_REMATCH[1]}.${BASH_REMATCH[2]}" next="${BASH_REMATCH[1]}.$((BASH_REMATCH[2] + 1))~"
  [[ $(depends slurmctld) == *"slurmctld (>= $this), slurmctld (<< $next)"* ]]
  [[ $(depends client) == *"slurm-client (>= $this), slurm-client (<< $next)"* ]]
  dpkg --compare-versions "$this-4+deb12u1" lt "$next"
}

@test "libraries are demanded by name, and the market's own by nobody" {
  [[ $(depends slurmctld) == *libsqlite3-0* && $(depends slurmctld) != *slurm_market* ]]
  [[ $(depends client) == *libslurm* ]]
}

@test "each package holds what its hosts need, and no file is in both" {
  local file
  for file in priority_market.so job_submit_market.so jobcomp_market.so libslurm_market.so market.conf.example; do
    files slurmctld | grep -qx "$file"
  done
  for file in smarket sbill spank_market.so smarket.1 sbill.1 market.conf.5; do
    files client | grep -qx "$file"
  done
  [[ -z $(comm -12 <(files slurmctld | sort -u) <(files client | sort -u)) ]]
}
