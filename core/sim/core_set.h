// SPDX-License-Identifier: GPL-2.0-or-later
// Which cores of which nodes, as bits, and how much memory and how many GPUs there.
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
  std::vector<std::uint64_t>
      mem_mb;  ///< of each of `nodes`; empty: neither memory nor GPUs are held
  std::uint32_t gpus_per_node = 0;
  bool empty() const { return nodes.empty(); }
};

/// A bit for each core of a machine, and the memory and GPUs that are taken of each node.
class CoreMap {
 public:
  explicit CoreMap(const Machine& machine);

  /// Words of each node.
  std::size_t width() const { return width_; }
  void add(const CoreSet& set);
  void remove(const CoreSet& set);
  bool overlaps(const CoreSet& set) const;
  /// The first cores that are not in the map, with the job's memory and GPUs beside them, on the nodes
  /// in `open`, in order, on as many nodes as it needs; within `inside` alone unless that is null, whose
  /// memory does not count. Empty when there are too few.
  CoreSet choose(const Need& need, const std::vector<char>& open, const CoreSet* inside) const;
  /// All cores of a node.
  void append_node(CoreSet& set, std::uint32_t node) const;

 private:
  void take(CoreSet& chosen, std::uint32_t node, const std::uint64_t* allowed, const Need& need,
            std::uint32_t& left) const;
  CoreSet spread(const Need& need, const std::vector<char>& open) const;
  std::uint32_t free_cores(std::uint32_t node) const;
  std::uint32_t cores_with_room(const Need& need, std::uint32_t node) const;

  std::size_t width_ = 1;
  std::vector<std::uint64_t> mem_mb_, mem_taken_;  // of each node; 0: memory is not counted there
  std::vector<std::uint32_t> gpus_, gpus_taken_;   // of each node
  std::vector<std::uint64_t> all_, bits_;          // of each node `width_` words
};

}  // namespace market::sim
