// SPDX-License-Identifier: GPL-2.0-or-later
// ERA as the façade uses it: both predictors, the penalty for later starts, and what happens to
// prices when the capacity or its use changes (ERA, sections 3.2, 4 and 2.3.2).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/mechanism/mechanism.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'028'800;  // midnight
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<PostedPrice> opened(const Config& config, std::int64_t cpus) {
  auto market = make_posted_price(config).value();
  market->update({{{"cpu", cpus}}, {}}, kNow);
  return market;
}

Request request_for(std::int64_t cpus, Time earliest, Time duration, Time window) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = earliest;
  request.deadline = earliest + window;
  request.duration = duration;
  return request;
}

double first_price(const PostedPrice& market, const Request& request) {
  const PriceList list = market.prices(request, kNow);
  return list.credits.empty() ? kInfinity : list.credits.front();
}

double cheapest(const PostedPrice& market, const Request& request) {
  const PriceList list = market.prices(request, kNow);
  return list.credits.empty() ? kInfinity
                              : *std::min_element(list.credits.begin(), list.credits.end());
}

/// A bid that wants all 10 CPUs for 12 hours at `price` credits per CPU-hour.
PastBid bid_for_all(Time from, Time window, double price) {
  return {.submitted = from,
          .earliest = from,
          .deadline = from + window,
          .duration = 12 * kHour,
          .tres = {{"cpu", 10}},
          .value = price * 120};
}

Config daily(const char* predictor) {
  Config config;
  config.predictor = predictor;
  config.predictor_cycle = kDay;
  config.floor_price = 0.1;
  config.cap_price = 10;
  return config;
}

/// Section 3.2: high values (3) by day only, medium (2) and low ones (1) at any time, each for all
/// there is; 14 days of it. Days run from 0:00 to 12:00.
std::vector<PastBid> days_and_nights() {
  std::vector<PastBid> bids;
  for (int day = 14; day > 0; --day) {
    const Time begin = kNow - day * kDay;
    bids.push_back(bid_for_all(begin, 12 * kHour, 3));
    bids.push_back(bid_for_all(begin, kDay, 2));
    bids.push_back(bid_for_all(begin, kDay, 1));
  }
  return bids;
}

constexpr double kLowValue = 1 * 5 * 12;  // of 5 CPUs for 12 hours
constexpr double kMediumValue = 2 * 5 * 12;

// Spreading expects 5 CPUs of medium and 5 of low jobs at night: half of the night costs the low
// jobs' price, and a low job gets it.
TEST(EraDayAndNight, SpreadingSellsTheNightToALowJob) {
  const auto era = opened(daily("spread"), 10);
  era->learn(days_and_nights(), kNow);
  const Request night = request_for(5, kNow + 12 * kHour, 12 * kHour, 12 * kHour);
  EXPECT_NEAR(first_price(*era, night), kLowValue, 1e-6);
  EXPECT_NEAR(cheapest(*era, request_for(5, kNow, 12 * kHour, kDay)), kLowValue, 1e-6);
  EXPECT_LE(first_price(*era, night), kLowValue + 1e-9) << "accepted";
}

// The best allocation gives the day to the high and the night to the medium jobs: the low job is
// refused, a medium one gets the night, and the day costs what high jobs pay.
TEST(EraDayAndNight, TheLinearProgramKeepsTheNightForMediumJobs) {
  const auto era = opened(daily("lp"), 10);
  era->learn(days_and_nights(), kNow);
  const Request night = request_for(5, kNow + 12 * kHour, 12 * kHour, 12 * kHour);
  EXPECT_NEAR(first_price(*era, night), kMediumValue, 1e-6);
  EXPECT_GT(cheapest(*era, request_for(5, kNow, 12 * kHour, kDay)), kLowValue) << "refused";
  EXPECT_NEAR(first_price(*era, request_for(5, kNow, 12 * kHour, 12 * kHour)), 3 * 5 * 12, 1e-6);
}

TEST(Era, WithoutAKnownCapacityTheLinearProgramIsNotAsked) {
  const auto era = make_posted_price(daily("lp")).value();
  era->learn(days_and_nights(), kNow);
  era->update({{{"cpu", 10}}, {}}, kNow);
  const Request night = request_for(5, kNow + 12 * kHour, 12 * kHour, 12 * kHour);
  EXPECT_NEAR(first_price(*era, night), kLowValue, 1e-6);
}

TEST(Era, BidsThatTheHorizonKeepsFromBeingSoldTeachNothing) {
  for (const char* predictor : {"spread", "lp"}) {
    const auto era = opened(daily(predictor), 10);
    PastBid too_long = bid_for_all(kNow - kDay, 365 * kDay, 5);
    too_long.duration = 8 * kDay;
    PastBid too_late = bid_for_all(kNow + 40000 * kDay, kDay, 5);
    too_late.submitted = kNow - kDay;
    era->learn({too_long, too_late}, kNow);
    EXPECT_NEAR(first_price(*era, request_for(9, kNow, kHour, kHour)), 9 * 0.1, 1e-9) << predictor;
  }
}

// A window of a hundred years is cut to the week that can be sold: 120 CPU-hours spread evenly over
// a cycle of one day are 5 CPUs.
TEST(Era, WindowsEndWhereTheHorizonDoes) {
  const auto era = opened(daily("spread"), 10);
  era->learn({bid_for_all(kNow - kDay, 40000 * kDay, 5)}, kNow);
  EXPECT_NEAR(first_price(*era, request_for(6, kNow, kHour, kHour)), 5 * 0.1 + 5, 1e-6);
}

TEST(EraLatePenalty, ALaterStartCostsExponentiallyMoreUpToTheCap) {
  Config config;
  config.late_penalty = 0.5;  // an hour later: e^0.5 times as much; the cap is 10 times the floor
  const auto era = opened(config, 10);
  const PriceList list = era->prices(request_for(3, kNow, 2 * kHour, 10 * kHour), kNow);
  ASSERT_EQ(list.credits.size(), 8 * 60U + 1);
  EXPECT_NEAR(list.credits[0], 3 * 2 * 0.1, 1e-9);
  EXPECT_NEAR(list.credits[60], 0.6 * std::exp(0.5), 1e-9);
  EXPECT_NEAR(list.credits[90], 0.6 * std::exp(0.75), 1e-9);
  EXPECT_NEAR(list.credits[4 * 60], 0.6 * std::exp(2.0), 1e-9);
  EXPECT_NEAR(list.credits[5 * 60], 6.0, 1e-9) << "e^2.5 > 10: the cap";
  EXPECT_NEAR(list.credits[8 * 60], 6.0, 1e-9);
}

TEST(EraLatePenalty, AskingForALaterWindowMakesNoStartCheaper) {
  Config config;
  config.late_penalty = 0.1;
  const auto era = opened(config, 10);
  const auto from_now = era->prices(request_for(3, kNow, kHour, 10 * kHour), kNow);
  const auto from_later = era->prices(request_for(3, kNow + 2 * kHour, kHour, 8 * kHour), kNow);
  for (std::size_t k = 0; k < from_later.credits.size(); ++k)
    EXPECT_NEAR(from_later.credits[k], from_now.credits[k + 120], 1e-9);
}

TEST(EraLatePenalty, WhatIsNotForSaleStaysSo) {
  Config config;
  config.late_penalty = 0.1;
  const auto era = opened(config, 10);
  era->promise(request_for(10, kNow, kHour, kHour), kNow);
  const auto list = era->prices(request_for(1, kNow, kHour, 3 * kHour), kNow);
  EXPECT_EQ(list.credits[59], kInfinity);
  EXPECT_NEAR(list.credits[60], 0.1 * std::exp(0.1), 1e-9);
}

// Section 2.3.2. All 10 CPUs are expected to be wanted at prices 1 to 10.
std::unique_ptr<PostedPrice> market_with_demand(std::int64_t cpus) {
  auto era = opened(daily("spread"), cpus);
  std::vector<PastBid> bids;
  for (int price = 1; price <= 10; ++price) {
    bids.push_back(bid_for_all(kNow - kDay, kDay, price));
    bids.back().tres["cpu"] = 1;
    bids.back().duration = kDay;
    bids.back().value = price * 24;
  }
  era->learn(bids, kNow);
  return era;
}

TEST(Replanning, LessCapacityRaisesPricesAndThenUnsellsAndMoreLowersThem) {
  const auto era = market_with_demand(12);
  const Request request = request_for(3, kNow, kHour, kHour);
  // 12 CPUs: two that nobody wants at the floor, then one for 1.
  EXPECT_NEAR(first_price(*era, request), 0.1 + 0.1 + 1, 1e-9);
  era->update({{{"cpu", 10}}, {}}, kNow);
  EXPECT_NEAR(first_price(*era, request), 1 + 2 + 3, 1e-9);
  era->update({{{"cpu", 5}}, {}}, kNow);
  EXPECT_NEAR(first_price(*era, request), 6 + 7 + 8, 1e-9);
  era->update({{{"cpu", 2}}, {}}, kNow);
  EXPECT_EQ(first_price(*era, request), kInfinity);
  era->update({{}, {}}, kNow);
  EXPECT_EQ(first_price(*era, request_for(1, kNow, kHour, kHour)), kInfinity);
  era->update({{{"cpu", 12}}, {}}, kNow);
  EXPECT_NEAR(first_price(*era, request), 0.1 + 0.1 + 1, 1e-9);
}

TEST(Replanning, WhatOthersUseRaisesPricesAndWhatJobsFreeLowersThem) {
  const auto era = market_with_demand(10);
  const Request request = request_for(2, kNow, kHour, kHour);
  EXPECT_NEAR(first_price(*era, request), 1 + 2, 1e-9);
  era->update({{{"cpu", 10}}, {{{{"cpu", 4}}, kNow + kHour}}}, kNow);
  EXPECT_NEAR(first_price(*era, request), 5 + 6, 1e-9);
  era->update({{{"cpu", 10}}, {{{{"cpu", 4}}, kNow + kHour / 2}}}, kNow);
  EXPECT_NEAR(first_price(*era, request), (11 + 3) / 2.0, 1e-9) << "ends after half an hour";
  era->update({{{"cpu", 10}}, {}}, kNow);
  const Request promised = request_for(6, kNow, 2 * kHour, 2 * kHour);
  era->promise(promised, kNow);
  EXPECT_NEAR(first_price(*era, request), 7 + 8, 1e-9);
  era->release(promised, kNow, kNow + kHour / 2);
  EXPECT_NEAR(first_price(*era, request), (15 + 3) / 2.0, 1e-9) << "it ended early";
}

// At any capacity, whatever is promised: less of it never makes a start cheaper, nor does more use.
RC_GTEST_PROP(ReplanningProperty, PricesFallWithCapacityAndRiseWithUse, ()) {
  const auto cpus = *rc::gen::inRange(1, 14);
  const auto fewer = *rc::gen::inRange(0, cpus + 1);
  const auto era = market_with_demand(cpus);
  const Request request =
      request_for(*rc::gen::inRange(1, 5), kNow, *rc::gen::inRange(1, 9000), 4 * kHour);
  const auto before = era->prices(request, kNow).credits;
  Capacity less{{{"cpu", fewer}}, {}};
  if (*rc::gen::arbitrary<bool>())
    less = {{{"cpu", cpus}}, {{{{"cpu", cpus - fewer}}, kNow + *rc::gen::inRange(1, 20000)}}};
  era->update(less, kNow);
  const auto after = era->prices(request, kNow).credits;
  RC_ASSERT(after.size() == before.size());
  for (std::size_t k = 0; k < after.size(); ++k)
    RC_ASSERT(after[k] == kInfinity || after[k] >= before[k] - 1e-9);
  era->update({{{"cpu", cpus}}, {}}, kNow);
  RC_ASSERT(era->prices(request, kNow).credits == before);
}

TEST(Replanning, FixedPricesMoveTheStartInstead) {
  Config config;
  config.mechanism = "first_fit";
  const auto first_fit = opened(config, 10);
  const auto first_free = [&](std::int64_t cpus) {
    const PriceList list = first_fit->prices(request_for(cpus, kNow, kHour, 10 * kHour), kNow);
    const auto free = std::find_if(list.credits.begin(), list.credits.end(),
                                   [](double credits) { return std::isfinite(credits); });
    return free == list.credits.end() ? Time{-1} : (free - list.credits.begin()) * list.slot;
  };
  const Request promised = request_for(6, kNow, 2 * kHour, 2 * kHour);
  first_fit->promise(promised, kNow);
  EXPECT_EQ(first_free(4), 0);
  first_fit->update({{{"cpu", 8}}, {}}, kNow);
  EXPECT_EQ(first_free(4), 2 * kHour) << "a node of 2 CPUs went down";
  EXPECT_EQ(first_free(9), -1);
  first_fit->release(promised, kNow, kNow + kHour);
  EXPECT_EQ(first_free(4), kHour) << "the promise ends early";
  first_fit->update({{{"cpu", 10}}, {}}, kNow);
  EXPECT_EQ(first_free(4), 0);

  config.mechanism = "on_demand";
  const auto on_demand = opened(config, 10);
  EXPECT_TRUE(std::isfinite(first_price(*on_demand, request_for(9, kNow, kHour, kHour))));
  on_demand->update({{{"cpu", 8}}, {}}, kNow);
  EXPECT_EQ(first_price(*on_demand, request_for(9, kNow, kHour, kHour)), kInfinity);
  on_demand->update({{{"cpu", 10}}, {}}, kNow);
  EXPECT_TRUE(std::isfinite(first_price(*on_demand, request_for(9, kNow, kHour, kHour))));
}

}  // namespace
}  // namespace market
