// SPDX-License-Identifier: GPL-2.0-or-later
// What a plan knows of a node, and a job's part of it.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/util/rare.h"
#include "core/words/resources.h"

namespace market {

/// A set of core numbers of one node; without an allocation up to core 127.
class CoreSet {
 public:
  CoreSet() = default;
  static CoreSet first(std::uint32_t count);
  static CoreSet from_words(const std::uint64_t* words, std::size_t count);
  /// 64 cores each, without empty words at the end.
  std::span<const std::uint64_t> words() const;
  std::uint32_t count() const;
  bool contains(std::uint32_t core) const;
  void clear();
  void insert(std::uint32_t core);
  void insert(const CoreSet& other);
  bool overlaps(const CoreSet& other) const;
  bool operator==(const CoreSet& other) const = default;

 private:
  std::uint64_t* reach(std::size_t count);

  std::array<std::uint64_t, 2> few_{};
  Rare<std::vector<std::uint64_t>>
      many_;  ///< all words, where two are not enough; few_ is empty then
};

struct Node {
  std::string name;
  std::uint32_t cores = 1;
  std::uint32_t threads_per_core = 1;
  std::uint64_t mem_mb = 0;  ///< 0: memory is not consumable, any amount fits
  GresCounts gres;           ///< "gpu:a100" → 4
  std::set<std::string> features;
  std::set<std::string> partitions;
  bool usable = true;  ///< up and not drained
};

/// One node's part of a booking.
struct Seat {
  std::uint32_t node = 0;  ///< index into the nodes
  CoreSet cores;
  std::uint64_t mem_mb = 0;
  GresCounts gres;
  bool operator==(const Seat& other) const = default;
};
using Placement = std::vector<Seat>;

}  // namespace market
