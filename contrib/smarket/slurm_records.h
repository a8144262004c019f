// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's own records of jobs: slurmctld's memory, and slurmdbd where there is one.
#pragma once

#include <cstdint>

#include "core/ledger/records.h"
#include "core/util/result.h"

namespace market::smarket {

/// The jobs that slurmctld knows: all that live, and those that ended within MinJobAge.
Result<ledger::SlurmRuns> jobs_in_slurmctld();

/// Where a job of the asking user is that slurmctld knows, be it the market's or not.
enum class OwnJob { kNone, kPending, kRunning, kOver };
OwnJob own_job_in_slurmctld(std::uint32_t job);

/// Whether Slurm keeps its accounting in slurmdbd.
bool has_slurmdbd();

/// What slurm.conf allows of arrays: MaxArraySize, which is more than the largest array has tasks, and MaxJobCount.
struct ArrayLimits {
  std::uint32_t max_array_size = 0, max_job_count = 0;
};
Result<ArrayLimits> array_limits();

/// All runs of `cluster` that slurmdbd has since `since`; the caller must be allowed to see them.
Result<ledger::SlurmRuns> runs_in_slurmdbd(const std::string& cluster, Time since);

}  // namespace market::smarket
