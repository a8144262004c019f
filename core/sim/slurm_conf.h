// SPDX-License-Identifier: GPL-2.0-or-later
// The machine that a slurm.conf describes, or that scontrol tells.
#pragma once

#include <string>
#include <string_view>

#include "core/sim/machine.h"

namespace market::sim {

/// NodeName, NodeSet and PartitionName lines of a slurm.conf and of the files that it includes, with
/// their defaults. Cores are what Slurm calls CPUs: CPUs, else Sockets × CoresPerSocket ×
/// ThreadsPerCore. Nodes in state FUTURE are left out. Fails with "FILE: line N: …".
Result<Machine> read_slurm_conf(const std::string& path);

/// The same of what `scontrol --oneliner show nodes` and `… show partitions` print, one behind the
/// other. `source` is named in failures.
Result<Machine> machine_of_scontrol(std::string_view text, const std::string& source);

}  // namespace market::sim
