// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs as a simulation runs them, and what became of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/sim/rooms.h"
#include "core/sim/workload.h"

namespace market::sim {

struct SimJob {
  Time submit = 0, eligible = 0;
  std::int64_t run = 0, limit = 1;  ///< seconds; the limit is never below the run
  Need need;
  std::uint32_t trace = 0;  ///< index in the workload
  std::uint32_t user = 0, account = 0;
};

enum class JobState : unsigned char {
  kComing,  ///< not submitted yet, or the simulation ended before
  kWaiting,
  kRunning,
  kCompleted,
  kRefused,  ///< by a market
  kDropped,  ///< by Slurm, since it could not end by its deadline any more
};

struct JobRecord {
  Time start = 0, end = 0;  ///< of the last run
  std::uint32_t restarts = 0;
  JobState state = JobState::kComing;
  std::uint32_t cores = 0;  ///< that it ran on; 0: as many as it asked for
};

/// Those of its last run, or those that it asks for.
inline std::uint32_t cores_of(const SimJob& job, const JobRecord& record) {
  return record.cores > 0 ? record.cores : job.need.cores;
}

struct PlanOptions {
  std::size_t first = 0;  ///< only so many jobs; 0: all
  double scale_load = 1;  ///< so many times as much work in the same time
};

/// What could not be simulated, and what was made of the log.
struct PlanCounts {
  std::size_t never_ran = 0, without_cores = 0, too_large = 0;  ///< left out
  std::size_t without_limit = 0;                                ///< their limit is their run
  std::size_t over_limit = 0;  ///< they ran longer than their limit, which is raised to that
};

/// The jobs of a log on a machine, in the order of their submission. Jobs without a run, without
/// cores or that the machine could not hold are left out. Submissions come `scale_load` times as fast.
std::vector<SimJob> plan_jobs(const Workload& workload, const Machine& machine,
                              const PlanOptions& options, PlanCounts& counts);

}  // namespace market::sim
