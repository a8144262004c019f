// SPDX-License-Identifier: GPL-2.0-or-later
// What is free on each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/sim/machine.h"

namespace market::sim {

/// What a job needs.
struct Need {
  std::uint32_t partition = 0;
  std::uint32_t cores = 1;
  std::uint32_t nodes = 0;  ///< 0: any number; else the cores are spread evenly over so many
  std::uint32_t gpus_per_node = 0;
  std::uint64_t mem_node_mb = 0, mem_core_mb = 0;

  /// Of the whole job; of one on any number of nodes as if it were on one.
  std::uint64_t total_mem_mb() const {
    return mem_core_mb * cores + mem_node_mb * std::max<std::uint32_t>(nodes, 1);
  }
  /// Whether free cores are all that it depends on.
  bool is_plain() const {
    return nodes == 0 && gpus_per_node == 0 && mem_node_mb == 0 && mem_core_mb == 0;
  }
};

/// Cores of one node.
struct Seat {
  std::uint32_t node = 0, cores = 0;
  bool operator==(const Seat&) const = default;
};
using Seats = std::vector<Seat>;

class Rooms {
 public:
  /// `machine` outlives it.
  explicit Rooms(const Machine& machine);
  explicit Rooms(Machine&& machine) = delete;

  /// The first nodes, in order, that together hold the job; false when there are none.
  bool find(const Need& need, Seats& seats) const;
  bool fits(const Need& need) const;
  void take(const Need& need, const Seats& seats);
  void give(const Need& need, const Seats& seats);
  /// A node that is not open takes no new job; what runs there goes on.
  void open(std::uint32_t node, bool is_open);
  bool all_open() const { return closed_ == 0; }
  /// Of the open nodes of a partition.
  std::uint32_t free_cores(std::uint32_t partition) const { return free_cores_[partition]; }

 private:
  static constexpr std::uint32_t kWord = 64;

  std::uint32_t cores_for(const Need& need, std::uint32_t node) const;
  bool find_spread(const Need& need, Seats& seats) const;
  template <class Visit>
  void each_room(std::uint32_t partition, const Visit& visit) const;
  void count(std::uint32_t node, std::int64_t cores);
  void mark(std::uint32_t node);

  const Machine* machine_;
  std::vector<std::uint32_t> cores_, gpus_;
  std::vector<std::uint64_t> mem_;
  std::vector<char> is_open_;
  std::size_t closed_ = 0;
  std::vector<std::uint64_t> has_room_;              // bit n: node n is open and has a free core
  std::vector<std::vector<std::uint64_t>> members_;  // of each partition, likewise
  std::vector<std::vector<std::uint32_t>> partitions_of_;  // of each node; empty: one has them all
  std::vector<std::uint32_t> free_cores_;                  // of each partition
};

}  // namespace market::sim
