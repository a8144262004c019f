// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/lane_search.h"

#include <algorithm>
#include <set>

namespace market {
namespace {

constexpr std::uint32_t kMostPlacedSingly = 128;  // each costs a look at the nodes

// Whether jobs of this shape need nothing of a node but whole cores and memory.
bool divides_by_cores(const Shape& task, const NodePlan& plan, const std::string& partition) {
  const std::set<std::uint32_t> threads = plan.threads_per_core(partition);
  const bool whole_cores = std::all_of(threads.begin(), threads.end(), [&task](std::uint32_t each) {
    return each == 0 || task.cpus % each == 0;
  });
  return task.min_nodes <= 1 && task.req_nodes.empty() && task.gres_per_node.empty() &&
         task.gres_total.empty() && !task.all_memory && whole_cores;
}

// One job as one task, so that a node holds whole jobs. One that no node holds alone stays as it is.
Shape as_one_task(const Shape& task, const NodePlan& plan, const std::string& partition) {
  Shape one = task;
  one.cpus = one.cpus_per_task = std::max<std::uint32_t>(1, task.cpus);
  one.min_nodes = 1;
  one.max_nodes = one.most_nodes = 0;
  one.tasks_per_node = task.exclusive ? 1 : 0;
  if (task.mem_per_node_mb > 0 && !task.exclusive) {
    one.mem_per_cpu_mb = (task.mem_per_node_mb + one.cpus - 1) / one.cpus;
    one.mem_per_node_mb = 0;
  }
  return plan.fits_empty(one, partition) ? one : task;
}

}  // namespace

LaneSearch::LaneSearch(const NodePlan& plan, const Shape& task, const std::string& partition,
                       const std::string& ignore)
    : is_plain_(divides_by_cores(task, plan, partition)),
      lane_(is_plain_ ? as_one_task(task, plan, partition) : task),
      places_(plan, lane_, partition, ignore) {
  is_plain_ = is_plain_ && lane_.cpus == lane_.cpus_per_task;
}

std::uint32_t LaneSearch::limited(std::uint32_t most) const {
  return is_plain_ ? most : std::min(most, kMostPlacedSingly);
}

std::optional<Placement> LaneSearch::at(std::uint32_t lanes, Time start, Time end) {
  Placement placement;
  if (most_at(lanes, start, end, &placement) < lanes) return std::nullopt;
  return placement;
}

}  // namespace market
