// SPDX-License-Identifier: GPL-2.0-or-later
// Which cores of which nodes are taken when: by running jobs, by reservations of others, by planned
// starts. Prices come from totals over time; this is what makes a promise keepable on real nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/words/bid.h"

namespace market {

/// A set of core numbers of one node.
class CoreSet {
 public:
  CoreSet() = default;
  static CoreSet first(std::uint32_t count);
  static CoreSet from_words(const std::uint64_t* words, std::size_t count);
  const std::vector<std::uint64_t>& words() const { return words_; }
  std::uint32_t count() const;
  bool contains(std::uint32_t core) const;
  void clear() { words_.clear(); }
  void insert(std::uint32_t core);
  void insert(const CoreSet& other);
  bool overlaps(const CoreSet& other) const;
  bool operator==(const CoreSet& other) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

struct Node {
  std::string name;
  std::uint32_t cores = 1;
  std::uint32_t threads_per_core = 1;
  std::uint64_t mem_mb = 0;                  ///< 0: memory is not consumable, any amount fits
  std::map<std::string, std::int64_t> gres;  ///< "gpu:a100" → 4
  std::set<std::string> features;
  std::set<std::string> partitions;
  bool usable = true;  ///< up and not drained
};

/// One node's part of a booking.
struct Seat {
  std::uint32_t node = 0;  ///< index into the nodes
  CoreSet cores;
  std::uint64_t mem_mb = 0;
  std::map<std::string, std::int64_t> gres;
};
using Placement = std::vector<Seat>;

struct FreeNode;

class NodePlan {
 public:
  NodePlan() = default;
  // The index by node points into the bookings.
  NodePlan(const NodePlan&) = delete;
  NodePlan& operator=(const NodePlan&) = delete;
  NodePlan(NodePlan&&) = default;
  NodePlan& operator=(NodePlan&&) = default;

  /// Nodes and their order; bookings on nodes that disappear are dropped, others are kept by name.
  void set_nodes(std::vector<Node> nodes);
  /// Nodes of a lower rank are taken first, those of the same one in node order; until the next
  /// set_nodes(). `ranks` by node; those that are missing are 0.
  void prefer(const std::vector<std::uint16_t>& ranks);
  const std::vector<Node>& nodes() const { return nodes_; }

  /// Books, replacing an earlier booking of the same key. Does not check for overlaps: what runs,
  /// runs.
  void book(const std::string& key, Placement placement, Time start, Time end);
  void cancel(const std::string& key);
  bool booked(const std::string& key) const;
  /// What a booking holds at `time`; null when it holds nothing then.
  const Placement* held(const std::string& key, Time time) const;
  /// Gives a booking another key, replacing what that key had booked.
  void rename(const std::string& key, std::string new_key);

  /// Cores (then memory and gres) free over the whole of [start, end) for `shape` in `partition`;
  /// bookings with key `ignore` count as free. The same cores are held for the whole time, as Slurm
  /// does. Fewest nodes first, ties by prefer(), then by node order. Empty when it does not fit. Cost: linear in the
  /// bookings that overlap, on the nodes looked at.
  std::optional<Placement> place(const Shape& shape, const std::string& partition, Time start,
                                 Time end, const std::string& ignore = {}) const;

  /// As place(), on the cluster as if it were empty and all nodes usable.
  std::optional<Placement> place_empty(const Shape& shape, const std::string& partition) const;

  /// The nodes of `partition` that could hold a task of `shape` if they were empty, by index.
  std::vector<std::uint32_t> able(const Shape& shape, const std::string& partition) const;

  /// The numbers of threads per core that nodes of `partition` have.
  std::set<std::uint32_t> threads_per_core(const std::string& partition) const;

  /// Whether `shape` would fit on the cluster if it were empty and all nodes usable ("larger than
  /// the cluster" when not).
  bool fits_empty(const Shape& shape, const std::string& partition) const;

 private:
  struct Booking {
    Time start = 0;
    Time end = 0;
    Placement placement;
  };
  /// A seat of a booking as the index by node keeps it: times beside the pointer, so that most need
  /// no look at the booking.
  struct Held {
    Time start = 0;
    Time end = 0;
    const Seat* seat = nullptr;
    const Booking* booking = nullptr;
  };
  struct Window {
    Time start = 0;
    Time end = 0;
    const Booking* ignore = nullptr;
    bool overlaps(const Held& held) const {
      return held.start < end && held.end > start && held.booking != ignore;
    }
  };

  void index(const Booking& booking);
  void unindex(const Booking& booking);
  std::vector<std::uint32_t> members(const std::string& partition) const;
  std::optional<Placement> search(const Shape& shape, const std::string& partition,
                                  const Window* window) const;
  bool subtract_bookings(const Shape& shape, const Window& window, FreeNode& free) const;

  std::vector<Node> nodes_;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>>
      partitions_;  ///< node indices in the order in which they are taken
  std::map<std::string, std::set<std::uint32_t>, std::less<>> threads_;  ///< by partition
  std::map<std::string, Booking> bookings_;
  std::vector<std::vector<Held>> by_node_;
};

}  // namespace market
