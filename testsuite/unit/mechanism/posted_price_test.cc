// SPDX-License-Identifier: GPL-2.0-or-later
// The mechanisms that post prices, as the façade uses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/mechanism/mechanism.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;  // a multiple of 60
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Config config_for(const std::string& mechanism) {
  Config config;
  config.mechanism = mechanism;
  return config;
}

std::unique_ptr<PostedPrice> opened(const Config& config, const Tres& total) {
  auto mechanism = make_posted_price(config).value();
  mechanism->update({total, {}}, kNow);
  return mechanism;
}

Request request_for(const Tres& tres, Time duration, Time window = 86400) {
  Request request;
  request.demand.tres = tres;
  request.earliest = kNow;
  request.deadline = kNow + window;
  request.duration = duration;
  return request;
}

double first_price(const PostedPrice& mechanism, const Request& request, Time now = kNow) {
  const PriceList list = mechanism.prices(request, now);
  return list.credits.empty() ? kInfinity : list.credits.front();
}

TEST(PostedPrice, NamesAndRules) {
  EXPECT_EQ(make_posted_price(config_for("era")).value()->rule(), "era/1");
  EXPECT_EQ(make_posted_price(config_for("first_fit")).value()->rule(), "first_fit/1");
  EXPECT_EQ(make_posted_price(config_for("on_demand")).value()->rule(), "on_demand/1");
  const auto unknown = make_posted_price(config_for("auction"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text.rfind("mechanism: auction: must be one of era, first_fit, ", 0), 0)
      << unknown.error().text;
  EXPECT_FALSE(make_posted_price(config_for("tycoon")));
}

// 2 CPUs and 32 GB for 3 h at 0.100 credits per billing-hour.
TEST(PostedPrice, QuoteOfThreeHoursToTheDigit) {
  const Tres tres = {{"cpu", 2}, {"mem", 32 * 1024}, {"node", 1}};
  const Tres cluster = {{"cpu", 64}, {"mem", 256 * 1024}, {"node", 4}};
  for (const char* name : {"era", "first_fit", "on_demand"}) {
    Config config = config_for(name);
    config.weights = {{"cpu", 1}, {"mem", 0.25}, {"gres/gpu", 15}};
    EXPECT_NEAR(first_price(*opened(config, cluster), request_for(tres, 3 * 3600)), 3.0, 1e-12);
    config.billing_rule = BillingRule::kMaxTres;
    EXPECT_NEAR(first_price(*opened(config, cluster), request_for(tres, 3 * 3600)), 2.4, 1e-12);
    config.billing_rule = BillingRule::kSum;
    config.weights[1].weight = 0.3;
    EXPECT_NEAR(first_price(*opened(config, cluster), request_for(tres, 3 * 3600)), 3.48, 1e-12);
  }
}

TEST(PostedPrice, TimeThatIsNoMultipleOfTheSlotIsPaidToTheSecond) {
  const auto era = opened(config_for("era"), {{"cpu", 64}});
  for (const Time duration : {1, 59, 60, 61, 119, 120, 3601, 9999}) {
    for (const Time now : {kNow, kNow + 1, kNow + 30, kNow + 59}) {
      const Request request = request_for({{"cpu", 3}}, duration);
      EXPECT_NEAR(first_price(*era, request, now), 3 * 0.1 * static_cast<double>(duration) / 3600,
                  1e-12);
    }
  }
}

TEST(PostedPrice, StartsFromNowToTheLastThatMeetsTheDeadline) {
  const auto era = opened(config_for("era"), {{"cpu", 4}});
  const Request request = request_for({{"cpu", 1}}, 300, 600);
  const PriceList aligned = era->prices(request, kNow);
  EXPECT_EQ(aligned.first_start, kNow);
  EXPECT_EQ(aligned.credits.size(), 6U);
  const PriceList late = era->prices(request, kNow + 7);
  EXPECT_EQ(late.first_start, kNow + 7);
  EXPECT_EQ(late.credits.size(), 5U);
  EXPECT_EQ(era->prices(request, kNow + 300).credits.size(), 1U);
  EXPECT_TRUE(era->prices(request, kNow + 301).credits.empty());
  EXPECT_TRUE(era->prices(request_for({{"cpu", 1}}, 0), kNow).credits.empty());
}

TEST(PostedPrice, NothingIsSoldBeyondTheHorizon) {
  Config config = config_for("era");
  config.horizon = 3600;
  const auto era = opened(config, {{"cpu", 4}});
  EXPECT_EQ(era->prices(request_for({{"cpu", 1}}, 600, 86400), kNow).credits.size(), 51U);
  EXPECT_TRUE(era->prices(request_for({{"cpu", 1}}, 3601, 86400), kNow).credits.empty());
}

TEST(PostedPrice, SoldSlotsAreNotSoldTwice) {
  for (const char* name : {"era", "first_fit"}) {
    const auto mechanism = opened(config_for(name), {{"cpu", 4}});
    const Request request = request_for({{"cpu", 3}}, 600);
    mechanism->promise(request, kNow + 600);
    const PriceList list = mechanism->prices(request, kNow);
    for (std::size_t k = 0; k < list.credits.size(); ++k) {
      const Time start = kNow + 60 * static_cast<Time>(k);
      EXPECT_EQ(list.credits[k] == kInfinity, start > kNow && start < kNow + 1200) << k;
    }
    EXPECT_TRUE(std::isfinite(first_price(*mechanism, request_for({{"cpu", 1}}, 3600))));
    mechanism->release(request, kNow + 600, kNow + 900);
    EXPECT_TRUE(std::isfinite(mechanism->prices(request, kNow).credits[15]))
        << "the second half is free again";
    EXPECT_EQ(mechanism->prices(request, kNow).credits[14], kInfinity);
  }
}

TEST(PostedPrice, MoreThanTheClusterIsNeverForSale) {
  const auto era = opened(config_for("era"), {{"cpu", 4}});
  const PriceList list = era->prices(request_for({{"cpu", 5}}, 600, 700), kNow);
  EXPECT_EQ(list.credits, std::vector<double>(2, kInfinity));
}

TEST(PostedPrice, OnDemandStartsNowOrNotAtAll) {
  const auto mechanism = opened(config_for("on_demand"), {{"cpu", 4}});
  Request request = request_for({{"cpu", 4}}, 600);
  EXPECT_EQ(mechanism->prices(request, kNow + 5).credits.size(), 1U);
  EXPECT_EQ(mechanism->prices(request, kNow + 5).first_start, kNow + 5);
  mechanism->promise(request, kNow);
  EXPECT_EQ(first_price(*mechanism, request), kInfinity);
  request.earliest = kNow + 60;
  EXPECT_TRUE(mechanism->prices(request, kNow).credits.empty());
}

TEST(PostedPrice, BusyHoldersBlockUntilTheyEnd) {
  const auto era = opened(config_for("era"), {{"cpu", 4}, {"mem", 1000}});
  era->update(
      {{{"cpu", 4}, {"mem", 1000}}, {{{{"cpu", 3}}, kNow + 90}, {{{"mem", 1000}}, kNow + 600}}},
      kNow + 10);
  const auto price_at = [&](const Tres& tres, Time after) {
    Request request = request_for(tres, 60);
    request.earliest = kNow + after;
    return first_price(*era, request, kNow + 10);
  };
  EXPECT_EQ(price_at({{"cpu", 2}}, 10), kInfinity);
  EXPECT_TRUE(std::isfinite(price_at({{"cpu", 1}}, 10)));
  EXPECT_EQ(price_at({{"cpu", 3}}, 60), kInfinity) << "of 240 CPU-seconds 90 are held";
  EXPECT_TRUE(std::isfinite(price_at({{"cpu", 2}}, 120)));
  EXPECT_EQ(price_at({{"cpu", 2}, {"mem", 1}}, 120), kInfinity);
  era->update({{{"cpu", 4}, {"mem", 1000}}, {}}, kNow + 20);
  EXPECT_TRUE(std::isfinite(price_at({{"cpu", 4}, {"mem", 1000}}, 20)));
}

TEST(PostedPrice, CapacityMayShrinkBelowWhatWasPromised) {
  const auto era = opened(config_for("era"), {{"cpu", 4}});
  const Request request = request_for({{"cpu", 4}}, 600);
  era->promise(request, kNow);
  era->update({{{"cpu", 2}}, {}}, kNow);
  EXPECT_EQ(first_price(*era, request_for({{"cpu", 1}}, 60)), kInfinity);
  EXPECT_TRUE(std::isfinite(era->prices(request_for({{"cpu", 2}}, 60), kNow).credits[10]));
  era->release(request, kNow, kNow);
  EXPECT_TRUE(std::isfinite(first_price(*era, request_for({{"cpu", 2}}, 60))));
}

TEST(PostedPrice, TimeMovesPromisesAlong) {
  const auto era = opened(config_for("era"), {{"cpu", 4}});
  const Request request = request_for({{"cpu", 4}}, 600, 14 * 86400);
  era->promise(request, kNow + 3600);
  era->promise(request, kNow + 8 * 86400);  // beyond the horizon, kept all the same
  era->update({{{"cpu", 4}}, {}}, kNow + 3000);
  EXPECT_EQ(era->prices(request, kNow + 3000).credits[1], kInfinity);
  era->update({{{"cpu", 4}}, {}}, kNow + 4 * 86400);
  const PriceList list = era->prices(request, kNow + 4 * 86400);
  EXPECT_TRUE(std::isfinite(list.credits.front()));
  EXPECT_EQ(list.credits[4 * 1440], kInfinity);
}

TEST(PostedPrice, NodesAreSharedAndUnknownTresAreNeverShort) {
  Config config = config_for("era");
  config.weights = {{"cpu", 1}, {"node", 2}, {"mem", 1}};
  const auto era = opened(config, {{"cpu", 8}, {"node", 1}});
  const Request request = request_for({{"cpu", 1}, {"node", 1}, {"mem", 1 << 20}}, 3600);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(first_price(*era, request), (1 + 2 + 1024) * 0.1, 1e-9);
    era->promise(request, kNow);
  }
}

TEST(PostedPrice, GresWithoutATypeIsTheOnlyTypeThereIs) {
  Config config = config_for("era");
  config.weights = {{"gres/gpu", 15}, {"gres/gpu:a100", 60}};
  const auto era = opened(config, {{"gres/gpu:a100", 4}});
  era->promise(request_for({{"gres/gpu", 3}}, 600), kNow);
  EXPECT_EQ(first_price(*era, request_for({{"gres/gpu:a100", 2}}, 60)), kInfinity);
  EXPECT_NEAR(first_price(*era, request_for({{"gres/gpu:a100", 1}}, 3600)), 6.0, 1e-9);
}

PastBid past_bid(Time earliest, Time window, Time duration, const Tres& tres, double value) {
  return {.submitted = earliest,
          .earliest = earliest,
          .deadline = earliest + window,
          .duration = duration,
          .tres = tres,
          .value = value};
}

// A cluster of 10 CPUs; last week, from 00:00 to 06:00 of this weekday, bids filled it at 0.5
// credits per CPU-hour.
TEST(Era, LearnsPricesFromPastBidsAtTheSameTimeOfTheWeek) {
  constexpr Time kWeek = 7 * 86400;
  const auto era = opened(config_for("era"), {{"cpu", 10}});
  const Time midnight = (kNow / 86400 + 1) * 86400;
  era->learn({past_bid(midnight - kWeek, 6 * 3600, 6 * 3600, {{"cpu", 10}}, 30)}, kNow);
  Request request = request_for({{"cpu", 1}}, 3600);
  request.earliest = midnight;
  EXPECT_NEAR(first_price(*era, request), 0.5, 1e-9)
      << "the cluster would be sold out: one more displaces a bid at 0.5";
  request.earliest = midnight + 5 * 3600 + 1800;
  EXPECT_NEAR(first_price(*era, request), 0.25 + 0.05, 1e-9)
      << "half an hour in the rush, half after it";
  request.earliest = midnight + 6 * 3600;
  EXPECT_NEAR(first_price(*era, request), 0.1, 1e-9);
  era->learn({}, kNow);
  request.earliest = midnight;
  EXPECT_NEAR(first_price(*era, request), 0.1, 1e-9);
}

TEST(Era, PricesStayBetweenFloorAndCap) {
  const auto era = opened(config_for("era"), {{"cpu", 10}});
  const Time week_ago = kNow / 3600 * 3600 - 7 * 86400;
  era->learn({past_bid(week_ago, 6 * 3600, 6 * 3600, {{"cpu", 5}}, 1e6),
              past_bid(week_ago, 6 * 3600, 6 * 3600, {{"cpu", 5}}, 0.001)},
             kNow);
  EXPECT_NEAR(first_price(*era, request_for({{"cpu", 10}}, 3600)), 5 * 0.1 + 5 * 1.0, 1e-9);
}

TEST(Era, BidsOlderThanTheHistoryAreForgottenAndCyclesAveraged) {
  constexpr Time kWeek = 7 * 86400;
  const auto era = opened(config_for("era"), {{"cpu", 10}});
  const auto rush = [&](int weeks_ago) {
    return past_bid(kNow / 3600 * 3600 - weeks_ago * kWeek, 6 * 3600, 6 * 3600, {{"cpu", 10}}, 30);
  };
  era->learn({rush(5)}, kNow);
  EXPECT_NEAR(first_price(*era, request_for({{"cpu", 10}}, 3600)), 1.0, 1e-9);
  auto two_weeks_ago = rush(2);
  two_weeks_ago.submitted = kNow - 2 * kWeek;
  era->learn({two_weeks_ago}, kNow);
  EXPECT_NEAR(first_price(*era, request_for({{"cpu", 10}}, 3600)), 5 * 0.1 + 5 * 0.5, 1e-9)
      << "10 CPUs once in two weeks are 5 CPUs a week";
}

}  // namespace
}  // namespace market
