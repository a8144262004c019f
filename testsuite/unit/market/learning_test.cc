// SPDX-License-Identifier: GPL-2.0-or-later
// What prices learn from, seen by who wants to move them for nothing; and that learning anew after
// a restart changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr const char* kEra =
    "mechanism = \"era\"; prices = { floor = \"0.1\"; cap = \"1\"; };\n"
    "planning = { slot = \"1:00\"; start_slack = \"1:00\"; };\n";

struct Cluster : World {
  explicit Cluster(const char* settings = kEra) : World(settings, 4, 4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    (void)books().add_account("broke", "", now);
    (void)books().set_members("broke", {"root"}, {});
    (void)books().deposit("broke", *Money::parse("0.01"), "", now);
    sync();
  }
  std::string prices() { return query(R"({"verb":"prices"})"); }
  std::vector<PastBid> learned() {
    return *books().past_bids("cluster", kStart - kHour, now + kHour);
  }
  void pass_time(Time seconds) {
    now += seconds;
    step();
    sync();
  }
  /// A pass that starts nothing.
  void look() {
    scheduler = Scheduler::kNone;
    pass_time(1);
  }
  /// Prices as they are, learned anew by a reconfigure and by a restart, are these.
  void expect_prices_everywhere(const std::string& expected) {
    EXPECT_EQ(prices(), expected) << "learned in passing";
    configure(kEra, false);
    EXPECT_EQ(prices(), expected) << "after a reconfigure";
    crash();
    EXPECT_EQ(prices(), expected) << "after a restart";
  }
};

Ask ask(const char* budget, std::uint32_t cpus, const char* account = "physics") {
  Ask wanted;
  wanted.budget = budget;
  wanted.account = account;
  wanted.cpus = cpus;
  return wanted;
}

TEST(Learning, WhoCannotPayMovesNoPrice) {
  Cluster quiet, noisy;
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(noisy.run(ask("1000000", 16, "broke")), 0u) << "needs 1.60, has 0.01";
  noisy.pass_time(2 * kHour);
  quiet.pass_time(2 * kHour);
  EXPECT_TRUE(noisy.learned().empty());
  noisy.expect_prices_everywhere(quiet.prices());
}

TEST(Learning, WhatIsNeverSubmittedMovesNoPrice) {
  Cluster quiet, noisy;
  for (int i = 0; i < 30; ++i)  // as --test-only: an answer and no job
    ASSERT_EQ(noisy.submit(ask("16", 16)).verdict, MARKET_ACCEPTED);
  noisy.pass_time(2 * kHour);
  quiet.pass_time(2 * kHour);
  EXPECT_TRUE(noisy.learned().empty());
  noisy.expect_prices_everywhere(quiet.prices());
}

TEST(Learning, OfRefusedBidsThatCouldBePaidTheLargestOfTheHourCounts) {
  Cluster cluster;
  ASSERT_NE(cluster.bid("16", 16, 120, 7200), 0u);
  cluster.pass_time(60);
  Ask tight = ask("3", 16);
  tight.limit_min = 30;
  tight.deadline = cluster.now + 35 * 60;  // the cluster is full until later
  for (int i = 0; i < 50; ++i) ASSERT_EQ(cluster.run(tight), 0u);
  tight.budget = "1001";  // more than the account has
  ASSERT_EQ(cluster.run(tight), 0u);
  tight.budget = "2";
  tight.array = 4;  // together 8
  ASSERT_EQ(cluster.run(tight), 0u);
  cluster.sync();
  const auto bids = cluster.learned();
  ASSERT_EQ(bids.size(), 2u) << "the one that runs, and one of 52";
  EXPECT_EQ(bids[1].value, 8);
  EXPECT_EQ(bids[1].tres.at("cpu"), 64);
}

TEST(Learning, AConfirmedBidCountsOnceForNoMoreThanItsAccountHas) {
  Cluster cluster;
  const std::uint32_t id = cluster.run(ask("1000000", 4));
  ASSERT_NE(id, 0u);
  cluster.pass_time(10);
  cluster.crash();
  cluster.pass_time(10);
  const auto bids = cluster.learned();
  ASSERT_EQ(bids.size(), 1u);
  EXPECT_EQ(bids[0].value, 1000);
  EXPECT_EQ(bids[0].tres.at("cpu"), 4);
}

TEST(Learning, ABidThatItsUserTakesBackBeforeTheStartIsUnlearned) {
  struct Case {
    const char* what;
    int state;
    bool by_operator, held, counts;
  };
  const Case cases[] = {
      {"its user, or nobody knows who", MARKET_JOB_CANCELLED, false, false, false},
      {"an operator", MARKET_JOB_CANCELLED, true, false, true},
      {"held until its deadline", MARKET_JOB_DEADLINE, false, true, false},
      {"ready at its deadline", MARKET_JOB_DEADLINE, false, false, true},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    Cluster cluster;
    Ask later = ask("16", 4);
    later.begin = cluster.now + kHour;
    const std::uint32_t id = cluster.run(later);
    ASSERT_NE(id, 0u);
    cluster.pass_time(60);
    EXPECT_EQ(cluster.learned().size(), 1u);
    FakeJob& job = cluster.job(id);
    job.begin = each.held ? job.begin : 0;
    job.held = each.held;
    job.by_operator = each.by_operator;
    cluster.look();
    cluster.end(job, each.state);
    cluster.sync();
    EXPECT_EQ(cluster.learned().size(), each.counts ? 1u : 0u);
  }
}

TEST(Learning, ABidThatRanStaysLearnedHoweverItEnds) {
  Cluster cluster;
  const std::uint32_t id = cluster.bid("16", 4, 60, kHour);
  cluster.pass_time(60);
  cluster.pass_time(60);
  ASSERT_EQ(cluster.job(id).state, MARKET_JOB_RUNNING);
  cluster.now += 10;
  cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
  cluster.sync();
  EXPECT_EQ(cluster.learned().size(), 1u);
}

TEST(Learning, ASigmoidCountsWithItsOwnPoints) {
  Cluster cluster;
  Ask urgent = ask("", 1);
  urgent.value = "40:1:30:00:3:30:00";  // half of it is left after 2:30:00
  ASSERT_NE(cluster.run(urgent), 0u);
  urgent.value = "40:20-00:00:00:30-00:00:00";  // beyond the horizon of a week
  ASSERT_NE(cluster.run(urgent), 0u);
  cluster.step();
  cluster.sync();
  const auto bids = cluster.learned();
  ASSERT_EQ(bids.size(), 2u);
  EXPECT_EQ(bids[0].deadline + bids[1].deadline, 2 * kStart + 2 * kHour + 1800 + 7 * 24 * kHour);
  EXPECT_EQ(bids[0].value, 40);
}

// Bids of all kinds for half a day; whenever one looks, learning anew gives the prices that are.
TEST(Learning, LearningAnewChangesNoPriceWhenever) {
  Cluster cluster;
  std::size_t moved = 0;
  std::string before;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 6; ++i) {
      Ask wanted = ask(i % 3 == 0 ? "1" : "12", 4 + 4 * static_cast<std::uint32_t>(i % 4));
      wanted.limit_min = 20;
      wanted.deadline = cluster.now + 2 * kHour;
      const std::uint32_t id = cluster.run(wanted);
      cluster.pass_time(20);
      if (id != 0 && i == 4 && cluster.job(id).state == MARKET_JOB_PENDING)
        cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
    }
    cluster.advance(cluster.now + 59 * 60, 60);
    cluster.pass_time(90);
    const std::string prices = cluster.prices();
    moved += prices != before;
    before = prices;
    cluster.expect_prices_everywhere(prices);
  }
  EXPECT_GT(moved, 6u);
}

}  // namespace
}  // namespace market::testing
