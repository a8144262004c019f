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
  /// From now on `uses` is all that overlaps `span` of the node. `span` is from concerned().
  void set(std::uint32_t node, const Span& span, const std::vector<Use>& uses);

  /// Of each group the bound of its best node over [start, end).
  void bound_groups(Time start, Time end, std::vector<std::uint16_t>& bounds) const;
  /// Of each node of one group the bound over [start, end).
  GroupBounds bound_nodes(std::size_t group, Time start, Time end) const;

 private:
  /// Of one group of nodes, slice after slice, so that a booking writes and a window reads one stretch of memory: what is
  /// free of each node, and the most of that. Slices after the last one have no bound.
  struct Lane {
    std::vector<std::uint16_t> free, most;
  };
  /// Slices of one length, each as many of the level below.
  struct Level {
    std::int64_t first = 0;   ///< number of the lanes' first slice: time ÷ length
    std::vector<Lane> lanes;  ///< by group
  };

  void drop_front(Level& level, std::int64_t slices);
  void grow(Lane& lane, std::size_t group, std::int64_t slices) const;
  static void change(Lane& lane, std::int64_t at, std::uint32_t node, std::uint16_t value);
  void sum_up(std::uint32_t node, const Span& span);
  template <class Look>
  void for_each_stretch(Time start, Time end, Look look) const;

  std::vector<std::uint16_t> cores_;        // by node, whole groups
  std::vector<std::uint16_t> group_cores_;  // the most of a group
  std::array<Level, kLevels> within_;       // cores that nobody holds at any moment of a slice
  Level through_;          // of the shortest slices: cores that nobody holds all through one
  std::int64_t now_ = -1;  // the slice before which nothing is asked any more; -1: not told yet
  std::vector<std::uint64_t> taken_within_, taken_through_;  // while set() counts
};

}  // namespace market
