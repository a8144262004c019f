// SPDX-License-Identifier: GPL-2.0-or-later
// Standard workload format, versions 2.1 and 2.2, of the Parallel Workloads Archive.
#pragma once

#include <string>

#include "core/sim/workload.h"
#include "core/util/result.h"

namespace market::sim {

/// Reads an SWF log, packed by gzip or not: 18 numbers a line, -1 where not known, header lines
/// behind ";". Cores are the ones requested, else those used; the account is the group, else the
/// user. Submit times count from UnixStartTime where the header has it. Bad lines are left out and
/// counted. Fails on a file that cannot be read, or that has no job at all.
Result<Workload> read_swf(const std::string& path);

}  // namespace market::sim
