// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/job_groups.h"

#include <algorithm>
#include <numeric>

namespace market::sim {
namespace {

/// Puts the names with most work into `kept`; returns the place of each name among them.
std::vector<std::uint32_t> keep_largest(const Names& names, const std::vector<double>& work,
                                        std::size_t most, GroupNames& kept) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return work[a] > work[b]; });
  while (order.size() > 1 && work[order.back()] < 0) order.pop_back();
  std::vector<std::uint32_t> places(names.size(), 0);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    places[order[i]] = std::min(i, static_cast<std::uint32_t>(most));
    if (i < most) kept.names.push_back(names[order[i]]);
  }
  kept.others = order.size() > most ? order.size() - most : 0;
  if (kept.others > 0) kept.names.emplace_back("others");
  return places;
}

}  // namespace

JobGroups group_jobs(const Workload& workload, const std::vector<SimJob>& jobs,
                     std::size_t most_accounts, std::size_t most_partitions) {
  constexpr double kWithoutJobs = -1;
  std::vector<double> accounts(workload.accounts.size(), kWithoutJobs);
  std::vector<double> partitions(workload.partitions.size(), kWithoutJobs);
  for (const SimJob& job : jobs) {
    const double work = static_cast<double>(job.run) * job.need.cores;
    double& account = accounts[job.account];
    double& partition = partitions[workload.jobs[job.trace].partition];
    account = std::max(account, 0.0) + work;
    partition = std::max(partition, 0.0) + work;
  }
  JobGroups groups;
  const auto account_places =
      keep_largest(workload.accounts, accounts, most_accounts, groups.accounts);
  const auto partition_places =
      keep_largest(workload.partitions, partitions, most_partitions, groups.partitions);
  const auto width = static_cast<std::uint32_t>(groups.partitions.names.size());
  groups.of_job.reserve(jobs.size());
  for (const SimJob& job : jobs)
    groups.of_job.push_back(account_places[job.account] * width +
                            partition_places[workload.jobs[job.trace].partition]);
  return groups;
}

}  // namespace market::sim
