// SPDX-License-Identifier: GPL-2.0-or-later
// Another mechanism in market.conf while jobs wait and run: promises stay, waiting bids join the
// new rule, runs go on as they began, and everything settles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

Money credits(const char* text) {
  return *Money::parse(text);
}

struct Cluster : World {
  Cluster() : World(settings("era"), 4, 4) {
    (void)books().deposit("physics", credits("1000"), "", now);
    sync();
  }
  static std::string settings(const std::string& mechanism) {
    return fmt::format(
        "mechanism = \"{}\"; prices = {{ floor = \"0.05\"; }};\n"
        "planning = {{ auction_period = \"0:01\"; }};\n",
        mechanism);
  }
  void change_to(const std::string& mechanism, bool by_crash = false) {
    configure(settings(mechanism), by_crash);
  }
  std::string rule_of(std::uint32_t id) { return read_note(job(id).note)->rule; }
  ledger::Segment bill(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    const auto runs = books().segments(filter);
    return runs && runs->size() == 1 ? runs->front() : ledger::Segment{};
  }
  void expect_balanced(const char* deposit) {
    World::expect_balanced();
    Money billed;
    const auto all = books().segments(ledger::SegmentFilter{});
    for (const ledger::Segment& run : *all) billed += run.charged - run.refunded;
    EXPECT_EQ(credits(deposit) - balance("physics").posted, billed);
  }
};

// One bid is made under each rule while the cluster is full; all of them run to their end.
void switch_through_all(bool by_crash) {
  Cluster cluster;
  const std::uint32_t first = cluster.bid("50", 16, 240, 14000);  // fills the cluster
  ASSERT_NE(first, 0u);
  const std::uint32_t planned = cluster.bid("50", 4, 60, 1800);
  ASSERT_NE(planned, 0u);
  cluster.advance(kStart + 60);
  ASSERT_EQ(cluster.job(first).state, MARKET_JOB_RUNNING);
  const Money promised = read_note(cluster.job(planned).note)->price;
  const Time end = read_note(cluster.job(planned).note)->end;
  std::vector<std::uint32_t> all{first, planned};
  for (const char* mechanism : {"tycoon", "dva", "contracts", "fifo", "era"}) {
    SCOPED_TRACE(mechanism);
    cluster.change_to(mechanism, by_crash);
    cluster.advance(cluster.now + 300);
    const std::uint32_t made = cluster.bid("20", 4, 30, 900);
    ASSERT_NE(made, 0u);
    all.push_back(made);
    cluster.advance(cluster.now + 60);
    EXPECT_TRUE(cluster.rule_of(made).starts_with(std::string(mechanism) + "/"));
    EXPECT_TRUE(cluster.rule_of(first).starts_with("era/"));
    EXPECT_TRUE(cluster.rule_of(planned).starts_with("era/"));
  }
  for (const std::uint32_t id : all) {
    if (id == first) continue;
    EXPECT_TRUE(cluster.rule_of(id).starts_with("era/") ||
                cluster.rule_of(id).starts_with("contracts/"))
        << cluster.rule_of(id);
  }
  std::map<std::uint32_t, Money> price;
  for (const std::uint32_t id : all) price[id] = read_note(cluster.job(id).note)->price;
  EXPECT_EQ(price[planned], promised);
  cluster.advance(kStart + 12 * 3600, 30);
  for (const std::uint32_t id : all) {
    EXPECT_EQ(cluster.job(id).state, MARKET_JOB_COMPLETED) << id;
    EXPECT_EQ(cluster.bill(id).charged, price[id]) << id;
    EXPECT_LE(cluster.bill(id).charged, credits(id <= planned ? "50" : "20")) << id;
  }
  EXPECT_EQ(cluster.bill(planned).refunded, Money());
  EXPECT_LE(cluster.job(planned).end, end);
  EXPECT_GT(cluster.bill(all.back()).charged, Money());
  cluster.expect_balanced("1000");
}

TEST(Switch, WhatWasPromisedStaysAndWaitingBidsAreQuotedAnew) {
  switch_through_all(false);
}

TEST(Switch, AlsoWhereTheMarketStartsAnew) {
  switch_through_all(true);
}

// Alone on the whole cluster under tycoon a run owes budget left ÷ time left in each second, which
// stays at 6 ÷ 3600 (eqs. 1 and 2 with all that is allocated used).
TEST(Switch, ARunKeepsItsLastRateUnderAnotherRule) {
  for (const char* next : {"dva", "abacus", "fifo", "era", "contracts"}) {
    SCOPED_TRACE(next);
    Cluster cluster;
    cluster.change_to("tycoon");
    const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
    cluster.advance(kStart + 600);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    cluster.change_to(next);
    cluster.advance(kStart + 3000);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_COMPLETED);
    EXPECT_TRUE(cluster.bill(job).mechanism.starts_with("tycoon/"));
    EXPECT_NEAR(cluster.bill(job).charged.credits(), 3.0, 0.05);
    cluster.expect_balanced("1000");
  }
}

// A bid that cost nothing pays for its place once its rule is one of money, and the other way
// round its lien returns.
TEST(Switch, AWaitingBidCostsWhatItsNewRuleSays) {
  Cluster cluster;
  cluster.change_to("fifo");
  const std::uint32_t first = cluster.bid("9", 16, 30, 1200);
  const std::uint32_t second = cluster.bid("6", 16, 30, 1200);
  cluster.advance(kStart + 120);
  ASSERT_EQ(cluster.job(first).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(cluster.balance("physics").liens, Money());
  cluster.change_to("tycoon");
  cluster.advance(kStart + 300);
  EXPECT_EQ(cluster.balance("physics").liens, credits("6"));
  cluster.change_to("fifo");
  cluster.advance(kStart + 500);
  EXPECT_EQ(cluster.balance("physics").liens, Money());
  cluster.change_to("tycoon");
  cluster.advance(kStart + 4000);
  EXPECT_EQ(cluster.bill(first).charged, Money());
  EXPECT_GT(cluster.bill(second).charged, Money());
  EXPECT_LE(cluster.bill(second).charged, credits("6"));
  cluster.expect_balanced("1000");
}

// As above: half of the time limit costs half of the budget, whatever the market does meanwhile.
TEST(Switch, ACrashTakesNothingFromWhatARunOwes) {
  for (const char* next : {"tycoon", "dva", "fifo", "era"}) {
    SCOPED_TRACE(next);
    Cluster cluster;
    cluster.change_to("tycoon");
    const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
    cluster.advance(kStart + 1200);
    cluster.change_to(next, true);
    cluster.advance(kStart + 3000);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_COMPLETED);
    EXPECT_NEAR(cluster.bill(job).charged.credits(), 3.0, 0.05);
    cluster.expect_balanced("1000");
  }
}

TEST(Switch, ARunThatEndedWhileNobodyListenedOwesWhatItsCommentTells) {
  Cluster cluster;
  cluster.change_to("tycoon");
  const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
  cluster.advance(kStart + 1790);
  FakeJob& run = cluster.job(job);
  run.state = MARKET_JOB_COMPLETED;  // no one was told
  run.end = cluster.now;
  cluster.crash();
  cluster.advance(kStart + 2000);
  EXPECT_NEAR(cluster.bill(job).charged.credits(), 3.0, 0.05);
  cluster.expect_balanced("1000");
}

// Alone it would have paid 6 ÷ 3600 a second, as above; and one the market was never told of at all
// before its end pays the same.
TEST(Switch, ARunThatNoPassSawPaysAsABidLikeIt) {
  for (const bool by_crash : {true, false}) {
    Cluster cluster;
    cluster.change_to("tycoon");
    Ask ask;
    ask.budget = "6";
    ask.cpus = 16;
    const std::uint32_t job = cluster.run(ask);
    ASSERT_NE(job, 0u);
    FakeJob& run = cluster.job(job);
    run.state = MARKET_JOB_RUNNING;
    run.start = cluster.now;
    cluster.sync();
    cluster.now += 1800;
    if (by_crash) {
      run.state = MARKET_JOB_COMPLETED;
      run.end = cluster.now;
      cluster.crash();
    } else {
      cluster.end(run, MARKET_JOB_COMPLETED);
    }
    cluster.advance(cluster.now + 200);
    EXPECT_NEAR(cluster.bill(job).charged.credits(), 3.0, 0.05);
    cluster.expect_balanced("1000");
  }
}

}  // namespace
}  // namespace market::testing
