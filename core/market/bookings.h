// SPDX-License-Identifier: GPL-2.0-or-later
// The node plan with the ends of its bookings, which tell how far a start that does not fit can be
// skipped.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "core/plan/node_plan.h"

namespace market {

class Bookings {
 public:
  const NodePlan& plan() const { return plan_; }
  void set_nodes(std::vector<Node> nodes) { plan_.set_nodes(std::move(nodes)); }
  void prefer(const std::vector<std::uint16_t>& ranks) { plan_.prefer(ranks); }

  /// Nothing is asked of times before `now` any more.
  void forget_before(Time now) { plan_.forget_before(now); }

  void book(const std::string& key, Placement placement, Time start, Time end);
  void cancel(const std::string& key);
  /// Gives a booking another key, replacing what that key had booked; makes no room itself.
  void rename(const std::string& key, const std::string& new_key);

  /// First end of a booking after `time`; `time` itself when there is none. What does not fit at
  /// `time` fits at no start before it: until then the same bookings are in the way.
  Time next_end(Time time) const;

  /// How often room was made (a booking cancelled or shortened) so far.
  std::uint64_t freed() const { return freed_; }

 private:
  NodePlan plan_;
  std::unordered_map<std::string, Time> end_of_;
  std::multiset<Time> ends_;
  std::uint64_t freed_ = 0;
};

}  // namespace market
