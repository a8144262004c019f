// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/sim_job.h"

#include <algorithm>
#include <cmath>

namespace market::sim {
namespace {

std::uint32_t most_gpus(const Machine& machine) {
  std::uint32_t most = 0;
  for (const MachineNode& node : machine.nodes) most = std::max(most, node.gpus);
  return most;
}

std::uint32_t divided_up(std::uint32_t amount, std::uint32_t parts) {
  return (amount + parts - 1) / parts;
}

Need need_of(const TraceJob& job, const Machine& machine, std::uint32_t partition,
             std::uint32_t gpus_of_a_node) {
  Need need;
  need.partition = partition;
  need.cores = job.cores;
  need.nodes = std::min(job.nodes, job.cores);
  need.mem_node_mb = job.mem_node_mb;
  need.mem_core_mb = job.mem_core_mb;
  if (job.gpus > 0 && gpus_of_a_node > 0) {
    if (need.nodes == 0) need.nodes = std::min(divided_up(job.gpus, gpus_of_a_node), job.cores);
    need.gpus_per_node = divided_up(job.gpus, need.nodes);
  }
  const bool counts_memory = std::any_of(machine.nodes.begin(), machine.nodes.end(),
                                         [](const MachineNode& node) { return node.mem_mb > 0; });
  if (!counts_memory) need.mem_node_mb = need.mem_core_mb = 0;
  return need;
}

}  // namespace

std::vector<SimJob> plan_jobs(const Workload& workload, const Machine& machine,
                              const PlanOptions& options, PlanCounts& counts) {
  std::vector<std::uint32_t> partitions;
  for (std::uint32_t i = 0; i < workload.partitions.size(); ++i)
    partitions.push_back(machine.partition_of(workload.partitions[i]));
  const Rooms empty(machine);
  const std::uint32_t gpus = most_gpus(machine);
  const Time origin = workload.jobs.empty() ? 0 : workload.jobs.front().submit;
  const auto scaled = [&](Time time) {
    const double since = static_cast<double>(time - origin) / options.scale_load;
    return origin + static_cast<Time>(std::llround(since));
  };
  std::vector<SimJob> jobs;
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    if (options.first > 0 && jobs.size() == options.first) break;
    const TraceJob& trace = workload.jobs[i];
    if (!trace.ran() || trace.cores == 0) {
      ++(trace.ran() ? counts.without_cores : counts.never_ran);
      continue;
    }
    SimJob job;
    job.need = need_of(trace, machine, partitions[trace.partition], gpus);
    if (!empty.fits(job.need)) {
      ++counts.too_large;
      continue;
    }
    counts.without_limit += trace.limit == 0 ? 1 : 0;
    counts.over_limit += trace.limit > 0 && trace.run > trace.limit ? 1 : 0;
    job.submit = scaled(trace.submit);
    job.eligible = job.submit + (trace.eligible - trace.submit);
    job.run = trace.run;
    job.limit = std::max<std::int64_t>({trace.limit, trace.run, 1});
    job.trace = i;
    job.user = trace.user;
    job.account = trace.account;
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace market::sim
