// SPDX-License-Identifier: GPL-2.0-or-later
// Prior bids, made up from a log: how much they count, until real ones take their place.
#include "core/market/prior.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEra =
    "mechanism = \"era\"; prices = { floor = \"0.1\"; cap = \"1\"; };\n"
    "planning = { slot = \"1:00\"; start_slack = \"1:00\"; };\n";
constexpr Time kWeek = 7 * kDay;

PastBid past_bid(Time made, std::int64_t cpus, bool is_prior) {
  return {made, made,    made + kHour, kHour, {{"cpu", cpus}}, 0.5 * static_cast<double>(cpus),
          "",   is_prior};
}

/// Four weeks of 40 CPUs in each hour, a cycle of which is 6,720 CPU-hours, and real bids of `cpus`
/// CPUs in each of the last `hours` hours.
std::vector<PastBid> lessons(Time now, std::int64_t cpus, int hours) {
  std::vector<PastBid> bids;
  for (Time hour = now - 4 * kWeek; hour < now; hour += kHour)
    bids.push_back(past_bid(hour, 40, true));
  for (Time hour = now - hours * kHour; hour < now; hour += kHour)
    bids.push_back(past_bid(hour, cpus, false));
  return bids;
}

double weight_of_prior(const std::vector<PastBid>& bids) {
  double weight = 0;
  for (const PastBid& each : bids) {
    if (each.is_prior)
      weight = each.weight;
    else
      EXPECT_EQ(each.weight, 1);
  }
  return weight;
}

// A quarter of each of four like weeks makes one; half of it is left when half of a week's CPU-hours
// were bid for, and none when all were.
TEST(Prior, RealBidsTakeThePlaceOfAsManyPriorHours) {
  const MarketSettings settings;
  for (const auto& [cpus, hours, expected] :
       {std::tuple{0, 0, 0.25}, std::tuple{40, 84, 0.125}, std::tuple{80, 42, 0.125},
        std::tuple{40, 126, 0.0625}, std::tuple{40, 168, 0.0}, std::tuple{400, 100, 0.0}}) {
    auto bids = lessons(4 * kWeek, cpus, hours);
    weigh_prior(bids, settings, {}, 4 * kWeek);
    EXPECT_NEAR(weight_of_prior(bids), expected, 1e-12) << cpus << " " << hours;
  }
}

// What was refused cost its user nothing, so that one bid for all CPUs must not wipe out the log.
TEST(Prior, RefusedBidsTakeNobodysPlace) {
  auto bids = lessons(4 * kWeek, 40, 84);
  PastBid refused = past_bid(4 * kWeek - kHour, 10'000, false);
  refused.is_refused = true;
  bids.push_back(refused);
  weigh_prior(bids, MarketSettings(), {}, 4 * kWeek);
  EXPECT_NEAR(weight_of_prior(bids), 0.125, 1e-12);
}

// How long jobs may run says nothing of how long the log is.
TEST(Prior, ALongTimeLimitMakesTheLogNoLonger) {
  auto bids = lessons(4 * kWeek, 0, 0);
  bids.front().duration = 52 * kWeek;
  bids.front().tres = {{"cpu", 1}};
  weigh_prior(bids, MarketSettings(), {}, 4 * kWeek);
  EXPECT_NEAR(weight_of_prior(bids), 0.25, 1e-12);
}

TEST(Prior, WithoutPriorBidsNothingChanges) {
  std::vector<PastBid> bids = {past_bid(10, 4, false), past_bid(20, 4, false)};
  const std::vector<PastBid> before = bids;
  weigh_prior(bids, MarketSettings(), {}, 100);
  EXPECT_EQ(bids, before);
}

/// Four nodes of 16 cores, era.
struct Cluster : World {
  Cluster() : World(kEra, 4, 16) {
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
  }
  /// 40 CPUs in every hour of the last `weeks` weeks, worth 0.50 each.
  std::vector<ledger::RecordBid> past(int weeks) {
    std::vector<ledger::RecordBid> records;
    const Time end = now / kHour * kHour - 2 * kHour;
    for (Time hour = end - weeks * kWeek; hour < end; hour += kHour) {
      ledger::RecordBid record;
      record.id = fmt::format("job:{}", hour);
      record.bid = past_bid(hour, 40, false);
      record.accepted = true;
      record.cluster = "cluster";
      record.account = "physics";
      record.mechanism = "prior";
      records.push_back(record);
    }
    return records;
  }
  std::string told(std::uint32_t cpus) {
    Ask ask;
    ask.budget = "0.01";
    ask.cpus = cpus;
    ask.begin = now / kDay * kDay + kDay + 10 * kHour;
    ask.deadline = ask.begin + kHour + 60;
    return test_only(ask).text;
  }
};

// 8 CPUs for an hour: 0.80 at the floor. Of 32 beside the 40 of the log 24 are left at the floor, and 8
// cost 0.50.
TEST(Prior, PricesFollowALogAtOnceAndForgetItWhenItIsTakenBack) {
  Cluster cluster;
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 3.20,"));
  const auto learned = cluster.books().learn_prior(cluster.past(1));
  ASSERT_TRUE(learned);
  EXPECT_EQ(*learned, 168u);
  cluster.sync();
  EXPECT_THAT(cluster.told(8), HasSubstr("needs 0.80,"));
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 6.40,"));
  EXPECT_EQ(*cluster.books().learn_prior(cluster.past(1)), 0u) << "the same log teaches once";
  cluster.sync();
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 6.40,"));
  EXPECT_EQ(cluster.books().prior("cluster")->count, 168);
  EXPECT_EQ(*cluster.books().forget_prior("another"), 0u);
  EXPECT_EQ(*cluster.books().forget_prior("cluster"), 168u);
  cluster.sync();
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 3.20,"));
}

// A log of one week or of three tells of the same usual week.
TEST(Prior, ALongerLogIsNoMoreDemand) {
  Cluster cluster;
  ASSERT_TRUE(cluster.books().learn_prior(cluster.past(3)));
  cluster.sync();
  EXPECT_THAT(cluster.told(8), HasSubstr("needs 0.80,"));
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 6.40,"));
}

// When a week of real bids is there that pay the floor, the log counts no more.
TEST(Prior, RealBidsReplaceIt) {
  Cluster cluster;
  ASSERT_TRUE(cluster.books().learn_prior(cluster.past(2)));
  for (ledger::RecordBid& record : cluster.past(1)) {
    record.id = "real" + record.id;
    record.bid.value = 4;
    ASSERT_TRUE(cluster.books().apply({{record}}, cluster.now));
  }
  cluster.configure(kEra, false);
  EXPECT_THAT(cluster.told(32), HasSubstr("needs 3.20,"));
}

}  // namespace
}  // namespace market::testing
