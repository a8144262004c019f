// SPDX-License-Identifier: GPL-2.0-or-later
// Bids for several requests at once (ERA, section 2.3.1): a list joined by AND, all or nothing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/mechanism/mechanism.h"

namespace market {

/// A start and a price for every request of a list.
struct Basket {
  std::vector<Time> starts;
  std::vector<double> credits;  ///< of each request
  double total = 0;
};

/// What the whole list costs. The requests are planned in the order of the list: each takes the
/// cheapest start of its window, the earliest of equals, at the prices that the promises of those
/// before it leave; another order may cost more or less. Nothing when one of them finds no start.
/// Promises are made on the way and all taken back, so `market` is afterwards as it was. No value
/// comes in, so the prices cannot depend on one.
std::optional<Basket> quote_basket(PostedPrice& market, std::span<const Request> requests,
                                   Time now);

/// The same, and when the total is at most `value` (the one comparison that is made with it) all
/// promises stand; else nothing is promised and nothing is returned. Each promise is taken back on
/// its own: release(requests[i], starts[i], …).
std::optional<Basket> buy_basket(PostedPrice& market, std::span<const Request> requests, Time now,
                                 double value);

}  // namespace market
