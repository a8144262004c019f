// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs by account and partition, in so few groups that a page can hold a series for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/sim/sim_job.h"
#include "core/sim/workload.h"

namespace market::sim {

/// Names of one kind; the last stands for `others` names together unless that is 0.
struct GroupNames {
  std::vector<std::string> names;
  std::size_t others = 0;
};

struct JobGroups {
  GroupNames accounts, partitions;
  /// Of each job: its account's place times the number of partitions, plus its partition's place.
  std::vector<std::uint32_t> of_job;
  std::size_t size() const { return accounts.names.size() * partitions.names.size(); }
};

/// The accounts and partitions with the most core-seconds keep their names, in falling order of those;
/// where there are more than that many, the rest is one group called "others".
JobGroups group_jobs(const Workload& workload, const std::vector<SimJob>& jobs,
                     std::size_t most_accounts, std::size_t most_partitions);

}  // namespace market::sim
