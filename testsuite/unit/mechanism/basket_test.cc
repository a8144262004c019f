// SPDX-License-Identifier: GPL-2.0-or-later
// Bids for a list of requests, all or nothing.
#include "core/mechanism/basket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;

Request hours_of(std::int64_t cpus, int hours, int window_hours) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = kNow;
  request.deadline = kNow + window_hours * 3600;
  request.duration = hours * 3600;
  return request;
}

/// Four CPUs; in the first hour of the week somebody else is expected to want two of them at 0.5.
std::unique_ptr<PostedPrice> small_market() {
  Config config;
  auto era = make_posted_price(config).value();
  era->update({{{"cpu", 4}}, {}}, kNow);
  const Time week_ago = kNow - 7 * 86400;
  era->learn({PastBid{week_ago, week_ago, week_ago + 3600, 3600, {{"cpu", 2}}, 1.0}}, kNow);
  return era;
}

TEST(Basket, PlansEachRequestAfterThePromisesOfTheEarlierOnes) {
  const auto market = small_market();
  // The first hour has two CPUs at 0.1 and two at 0.5, the second four at 0.1.
  const std::vector<Request> requests = {hours_of(4, 1, 2), hours_of(2, 1, 2), hours_of(2, 1, 2)};
  const auto quoted = quote_basket(*market, requests, kNow);
  ASSERT_TRUE(quoted);
  EXPECT_EQ(quoted->starts, (std::vector<Time>{kNow + 3600, kNow, kNow}));
  EXPECT_NEAR(quoted->credits[0], 0.4, 1e-9);
  EXPECT_NEAR(quoted->credits[1], 0.2, 1e-9);
  EXPECT_NEAR(quoted->credits[2], 1.0, 1e-9);
  EXPECT_NEAR(quoted->total, 1.6, 1e-9);
}

TEST(Basket, OneRequestThatFindsNoPlaceWithdrawsAll) {
  const auto market = small_market();
  const std::vector<Request> requests = {hours_of(4, 1, 2), hours_of(4, 1, 2), hours_of(1, 1, 2)};
  EXPECT_FALSE(buy_basket(*market, requests, kNow, 1000));
  EXPECT_TRUE(buy_basket(*market, std::span(requests).first(2), kNow, 1000))
      << "nothing was left promised";
  EXPECT_FALSE(quote_basket(*market, std::span(requests).last(1), kNow));
}

TEST(Basket, TheWholeListIsBoughtAtItsQuoteAndRefusedBelow) {
  const auto market = small_market();
  const std::vector<Request> requests = {hours_of(4, 1, 2), hours_of(4, 1, 2)};
  const double total = quote_basket(*market, requests, kNow)->total;
  EXPECT_FALSE(buy_basket(*market, requests, kNow, total - 1e-6));
  const auto bought = buy_basket(*market, requests, kNow, total);
  ASSERT_TRUE(bought);
  EXPECT_EQ(bought->total, total);
  EXPECT_FALSE(quote_basket(*market, requests, kNow));
  for (std::size_t i = 0; i < requests.size(); ++i)
    market->release(requests[i], bought->starts[i], kNow);
  EXPECT_EQ(quote_basket(*market, requests, kNow)->total, total);
}

TEST(Basket, AnEmptyListCostsNothing) {
  const auto market = small_market();
  EXPECT_EQ(buy_basket(*market, {}, kNow, 0)->total, 0);
}

// The starts and prices of whoever gets the list are the same whatever it is worth to them.
RC_GTEST_PROP(BasketProperty, ThePriceIsIndependentOfTheValue, ()) {
  const auto market = small_market();
  std::vector<Request> requests;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    const int hours = *rc::gen::inRange(1, 4);
    requests.push_back(hours_of(*rc::gen::inRange(1, 5), hours, hours + *rc::gen::inRange(0, 6)));
  }
  const auto quoted = quote_basket(*market, requests, kNow);
  const double value = *rc::gen::inRange(0, 400) / 100.0;
  const auto bought = buy_basket(*market, requests, kNow, value);
  RC_ASSERT(bought.has_value() == (quoted && quoted->total <= value));
  if (bought) {
    RC_ASSERT(bought->starts == quoted->starts);
    RC_ASSERT(bought->credits == quoted->credits);
  } else if (quoted) {
    RC_ASSERT(quote_basket(*market, requests, kNow)->starts == quoted->starts);
  }
}

}  // namespace
}  // namespace market
