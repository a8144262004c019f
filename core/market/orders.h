// SPDX-License-Identifier: GPL-2.0-or-later
// The orders of one pass with everything their pointers point at.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/plan/node_plan.h"
#include "core/words/slurm_view.h"

namespace market {

/// The kind of an order in words, as after "order to".
const char* order_name(int kind);

class Orders {
 public:
  void clear();
  /// Appends an order of this kind for a job; its fields can be set until the next call.
  market_order_t& add(market_order_kind kind, std::uint32_t job_id);
  /// Keeps a text until clear().
  const char* keep(std::string text);
  /// Points the order at a placement, seats in increasing order of nodes.
  void set_places(market_order_t& order, Placement placement);
  /// For the end of a pass at `now`: a reservation that nobody counted on, and that is made anew, is not deleted before; last come
  /// those that may wait (market_order_t): reservations for starts after `soon`, unless they move, and the end of others, unless one
  /// that may not wait could need their cores, which it does not where `is_needless`.
  void put_in_order(Time soon, const std::function<bool(const market_order_t&)>& is_needless);
  const std::vector<market_order_t>& list() const { return list_; }

 private:
  std::vector<market_order_t> list_;
  std::deque<std::string> texts_;
  std::deque<Placement> placements_;
  std::deque<std::vector<market_alloc_t>> allocs_;
};

}  // namespace market
