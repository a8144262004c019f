// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/whole_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace market {
namespace {

/// What a job of this shape takes of one node beyond what it asks for.
Tres taken_of(const Shape& shape, const Node& node) {
  Tres taken;
  if (node.mem_mb > 0) taken["mem"] = static_cast<std::int64_t>(node.mem_mb);
  if (!shape.exclusive) return taken;
  taken["cpu"] = static_cast<std::int64_t>(node.cores) * node.threads_per_core;
  for (const auto& [name, count] : node.gres) taken["gres/" + name] = count;
  return taken;
}

/// The nodes that the job may get: those it names when they are all it gets. Of a partition of nodes
/// that are alike one stands for all.
std::vector<std::uint32_t> choices(const Shape& shape, const Placement& placement,
                                   const std::string& partition, const NodePlan& plan) {
  std::vector<std::uint32_t> nodes;
  if (plan.kinds(partition).size() == 1) return {placement.front().node};
  if (shape.req_nodes.size() < placement.size()) return plan.able(shape, partition);
  for (const Seat& seat : placement) nodes.push_back(seat.node);
  return nodes;
}

}  // namespace

Result<void> count_whole_nodes(Demand& demand, const std::string& partition, const NodePlan& plan) {
  Shape& shape = demand.shape;
  if (!shape.exclusive && !shape.all_memory) return {};
  const auto placement = plan.place_empty(shape, partition);
  if (!placement) return {};  // larger than the cluster: refused for that
  const Tres taken = taken_of(shape, plan.nodes()[placement->front().node]);
  for (const std::uint32_t node : choices(shape, *placement, partition, plan)) {
    if (taken_of(shape, plan.nodes()[node]) == taken) continue;
    return fail(
        fmt::format("{}: the nodes that could take the job differ, and so would its price; choose "
                    "equal ones with --constraint or --nodelist",
                    shape.exclusive ? "--exclusive" : "--mem=0, or no --mem"));
  }
  const auto nodes = static_cast<std::int64_t>(placement->size());
  if (shape.exclusive) {
    erase_if(demand.tres, [](const auto& item) { return item.first.starts_with("gres/"); });
  }
  for (const auto& [name, count] : taken) demand.tres[name] = count * nodes;
  demand.tres["node"] = nodes;
  shape.max_nodes = static_cast<std::uint32_t>(nodes);
  return {};
}

}  // namespace market
