// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/rooms.h"

#include <algorithm>
#include <bit>

namespace market::sim {

Rooms::Rooms(const Machine& machine) : machine_(&machine), is_open_(machine.nodes.size(), 1) {
  const std::size_t words = (machine.nodes.size() + kWord - 1) / kWord;
  has_room_.resize(words);
  for (const MachineNode& node : machine.nodes) {
    cores_.push_back(node.cores);
    gpus_.push_back(node.gpus);
    mem_.push_back(node.mem_mb);
  }
  for (std::uint32_t node = 0; node < cores_.size(); ++node) mark(node);
  const bool is_one =
      machine.partitions.size() == 1 && machine.partitions[0].nodes.size() == machine.nodes.size();
  if (!is_one) partitions_of_.resize(machine.nodes.size());
  for (std::uint32_t i = 0; i < machine.partitions.size(); ++i) {
    members_.emplace_back(words);
    free_cores_.push_back(0);
    for (const std::uint32_t node : machine.partitions[i].nodes) {
      members_[i][node / kWord] |= std::uint64_t{1} << (node % kWord);
      free_cores_[i] += cores_[node];
      if (!partitions_of_.empty()) partitions_of_[node].push_back(i);
    }
  }
}

void Rooms::mark(std::uint32_t node) {
  const std::uint64_t bit = std::uint64_t{1} << (node % kWord);
  if (is_open_[node] != 0 && cores_[node] > 0) {
    has_room_[node / kWord] |= bit;
  } else {
    has_room_[node / kWord] &= ~bit;
  }
}

/// Calls `visit` with the open nodes of the partition that have a free core, in order, until it
/// returns true.
template <class Visit>
void Rooms::each_room(std::uint32_t partition, const Visit& visit) const {
  const std::vector<std::uint64_t>& members = members_[partition];
  for (std::size_t word = 0; word < has_room_.size(); ++word) {
    for (std::uint64_t bits = has_room_[word] & members[word]; bits != 0; bits &= bits - 1) {
      const auto node = static_cast<std::uint32_t>(word * kWord) +
                        static_cast<std::uint32_t>(std::countr_zero(bits));
      if (visit(node)) return;
    }
  }
}

// The cores of this node that the job could use.
std::uint32_t Rooms::cores_for(const Need& need, std::uint32_t node) const {
  if (gpus_[node] < need.gpus_per_node) return 0;
  if (machine_->nodes[node].mem_mb == 0) return cores_[node];
  if (mem_[node] < need.mem_node_mb) return 0;
  if (need.mem_core_mb == 0) return cores_[node];
  const std::uint64_t left = mem_[node] - need.mem_node_mb;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cores_[node], left / need.mem_core_mb));
}

bool Rooms::find(const Need& need, Seats& seats) const {
  seats.clear();
  if (free_cores_[need.partition] < need.cores) return false;
  if (need.nodes > 0) return find_spread(need, seats);
  std::uint32_t left = need.cores;
  const bool plain = need.is_plain();
  each_room(need.partition, [&](std::uint32_t node) {
    const std::uint32_t cores = std::min(left, plain ? cores_[node] : cores_for(need, node));
    if (cores > 0) seats.push_back({node, cores});
    left -= cores;
    return left == 0;
  });
  return left == 0;
}

// As many nodes as asked for; their numbers of cores differ by at most one.
bool Rooms::find_spread(const Need& need, Seats& seats) const {
  const std::uint32_t low = need.cores / need.nodes;
  std::uint32_t larger = need.cores % need.nodes, smaller = need.nodes - larger;
  each_room(need.partition, [&](std::uint32_t node) {
    const std::uint32_t cores = cores_for(need, node);
    if (larger > 0 && cores > low) {
      seats.push_back({node, low + 1});
      --larger;
    } else if (smaller > 0 && cores >= low) {
      seats.push_back({node, low});
      --smaller;
    }
    return larger + smaller == 0;
  });
  return larger + smaller == 0;
}

bool Rooms::fits(const Need& need) const {
  if (need.is_plain()) return free_cores_[need.partition] >= need.cores;
  Seats seats;
  return find(need, seats);
}

void Rooms::count(std::uint32_t node, std::int64_t cores) {
  const auto add = [cores](std::uint32_t& sum) {
    sum = static_cast<std::uint32_t>(static_cast<std::int64_t>(sum) + cores);
  };
  if (partitions_of_.empty()) return add(free_cores_[0]);
  for (const std::uint32_t partition : partitions_of_[node]) add(free_cores_[partition]);
}

void Rooms::take(const Need& need, const Seats& seats) {
  for (const Seat& seat : seats) {
    cores_[seat.node] -= seat.cores;
    gpus_[seat.node] -= need.gpus_per_node;
    if (machine_->nodes[seat.node].mem_mb > 0)
      mem_[seat.node] -= need.mem_node_mb + need.mem_core_mb * seat.cores;
    if (is_open_[seat.node] != 0) count(seat.node, -std::int64_t{seat.cores});
    mark(seat.node);
  }
}

void Rooms::give(const Need& need, const Seats& seats) {
  for (const Seat& seat : seats) {
    cores_[seat.node] += seat.cores;
    gpus_[seat.node] += need.gpus_per_node;
    if (machine_->nodes[seat.node].mem_mb > 0)
      mem_[seat.node] += need.mem_node_mb + need.mem_core_mb * seat.cores;
    if (is_open_[seat.node] != 0) count(seat.node, seat.cores);
    mark(seat.node);
  }
}

void Rooms::open(std::uint32_t node, bool is_open) {
  if ((is_open_[node] != 0) == is_open) return;
  closed_ += is_open ? std::size_t(-1) : 1;
  is_open_[node] = is_open ? 1 : 0;
  const std::int64_t cores = cores_[node];
  count(node, is_open ? cores : -cores);
  mark(node);
}

}  // namespace market::sim
