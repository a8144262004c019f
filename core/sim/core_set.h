// SPDX-License-Identifier: GPL-2.0-or-later
// Which cores of which nodes, as bits.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/sim/machine.h"

namespace market::sim {

/// Cores of some nodes: `words[i·width …]` are the bits of node nodes[i].
struct CoreSet {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint64_t> words;
  bool empty() const { return nodes.empty(); }
};

/// A bit for each core of a machine.
class CoreMap {
 public:
  explicit CoreMap(const Machine& machine);

  /// Words of each node.
  std::size_t width() const { return width_; }
  void add(const CoreSet& set);
  void remove(const CoreSet& set);
  bool overlaps(const CoreSet& set) const;
  /// The first cores that are not in the map and are of the nodes in `open`, in order; within `inside`
  /// alone unless that is null. Empty when there are fewer than `count`.
  CoreSet choose(std::uint32_t count, const std::vector<char>& open, const CoreSet* inside) const;
  /// All cores of a node.
  void append_node(CoreSet& set, std::uint32_t node) const;

 private:
  void take(CoreSet& chosen, std::uint32_t node, const std::uint64_t* allowed,
            std::uint32_t& left) const;

  std::size_t width_ = 1;
  std::vector<std::uint64_t> all_, bits_;  // of each node `width_` words
};

}  // namespace market::sim
