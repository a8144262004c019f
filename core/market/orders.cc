// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/orders.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace market {

const char* order_name(int kind) {
  switch (kind) {
    case MARKET_SET_PRIORITY:
      return "set priority";
    case MARKET_HOLD:
      return "hold";
    case MARKET_RELEASE:
      return "release";
    case MARKET_RESERVE:
      return "reserve";
    case MARKET_EXTEND:
      return "extend its reservation";
    case MARKET_UNRESERVE:
      return "delete its reservation";
    case MARKET_BIND:
      return "bind to its reservation";
    case MARKET_UNBIND:
      return "unbind from its reservation";
    case MARKET_SPLIT:
      return "split its array";
    case MARKET_SET_NOTE:
      return "set its note";
    case MARKET_SET_BILL:
      return "set its bill";
    case MARKET_SET_REASON:
      return "set its reason";
    case MARKET_AWARD:
      return "award it nodes";
    case MARKET_SET_ARRAY_LIMIT:
      return "set the limit of its array";
    case MARKET_TAKE_AWARD:
      return "take its award back";
    case MARKET_SUSPEND:
      return "suspend";
    case MARKET_RESUME:
      return "resume";
    case MARKET_REQUEUE:
      return "requeue";
    case MARKET_CANCEL:
      return "cancel";
    default:
      return "do something unknown";
  }
}

// A pass of many orders keeps no memory for the others, most of which have few.
void Orders::clear() {
  *this = Orders();
}

market_order_t& Orders::add(market_order_kind kind, std::uint32_t job_id) {
  market_order_t& order = list_.emplace_back();
  order = market_order_t{};
  order.kind = kind;
  order.job_id = job_id;
  return order;
}

void Orders::put_in_order(Time soon,
                          const std::function<bool(const market_order_t&)>& is_needless) {
  std::map<std::string_view, std::size_t> made;  // by name, the last order that makes it
  for (std::size_t i = 0; i < list_.size(); ++i)
    if (list_[i].kind == MARKET_RESERVE) made[list_[i].name] = i;
  std::set<std::string_view> moved;
  std::vector<market_order_t> kept;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const market_order_t& order = list_[i];
    const auto again = order.kind == MARKET_UNRESERVE ? made.find(order.name) : made.end();
    const bool is_made_anew = again != made.end() && again->second > i;
    if (is_made_anew) moved.insert(order.name);
    if (is_made_anew && order.job_id == 0) continue;
    kept.push_back(order);
  }
  list_ = std::move(kept);
  bool any_is_due = false;
  for (market_order_t& order : list_) {
    if (order.kind != MARKET_RESERVE) continue;
    order.may_wait = order.start > soon && !moved.contains(order.name);
    any_is_due |= !order.may_wait;
  }
  for (market_order_t& order : list_)
    if (order.kind == MARKET_UNRESERVE && !moved.contains(order.name))
      order.may_wait = !any_is_due || is_needless(order);
  std::stable_partition(list_.begin(), list_.end(),
                        [](const market_order_t& order) { return !order.may_wait; });
}

const char* Orders::keep(std::string text) {
  return texts_.emplace_back(std::move(text)).c_str();
}

void Orders::set_places(market_order_t& order, Placement placement) {
  std::erase_if(placement, [](const Seat& seat) { return seat.node == UINT32_MAX; });  // gone
  std::sort(placement.begin(), placement.end(),
            [](const Seat& a, const Seat& b) { return a.node < b.node; });
  const Placement& kept = placements_.emplace_back(std::move(placement));
  std::vector<market_alloc_t>& allocs = allocs_.emplace_back();
  for (const Seat& seat : kept) {
    market_alloc_t alloc{};
    alloc.node = seat.node;
    alloc.mem_mb = seat.mem_mb;
    alloc.core_words = seat.cores.words().data();
    alloc.word_count = static_cast<std::uint32_t>(seat.cores.words().size());
    allocs.push_back(alloc);
  }
  order.allocs = allocs.data();
  order.alloc_count = static_cast<std::uint32_t>(allocs.size());
}

}  // namespace market
