// SPDX-License-Identifier: GPL-2.0-or-later
// The node plan with the ends of its bookings, which tell how far a start that does not fit can be
// skipped.
#pragma once

#include <map>
#include <string>

#include "core/plan/node_plan.h"

namespace market {

class Bookings {
 public:
  const NodePlan& plan() const { return plan_; }
  void set_nodes(std::vector<Node> nodes);
  void prefer(const std::vector<std::uint16_t>& ranks) { plan_.prefer(ranks); }

  /// Nothing is asked of times before `now` any more.
  void forget_before(Time now) { plan_.forget_before(now); }

  void book(const std::string& key, Placement placement, Time start, Time end);
  void cancel(const std::string& key);
  /// Gives a booking another key, replacing what that key had booked; makes no room itself.
  void rename(const std::string& key, const std::string& new_key);

  /// First end of a booking after `time`, or with `count` the second, third, … moment at which any end; the last such
  /// moment when there are fewer, `time` itself when there is none. What does not fit at `time` fits at no start before
  /// the first of them: until then the same bookings are in the way.
  Time next_end(Time time, int count = 1) const;

  /// How often room was made so far: a booking was replaced or cancelled, or the nodes are others.
  std::uint64_t freed() const { return freed_; }

 private:
  void forget_end(Time end);

  NodePlan plan_;
  std::map<Time, std::uint32_t> ends_;  // how many bookings end then
  std::uint64_t freed_ = 0;
};

}  // namespace market
