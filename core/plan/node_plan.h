// SPDX-License-Identifier: GPL-2.0-or-later
// Which cores of which nodes are taken when: by running jobs, by reservations of others, by planned
// starts. Prices come from totals over time; this is what makes a promise keepable on real nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/plan/closed_starts.h"
#include "core/plan/core_bounds.h"
#include "core/plan/node.h"
#include "core/plan/node_proofs.h"
#include "core/plan/node_use.h"
#include "core/plan/search_memory.h"
#include "core/words/bid.h"

namespace market {

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
  /// Nothing is asked of times before `now` any more. Searches are fast from the first call on.
  void forget_before(Time now) {
    bounds_.forget_before(now);
    closed_.forget_before(now);
  }
  /// Nodes of a lower rank are taken first, those of the same one in node order; until the next
  /// set_nodes(). `ranks` by node; those that are missing are 0.
  void prefer(const std::vector<std::uint16_t>& ranks);
  const std::vector<Node>& nodes() const { return nodes_; }

  /// Books, replacing an earlier booking of the same key. Does not check for overlaps: what runs,
  /// runs.
  void book(const std::string& key, Placement placement, Time start, Time end);
  void cancel(const std::string& key);
  bool booked(const std::string& key) const { return bookings_.contains(key); }
  std::optional<Time> end_of(const std::string& key) const;
  /// How long a booking could go on, at most until `until`: no longer than what it holds is promised to another booking
  /// that begins after `now`. Its end where there is no such time; 0 where it is not booked.
  Time can_last(const std::string& key, Time now, Time until) const;
  /// Of all bookings.
  std::vector<Time> ends() const;
  /// What a booking holds at `time`; null when it holds nothing then.
  const Placement* held(const std::string& key, Time time) const;
  /// Gives a booking another key, replacing what that key had booked.
  void rename(const std::string& key, std::string new_key);

  /// Cores (then memory and gres) free over the whole of [start, end) for `shape` in `partition`;
  /// bookings with key `ignore` count as free. The same cores are held for the whole time, as Slurm
  /// does. Fewest nodes first, ties by prefer(), then by node order. Empty when it does not fit. Who tries several
  /// windows uses a PlaceSearch.
  std::optional<Placement> place(const Shape& shape, const std::string& partition, Time start,
                                 Time end, const std::string& ignore = {}) const;

  /// As place(), on the cluster as if it were empty and all nodes usable.
  std::optional<Placement> place_empty(const Shape& shape, const std::string& partition) const;

  /// The nodes of `partition` that could hold a task of `shape` if they were empty, by index.
  std::vector<std::uint32_t> able(const Shape& shape, const std::string& partition) const;

  /// The nodes of `partition` that features and the like let `shape` have, in the order in which they are taken.
  std::vector<std::uint32_t> qualified(const Shape& shape, const std::string& partition) const;

  /// Nodes of `partition`, usable or not, of which each other one has the cores, threads, memory and gres of one of them.
  std::span<const std::uint32_t> kinds(const std::string& partition) const;

  /// The numbers of threads per core that nodes of `partition` have.
  std::set<std::uint32_t> threads_per_core(const std::string& partition) const;

  /// Whether `shape` would fit on the cluster if it were empty and all nodes usable ("larger than
  /// the cluster" when not).
  bool fits_empty(const Shape& shape, const std::string& partition) const;

 private:
  friend class PlaceSearch;

  struct Booking {
    Time start = 0;
    Time end = 0;
    Placement placement;
    bool operator==(const Booking& other) const = default;
  };

  /// Node indices, in the order in which they are taken.
  struct Members {
    std::vector<std::uint32_t> all, usable;
    /// One of each number of cores and threads, size of memory and gres.
    std::vector<std::uint32_t> all_kinds, usable_kinds;
  };

  void add_kind(std::vector<std::uint32_t>& kinds, std::uint32_t node) const;
  void add_member(Members& members, std::uint32_t node) const;
  void hold(const Booking& booking);
  void index(const Booking& booking);
  void unindex(const Booking& booking);
  void tell_room(const Booking& before, const Booking& after);
  void bound_all(const Booking& booking);
  void bound(std::uint32_t node, const CoreBounds::Span& span, CoreBounds::GroupFollows follows);

  std::vector<Node> nodes_;
  std::map<std::string, Members, std::less<>> partitions_;
  std::map<std::string, std::set<std::uint32_t>, std::less<>> threads_;  ///< by partition
  std::map<std::string, Booking> bookings_;
  std::vector<NodeUse> by_node_;
  CoreBounds bounds_;
  mutable NodeProofs proofs_;           // of single nodes, as searches found
  mutable ClosedStarts closed_;         // as searches found
  mutable SearchMemory search_memory_;  // of the last one
  std::vector<CoreBounds::Use> uses_;   // while bound() gathers them
};

}  // namespace market
