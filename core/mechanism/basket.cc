// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/basket.h"

#include <algorithm>
#include <cmath>

namespace market {
namespace {

void withdraw(PostedPrice& market, std::span<const Request> requests, const Basket& basket) {
  for (std::size_t i = 0; i < basket.starts.size(); ++i)
    market.release(requests[i], basket.starts[i], basket.starts[i]);
}

/// Promises all requests, or none.
std::optional<Basket> promise_all(PostedPrice& market, std::span<const Request> requests,
                                  Time now) {
  Basket basket;
  for (const Request& request : requests) {
    const PriceList list = market.prices(request, now);
    const auto cheapest = std::min_element(list.credits.begin(), list.credits.end());
    if (cheapest == list.credits.end() || !std::isfinite(*cheapest)) {
      withdraw(market, requests, basket);
      return std::nullopt;
    }
    const Time start = list.first_start + (cheapest - list.credits.begin()) * list.slot;
    market.promise(request, start);
    basket.starts.push_back(start);
    basket.credits.push_back(*cheapest);
    basket.total += *cheapest;
  }
  return basket;
}

}  // namespace

std::optional<Basket> quote_basket(PostedPrice& market, std::span<const Request> requests,
                                   Time now) {
  std::optional<Basket> basket = promise_all(market, requests, now);
  if (basket) withdraw(market, requests, *basket);
  return basket;
}

std::optional<Basket> buy_basket(PostedPrice& market, std::span<const Request> requests, Time now,
                                 double value) {
  std::optional<Basket> basket = promise_all(market, requests, now);
  if (basket && !(value >= basket->total)) {
    withdraw(market, requests, *basket);
    return std::nullopt;
  }
  return basket;
}

}  // namespace market
