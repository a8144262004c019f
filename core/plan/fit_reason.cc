// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/fit_reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/plan/node_choice.h"

namespace market {
namespace {

using Nodes = std::vector<const Node*>;
using Gres = GresCounts;

Nodes with(const Nodes& nodes, const std::function<bool(const Node&)>& test) {
  Nodes left;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(left),
               [&](const Node* node) { return test(*node); });
  return left;
}

std::int64_t gres_on(const Node& node, const std::string& wanted) {
  std::int64_t count = 0;
  for (const auto& [name, amount] : node.gres) {
    if (name == wanted || name.starts_with(wanted + ":")) count += amount;
  }
  return count;
}

std::uint64_t cpus_on(const Node& node) {
  return std::uint64_t{node.cores} * node.threads_per_core;
}

template <class Amount>
std::uint64_t most_of(const Nodes& nodes, Amount amount) {
  std::uint64_t most = 0;
  for (const Node* node : nodes) most = std::max(most, static_cast<std::uint64_t>(amount(*node)));
  return most;
}

/// Takes off `nodes` those that are ruled out by name or features; why none is left, or a required
/// one is not among them.
std::optional<std::string> rule_out(const Shape& shape, const std::string& partition,
                                    Nodes& nodes) {
  if (nodes.empty()) return fmt::format("partition {} has no nodes", partition);
  for (const std::string& feature : shape.features) {
    nodes = with(nodes, [&](const Node& node) { return node.features.contains(feature); });
    if (nodes.empty()) {
      return fmt::format("--constraint={}: no node of partition {} has {}{}", feature, partition,
                         shape.features.size() > 1 ? "all features and " : "", feature);
    }
  }
  nodes = with(nodes, [&](const Node& node) { return !is_listed(shape.exc_nodes, node.name); });
  if (nodes.empty()) return fmt::format("--exclude leaves no node of partition {}", partition);
  for (const std::string& name : shape.req_nodes) {
    const bool there = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const Node* node) { return node->name == name; });
    if (!there) {
      return fmt::format(
          "--nodelist: {} is not in partition {}, is excluded, or lacks the features", name,
          partition);
    }
  }
  return std::nullopt;
}

std::uint64_t memory_of_unit(const Shape& shape) {
  return shape.mem_per_cpu_mb > 0 ? shape.mem_per_cpu_mb * shape.cpus_per_task
                                  : shape.mem_per_node_mb;
}

/// What no single node has enough of.
std::optional<std::string> lacking_on_a_node(const Shape& shape, const std::string& partition,
                                             const Nodes& nodes) {
  const std::uint64_t on_one = shape.max_nodes == 1 ? shape.cpus : 0;
  const std::uint64_t cpus = std::max<std::uint64_t>(shape.cpus_per_task, on_one);
  if (const std::uint64_t most = most_of(nodes, cpus_on); cpus > most) {
    return fmt::format(
        "needs {} CPUs on one node (by -n, -c, --ntasks-per-node, --mincpus, --cpus-per-gpu or "
        "memory above MaxMemPerCPU), and no node of partition {} has more than {}",
        cpus, partition, most);
  }
  const std::uint64_t most_memory = most_of(nodes, [](const Node& node) { return node.mem_mb; });
  if (const std::uint64_t memory = memory_of_unit(shape); most_memory > 0 && memory > most_memory) {
    return fmt::format(
        "needs {} MB of memory on one node, and no node of partition {} has more "
        "than {}",
        memory, partition, most_memory);
  }
  for (const auto& [name, count] : shape.gres_per_node) {
    const auto most = most_of(nodes, [&](const Node& node) { return gres_on(node, name); });
    if (static_cast<std::uint64_t>(count) <= most) continue;
    return fmt::format("needs {} {} on each node, and no node of partition {} has more than {}",
                       count, name, partition, most);
  }
  return std::nullopt;
}

/// What the nodes together, as many as the job may have, have too little of.
std::optional<std::string> lacking_together(const Shape& shape, const std::string& partition,
                                            const Nodes& nodes) {
  if (shape.min_nodes > nodes.size()) {
    return fmt::format("needs {} nodes, and partition {} has {} that qualify", shape.min_nodes,
                       partition, nodes.size());
  }
  const std::uint64_t units =
      std::max<std::uint64_t>(1, shape.cpus / std::max<std::uint32_t>(1, shape.cpus_per_task));
  std::size_t most_nodes = std::max<std::uint64_t>(units, shape.min_nodes);
  if (shape.max_nodes > 0)
    most_nodes = std::min<std::size_t>(most_nodes, std::max(shape.max_nodes, shape.min_nodes));
  most_nodes = std::min(most_nodes, nodes.size());
  for (const auto& [name, count] : shape.gres_total) {
    std::vector<std::int64_t> amounts;
    for (const Node* node : nodes) amounts.push_back(gres_on(*node, name));
    std::sort(amounts.rbegin(), amounts.rend());
    std::int64_t have = 0;
    for (std::size_t i = 0; i < most_nodes; ++i) have += amounts[i];
    if (count <= have) continue;
    const bool more_nodes_do = most_nodes < nodes.size();
    return fmt::format(
        "needs {} {}, and {} of partition {} have {}{}", count, name,
        most_nodes == 1 ? "the node it may have"
                        : fmt::format("the {} nodes it may have", most_nodes),
        partition, have,
        more_nodes_do ? ": ask for more nodes with --nodes (Slurm gives no more nodes than tasks)"
                      : "");
  }
  std::uint64_t cpus = 0;
  for (const Node* node : nodes) cpus += cpus_on(*node);
  if (shape.cpus > cpus) {
    return fmt::format("needs {} CPUs, and partition {} has {} that qualify", shape.cpus, partition,
                       cpus);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fit_reason(const Shape& shape, const std::string& partition,
                                      const NodePlan& plan) {
  if (plan.fits_empty(shape, partition)) return std::nullopt;
  Nodes nodes;
  for (const Node& node : plan.nodes()) {
    if (node.partitions.contains(partition)) nodes.push_back(&node);
  }
  const auto ruled_out = rule_out(shape, partition, nodes);
  const auto alone = ruled_out ? ruled_out : lacking_on_a_node(shape, partition, nodes);
  const auto why = alone ? alone : lacking_together(shape, partition, nodes);
  if (why) return "the job " + std::string(ruled_out ? "fits nowhere: " : "") + *why;
  return fmt::format(
      "the job fits nowhere: no nodes of partition {} have its CPUs, memory and gres together, "
      "within "
      "its numbers of nodes and tasks (memory by --mem-per-cpu is that of all CPUs Slurm "
      "allocates)",
      partition);
}

}  // namespace market
