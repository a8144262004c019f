// SPDX-License-Identifier: GPL-2.0-or-later
// The search behind NodePlan::place, for who tries several windows.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/plan/node_plan.h"

namespace market {

class NodeChoice;
struct FreeNode;

/// Places one shape in one window after the other; what its windows have in common is worked out once. The plan and the
/// shape outlive it unchanged. Where a window has no room, most often the bounds of the plan's free cores say so, at a
/// cost of (nodes ÷ 64) × slices of the window.
class PlaceSearch {
 public:
  /// `ignore`: as in NodePlan::place().
  PlaceSearch(const NodePlan& plan, const Shape& shape, const std::string& partition,
              const std::string& ignore = {});
  /// For on_empty() alone: unusable nodes may be taken too.
  struct Unusable {};
  PlaceSearch(const NodePlan& plan, const Shape& shape, const std::string& partition, Unusable);

  /// As NodePlan::place().
  std::optional<Placement> at(Time start, Time end);
  /// After at(start, end) found nothing, or copies_at() too few, and where no booking ends after `start` and before
  /// `same_until`: at or after `start`, a moment before which they find no more for so long a time. What at() did not find
  /// is not looked for by later searches.
  Time open_from(Time start, Time end, Time same_until);
  /// Calls take(from, until) for spans in which at() finds nothing for so long a time, as earlier searches told: in any
  /// order, and they may overlap.
  template <class Take>
  void each_closed(Time length, Take take) const {
    if (ask_) plan_.closed_.each_closed(ask_for(length), take);
  }
  /// How many copies of the shape fit side by side in [start, end), at most `most`, each where at() would put it beside the
  /// others; `placement`: what they hold, one seat of each node. Copies of a shape of one task without gres cost a look at
  /// each node together, others each.
  std::uint32_t copies_at(std::uint32_t most, Time start, Time end, Placement* placement);
  /// How many fit so on the nodes if they were empty, at most `most`.
  std::uint32_t copies_on_empty(std::uint32_t most) const;
  /// As NodePlan::place_empty().
  std::optional<Placement> on_empty() const;

  ~PlaceSearch();
  PlaceSearch(const PlaceSearch&) = delete;
  PlaceSearch& operator=(const PlaceSearch&) = delete;

 private:
  PlaceSearch(const NodePlan& plan, const Shape& shape);
  void choose_nodes(const std::string& partition, bool usable_alone);
  std::optional<Placement> search(Time start, Time end);
  void bound_window(Time start, Time end);
  ClosedStarts::Ask ask_for(Time length) const {
    ClosedStarts::Ask ask = *ask_;
    ask.length = length;
    return ask;
  }
  Time known_open_from(Time start, Time end) const;
  Time bounded_open_from(Time start, Time end);
  std::optional<Placement> among(std::uint32_t least_cores, Time start, Time end);
  bool may_have_room(Time start, Time end);
  const CoreBounds::GroupBounds& bounds_of(std::size_t group, Time start, Time end);
  std::uint16_t bound_of(std::uint32_t node, Time start, Time end);
  bool subtract_bookings(Time start, Time end, std::uint32_t least_cores, FreeNode& free);
  bool is_closed(std::uint32_t node, Time start, std::uint32_t least_cores) const;
  void trust_no_bound_of_ignored();
  std::uint32_t put_copies(std::uint32_t most, std::vector<FreeNode>& nodes,
                           Placement* placement) const;
  std::uint32_t put_single_tasks(std::uint32_t most, const std::vector<FreeNode>& nodes,
                                 Placement* placement) const;

  const NodePlan& plan_;
  const Shape& shape_;
  const NodePlan::Booking* ignored_ = nullptr;
  std::optional<ClosedStarts::Ask> ask_;  // nothing: what is found says nothing of other searches
  std::set<std::string> required_;
  std::vector<std::uint32_t> chosen_;  // where not all of the partition will do
  const std::vector<std::uint32_t>* nodes_ =
      nullptr;                 // that may be taken, in the order in which they are
  std::uint32_t threads_ = 1;  // per core, the most of any of them
  std::uint32_t least_cores_ = std::numeric_limits<std::uint32_t>::max();  // of any of them
  std::uint32_t most_tasks_ = 0;                                           // on any of them
  std::uint32_t cores_for_one_ = 0;     // free cores without which a node holds no task
  std::uint32_t cores_for_fewest_ = 0;  // … is none of the fewest nodes possible; 0: not known
  std::uint64_t cores_in_all_ = 0;  // free on all nodes together, without which there is no room
  std::uint32_t least_nodes_ = 1;
  CoreBounds::Span missed_;  // the window in which at() just found nothing
  CoreBounds::Span
      closed_;  // in which nothing begins that is so long, as the last open_from() found
  Time closed_length_ = 0;
  bool no_more_nodes_ = false;  // than the least
  Time window_ = 0;             // the length of those in memory_.closed_nodes
  SearchMemory memory_;
};

}  // namespace market
