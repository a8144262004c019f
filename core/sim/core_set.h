// SPDX-License-Identifier: GPL-2.0-or-later
// Which cores of which nodes, as bits, and how much memory there.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/sim/machine.h"
#include "core/sim/rooms.h"

namespace market::sim {

/// Cores of some nodes: `words[i·width …]` are the bits of node nodes[i].
struct CoreSet {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> mem_mb;  ///< of each of `nodes`; empty: none is held
  bool empty() const { return nodes.empty(); }
};

/// A bit for each core of a machine, and the memory that is taken of each node.
class CoreMap {
 public:
  explicit CoreMap(const Machine& machine);

  /// Words of each node.
  std::size_t width() const { return width_; }
  void add(const CoreSet& set);
  void remove(const CoreSet& set);
  bool overlaps(const CoreSet& set) const;
  /// The first cores that are not in the map, with the job's memory beside them, on the nodes in
  /// `open`, in order; within `inside` alone unless that is null, whose memory does not count. Empty
  /// when there are too few.
  CoreSet choose(const Need& need, const std::vector<char>& open, const CoreSet* inside) const;
  /// All cores of a node.
  void append_node(CoreSet& set, std::uint32_t node) const;

 private:
  void take(CoreSet& chosen, std::uint32_t node, const std::uint64_t* allowed, const Need& need,
            std::uint32_t& left) const;
  std::uint32_t cores_by_memory(const Need& need, std::uint32_t node) const;

  std::size_t width_ = 1;
  std::vector<std::uint64_t> mem_mb_, mem_taken_;  // of each node; 0: memory is not counted there
  std::vector<std::uint64_t> all_, bits_;          // of each node `width_` words
};

}  // namespace market::sim
