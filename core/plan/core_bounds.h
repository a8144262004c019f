// SPDX-License-Identifier: GPL-2.0-or-later
// How many cores of each node can be free at most, by slices of time: most starts that have no room are known by it, without
// a look at the bookings.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/plan/node.h"
#include "core/words/bid.h"

namespace market {

/// Upper bounds, for windows of time, of the cores that are free on a node over the whole window. A bound may be too
/// high, since not all slices are kept; it is never too low.
class CoreBounds {
 public:
  static constexpr Time kSlice = 300;                // seconds
  static constexpr std::uint32_t kGroup = 64;        // nodes that have one bound together
  static constexpr std::int64_t kMostSlices = 4096;  // two weeks
  static constexpr std::size_t kLevels = 3;  // of longer and longer slices, for long windows
  static constexpr std::int64_t kStep = 16;  // slices that one of the next level is long
  static constexpr std::uint16_t kNoBound = std::numeric_limits<std::uint16_t>::max();
  using GroupBounds = std::array<std::uint16_t, kGroup>;

  struct Use {
    Time start = 0;
    Time end = 0;
    const CoreSet* cores = nullptr;
  };

  /// Nothing is in use any more.
  void set_nodes(const std::vector<Node>& nodes);
  /// Slices that are over are dropped, and as many later ones can be kept; none before the first call. Time does not go
  /// back: an earlier `now` changes nothing.
  void forget_before(Time now);

  /// The slices that a change in [start, end) concerns, as times; empty (until <= from) where none of them is kept.
  struct Span {
    Time from = 0;
    Time until = 0;
  };
  Span concerned(Time start, Time end) const;
  /// When the bounds of a node's group follow: with the node, or once with the last one of several nodes of the group
  /// that change over the same span, before which nothing is asked.
  enum class GroupFollows { kAtOnce, kLater, kWithAll };
  /// From now on `uses` is all that overlaps `span` of the node. `span` is from concerned().
  void set(std::uint32_t node, const Span& span, const std::vector<Use>& uses,
           GroupFollows follows = GroupFollows::kAtOnce);

  /// Of each group the bound of its best node over [start, end); some more of 0 behind them.
  void bound_groups(Time start, Time end, std::vector<std::uint16_t>& bounds) const;
  /// Of each node of one group the bound over [start, end).
  GroupBounds bound_nodes(std::size_t group, Time start, Time end) const;
  /// At or after `start`: before it begins no window of `length` over which a node has `on_one` cores free and in each
  /// slice of which all together have `in_all`. A glance at each slice that is passed over, but for those of `closed`, in
  /// which none begins as an earlier call told.
  Time open_from(Time start, Time length, std::uint32_t on_one, std::uint64_t in_all,
                 const Span& closed) const;

 private:
  /// What is free of each node of one group, slice after slice, so that a booking writes and a window reads one stretch of
  /// memory. Slices after the last one have no bound.
  using Lane = std::vector<std::uint16_t>;
  /// Slices of one length, each as many of the level below.
  struct Level {
    std::int64_t first = 0;   ///< number of the first slice of lanes and rows: time ÷ length
    std::vector<Lane> lanes;  ///< by group
    std::vector<std::uint16_t>
        rows;  ///< of each slice the most that is free on a node of each group
  };

  void drop_front(Level& level, std::int64_t slices) const;
  void grow(Level& level, std::size_t group, std::int64_t slices) const;
  std::uint16_t change(Level& level, std::int64_t at, std::uint32_t node, std::uint16_t value,
                       GroupFollows follows) const;
  void sum_up(std::uint32_t node, const Span& span, GroupFollows follows);
  void set_node(std::uint32_t node, const Span& span, const std::vector<Use>& uses,
                GroupFollows follows);
  void follow(std::size_t group, const Span& span);
  template <class Look>
  void for_each_stretch(Time start, Time end, Look look) const;

  std::vector<std::uint16_t> cores_;  // by node, whole groups
  std::vector<std::uint16_t>
      group_cores_;  // the most of a group: a row of slices in which nothing is held
  std::uint64_t all_cores_ = 0;
  std::array<Level, kLevels> within_;  // cores that nobody holds at any moment of a slice
  Level through_;  // of the shortest slices: cores that nobody holds all through one
  std::vector<std::uint64_t> totals_;  // of the slices of through_, over all nodes
  std::int64_t now_ = -1;  // the slice before which nothing is asked any more; -1: not told yet
  std::vector<std::uint64_t> taken_within_, taken_through_;  // while set() counts
};

}  // namespace market
