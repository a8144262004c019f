// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/supply.h"

#include <map>
#include <set>

namespace market {
namespace {

struct Part {
  Time start = 0, end = 0;
  const CoreSet* cores = nullptr;
};

Tres tres_of(const CoreSet& cores, const Node& node) {
  Tres tres;
  if (cores.count() >= node.cores) {
    add_node(tres, node);
  } else {
    tres["cpu"] = std::int64_t{cores.count()} * node.threads_per_core;
  }
  return tres;
}

void add_parts(std::uint32_t number, const Node& node, const std::vector<Part>& parts,
               std::vector<HeldOfNode>& held) {
  std::set<Time> times;
  for (const Part& part : parts) times.insert({part.start, part.end});
  for (auto from = times.begin(); std::next(from) != times.end(); ++from) {
    CoreSet cores;
    for (const Part& part : parts) {
      if (part.start <= *from && *from < part.end) cores.insert(*part.cores);
    }
    if (cores.count() == 0) continue;
    held.push_back({number, {tres_of(cores, node), *std::next(from), *from}});
  }
}

}  // namespace

void add_node(Tres& total, const Node& node) {
  total["cpu"] += static_cast<std::int64_t>(node.cores) * node.threads_per_core;
  if (node.mem_mb > 0) total["mem"] += static_cast<std::int64_t>(node.mem_mb);
  for (const auto& [name, count] : node.gres) total["gres/" + name] += count;
}

std::vector<HeldOfNode> held_over_time(const std::vector<Hold>& holds,
                                       const std::vector<Node>& nodes) {
  std::map<std::uint32_t, std::vector<Part>> by_node;
  for (const Hold& hold : holds) {
    if (hold.start >= hold.end) continue;
    for (const Seat& seat : hold.placement) {
      if (seat.node < nodes.size())
        by_node[seat.node].push_back({hold.start, hold.end, &seat.cores});
    }
  }
  std::vector<HeldOfNode> held;
  for (const auto& [node, parts] : by_node) add_parts(node, nodes[node], parts, held);
  return held;
}

}  // namespace market
