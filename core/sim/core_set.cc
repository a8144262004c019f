// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/core_set.h"

#include <algorithm>

namespace market::sim {
namespace {

constexpr std::uint32_t kWord = 64;

}  // namespace

CoreMap::CoreMap(const Machine& machine) {
  std::uint32_t most = 1;
  for (const MachineNode& node : machine.nodes) most = std::max(most, node.cores);
  width_ = (most + kWord - 1) / kWord;
  all_.resize(machine.nodes.size() * width_);
  bits_.resize(all_.size());
  mem_taken_.resize(machine.nodes.size());
  gpus_taken_.resize(machine.nodes.size());
  for (std::size_t node = 0; node < machine.nodes.size(); ++node) {
    mem_mb_.push_back(machine.nodes[node].mem_mb);
    gpus_.push_back(machine.nodes[node].gpus);
    for (std::uint32_t core = 0; core < machine.nodes[node].cores; ++core)
      all_[node * width_ + core / kWord] |= std::uint64_t{1} << (core % kWord);
  }
}

void CoreMap::add(const CoreSet& set) {
  for (std::size_t i = 0; i < set.words.size(); ++i)
    bits_[set.nodes[i / width_] * width_ + i % width_] |= set.words[i];
  for (std::size_t i = 0; i < set.mem_mb.size(); ++i) {
    mem_taken_[set.nodes[i]] += set.mem_mb[i];
    gpus_taken_[set.nodes[i]] += set.gpus_per_node;
  }
}

void CoreMap::remove(const CoreSet& set) {
  for (std::size_t i = 0; i < set.words.size(); ++i)
    bits_[set.nodes[i / width_] * width_ + i % width_] &= ~set.words[i];
  for (std::size_t i = 0; i < set.mem_mb.size(); ++i) {
    mem_taken_[set.nodes[i]] -= set.mem_mb[i];
    gpus_taken_[set.nodes[i]] -= set.gpus_per_node;
  }
}

bool CoreMap::overlaps(const CoreSet& set) const {
  for (std::size_t i = 0; i < set.words.size(); ++i) {
    if ((bits_[set.nodes[i / width_] * width_ + i % width_] & set.words[i]) != 0) return true;
  }
  return false;
}

void CoreMap::append_node(CoreSet& set, std::uint32_t node) const {
  set.nodes.push_back(node);
  for (std::size_t word = 0; word < width_; ++word) set.words.push_back(all_[node * width_ + word]);
}

std::uint32_t CoreMap::free_cores(std::uint32_t node) const {
  std::uint32_t count = 0;
  for (std::size_t word = node * width_; word < (node + 1) * width_; ++word)
    count += static_cast<std::uint32_t>(std::popcount(all_[word] & ~bits_[word]));
  return count;
}

// The cores of this node whose memory and GPUs are free there; all of them where these do not count.
std::uint32_t CoreMap::cores_with_room(const Need& need, std::uint32_t node) const {
  constexpr std::uint32_t kAny = UINT32_MAX;
  if (gpus_[node] < gpus_taken_[node] + need.gpus_per_node) return 0;
  if (mem_mb_[node] == 0) return kAny;
  if (mem_mb_[node] < mem_taken_[node] + need.mem_node_mb) return 0;
  if (need.mem_core_mb == 0) return kAny;
  const std::uint64_t left = mem_mb_[node] - mem_taken_[node] - need.mem_node_mb;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left / need.mem_core_mb, kAny));
}

void CoreMap::take(CoreSet& chosen, std::uint32_t node, const std::uint64_t* allowed,
                   const Need& need, std::uint32_t& left) const {
  const std::size_t first = chosen.words.size();
  const std::uint32_t most = std::min(left, cores_with_room(need, node));
  std::uint32_t used = 0;
  for (std::size_t word = 0; word < width_; ++word) {
    std::uint64_t free = all_[node * width_ + word] & ~bits_[node * width_ + word];
    if (allowed != nullptr) free &= allowed[word];
    std::uint64_t taken = 0;
    while (free != 0 && used < most) {
      taken |= free & -free;
      free &= free - 1;
      ++used;
    }
    chosen.words.push_back(taken);
  }
  left -= used;
  if (used > 0) {
    chosen.nodes.push_back(node);
    chosen.gpus_per_node = need.gpus_per_node;
    chosen.mem_mb.push_back(mem_mb_[node] == 0 ? 0 : need.mem_node_mb + used * need.mem_core_mb);
  } else {
    chosen.words.resize(first);
  }
}

// As many nodes as asked for; their numbers of cores differ by at most one.
CoreSet CoreMap::spread(const Need& need, const std::vector<char>& open) const {
  CoreSet chosen;
  const std::uint32_t low = need.cores / need.nodes;
  std::uint32_t larger = need.cores % need.nodes, smaller = need.nodes - larger;
  for (std::uint32_t node = 0; node < open.size() && larger + smaller > 0; ++node) {
    if (open[node] == 0) continue;
    const std::uint32_t cores = std::min(free_cores(node), cores_with_room(need, node));
    const bool takes_more = larger > 0 && cores > low;
    if (!takes_more && (smaller == 0 || cores < low)) continue;
    std::uint32_t count = takes_more ? low + 1 : low;
    --(takes_more ? larger : smaller);
    take(chosen, node, nullptr, need, count);
  }
  return larger + smaller == 0 ? chosen : CoreSet{};
}

CoreSet CoreMap::choose(const Need& need, const std::vector<char>& open,
                        const CoreSet* inside) const {
  CoreSet chosen;
  if (inside == nullptr && need.nodes > 0) return spread(need, open);
  std::uint32_t left = need.cores;
  if (inside != nullptr) {
    for (std::size_t i = 0; i < inside->nodes.size() && left > 0; ++i) {
      if (open[inside->nodes[i]] != 0)
        take(chosen, inside->nodes[i], &inside->words[i * width_], need, left);
    }
  } else {
    for (std::uint32_t node = 0; node < open.size() && left > 0; ++node) {
      if (open[node] != 0) take(chosen, node, nullptr, need, left);
    }
  }
  const bool on_as_many = need.nodes == 0 || chosen.nodes.size() == need.nodes;
  return left == 0 && on_as_many ? chosen : CoreSet{};
}

}  // namespace market::sim
