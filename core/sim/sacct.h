// SPDX-License-Identifier: GPL-2.0-or-later
// Exports of sacct: --parsable2 and --parsable.
#pragma once

#include <string>
#include <vector>

#include "core/sim/workload.h"
#include "core/util/result.h"

namespace market::sim {

struct SacctForm {
  /// Names of the columns where the file has no line with them; empty: it has one.
  std::vector<std::string> fields{};
  /// The jobs of this cluster alone; "": all, which must then be of one.
  std::string cluster{};
};

/// Reads what `sacct --parsable2` or `--parsable` printed, packed by gzip or not, with its columns in
/// any order: a job's number (JobID, JobIDRaw), Submit, how long it ran (ElapsedRaw, Elapsed, or Start
/// and End) and its CPUs (AllocCPUS, NCPUS, ReqCPUS, or AllocTRES, ReqTRES) must be among them; Cluster,
/// Partition, Account, User, UID, Eligible, State, Timelimit, TimelimitRaw, NNodes, AllocNodes, ReqNodes,
/// ReqMem, ReqTRES, AllocTRES are used where they are there, all others are not looked at. Of a job that
/// was requeued the last run counts, from its first submission. Steps and jobs without an end are left
/// out. Bad lines are left out and counted. Fails on a file that cannot be read, lacks columns, has jobs
/// of several clusters of which none was chosen, or has no job.
Result<Workload> read_sacct(const std::string& path, const SacctForm& form);

}  // namespace market::sim
