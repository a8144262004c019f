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
  for (std::size_t node = 0; node < machine.nodes.size(); ++node) {
    for (std::uint32_t core = 0; core < machine.nodes[node].cores; ++core)
      all_[node * width_ + core / kWord] |= std::uint64_t{1} << (core % kWord);
  }
}

void CoreMap::add(const CoreSet& set) {
  for (std::size_t i = 0; i < set.words.size(); ++i)
    bits_[set.nodes[i / width_] * width_ + i % width_] |= set.words[i];
}

void CoreMap::remove(const CoreSet& set) {
  for (std::size_t i = 0; i < set.words.size(); ++i)
    bits_[set.nodes[i / width_] * width_ + i % width_] &= ~set.words[i];
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

void CoreMap::take(CoreSet& chosen, std::uint32_t node, const std::uint64_t* allowed,
                   std::uint32_t& left) const {
  const std::size_t first = chosen.words.size();
  bool is_used = false;
  for (std::size_t word = 0; word < width_; ++word) {
    std::uint64_t free = all_[node * width_ + word] & ~bits_[node * width_ + word];
    if (allowed != nullptr) free &= allowed[word];
    std::uint64_t taken = 0;
    while (free != 0 && left > 0) {
      taken |= free & -free;
      free &= free - 1;
      --left;
    }
    is_used |= taken != 0;
    chosen.words.push_back(taken);
  }
  if (is_used) {
    chosen.nodes.push_back(node);
  } else {
    chosen.words.resize(first);
  }
}

CoreSet CoreMap::choose(std::uint32_t count, const std::vector<char>& open,
                        const CoreSet* inside) const {
  CoreSet chosen;
  std::uint32_t left = count;
  if (inside != nullptr) {
    for (std::size_t i = 0; i < inside->nodes.size() && left > 0; ++i) {
      if (open[inside->nodes[i]] != 0)
        take(chosen, inside->nodes[i], &inside->words[i * width_], left);
    }
  } else {
    for (std::uint32_t node = 0; node < open.size() && left > 0; ++node) {
      if (open[node] != 0) take(chosen, node, nullptr, left);
    }
  }
  return left == 0 ? chosen : CoreSet{};
}

}  // namespace market::sim
