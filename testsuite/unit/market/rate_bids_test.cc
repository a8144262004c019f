// SPDX-License-Identifier: GPL-2.0-or-later
// Bids that say what an hour may cost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

struct Cluster : World {
  explicit Cluster(const std::string& mechanism = "dva")
      : World(fmt::format("mechanism = \"{}\"; prices = {{ floor = \"1\"; cap = \"1\"; }};\n",
                          mechanism),
              2, 4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    sync();
  }
  static Ask at_rate(const char* rate, std::uint32_t limit_min, Time runtime = 30) {
    Ask ask;
    ask.rate = rate;
    ask.cpus = 4;
    ask.limit_min = limit_min;
    ask.runtime = runtime;
    return ask;
  }
  ledger::Segment bill(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    filter.open_too = true;
    const auto runs = books().segments(filter);
    return runs && runs->size() == 1 ? runs->front() : ledger::Segment();
  }
};

// 36 an hour: the lien is that × the time limit, the charge is the site's 4 an hour × 30 s, and both
// have the same place in the queue.
TEST(RateBids, AreEqualWhateverTheirTimeLimits) {
  Cluster cluster;
  Answer answer;
  const std::uint32_t brief = cluster.run(Cluster::at_rate("36", 1), &answer);
  EXPECT_NE(answer.text.find("you pay at most 0.60 credits (physics), bids 36.00 an hour"),
            std::string::npos)
      << answer.text;
  const std::uint32_t lengthy = cluster.run(Cluster::at_rate("36", 10), &answer);
  EXPECT_NE(answer.text.find("at most 6.00 credits"), std::string::npos) << answer.text;
  cluster.job(brief).never_starts = cluster.job(lengthy).never_starts = true;
  cluster.advance(kStart + 10);
  EXPECT_EQ(cluster.job(brief).site_factor, cluster.job(lengthy).site_factor);
  EXPECT_EQ(cluster.balance("physics").liens, *Money::parse("6.60"));
  cluster.job(brief).never_starts = cluster.job(lengthy).never_starts = false;
  cluster.advance(kStart + 200, 1);
  EXPECT_EQ(cluster.bill(brief).charged, *Money::parse("0.033333"));
  EXPECT_EQ(cluster.bill(lengthy).charged, cluster.bill(brief).charged);
  EXPECT_EQ(cluster.bill(brief).quoted, *Money::parse("0.60"));
  EXPECT_EQ(cluster.bill(lengthy).time_limit, 600);
  cluster.expect_balanced();
}

TEST(RateBids, ABudgetSaysWhatItIsAnHour) {
  Cluster cluster;
  Ask ask = Cluster::at_rate("", 6);
  ask.budget = "5";
  EXPECT_NE(cluster.test_only(ask).text.find("bids 50.00 an hour"), std::string::npos);
}

TEST(RateBids, FollowTheTimeLimit) {
  Cluster cluster;
  const std::uint32_t id = cluster.run(Cluster::at_rate("36", 1));
  cluster.job(id).never_starts = true;
  cluster.advance(kStart + 10);
  EXPECT_EQ(cluster.change(id, 0, {.time_limit_min = 5}), MARKET_WAITING);
  cluster.job(id).limit_min = 5;
  cluster.advance(kStart + 30);
  EXPECT_EQ(cluster.balance("physics").liens, *Money::parse("3"));
  // 2,000 minutes at 36 an hour are 1,200, and 1,000 are there.
  market_change_t change{};
  change.time_limit_min = 2000;
  EXPECT_EQ(cluster.change(id, 0, change), MARKET_REJECTED);
  cluster.crash();
  cluster.advance(kStart + 60);
  EXPECT_EQ(cluster.balance("physics").liens, *Money::parse("3"));
  const auto why =
      nlohmann::json::parse(cluster.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
  EXPECT_EQ(why.value("budget_rate", ""), "36");
}

TEST(RateBids, CanBeBidAgain) {
  Cluster cluster;
  const std::uint32_t id = cluster.run(Cluster::at_rate("3", 10));  // 4 is asked
  cluster.advance(kStart + 20);
  EXPECT_TRUE(cluster.job(id).held);
  const auto answer = nlohmann::json::parse(
      cluster.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget_rate":"4"}})", id)));
  EXPECT_EQ(answer.value("price", ""), "0.666667") << answer;
  cluster.advance(kStart + 100);
  EXPECT_EQ(cluster.bill(id).state, "COMPLETED");
}

TEST(RateBids, AreForMechanismsWithRates) {
  for (const char* mechanism : {"era", "contracts", "first_fit", "on_demand", "abacus", "fifo"}) {
    Cluster cluster(mechanism);
    const Answer answer = cluster.test_only(Cluster::at_rate("36", 1));
    EXPECT_EQ(answer.verdict, MARKET_REJECTED) << mechanism;
    EXPECT_NE(answer.text.find("--budget-rate: only where runs are charged by a rate"),
              std::string::npos)
        << mechanism << answer.text;
  }
  // Tycoon spends it evenly, 36 an hour; who has all 8 CPUs alone and uses 4 pays half of that at
  // first, 0.15 in 30 s, and a little more as what is left has less time.
  Cluster cluster("tycoon");
  const std::uint32_t id = cluster.run(Cluster::at_rate("36", 1, 30));
  cluster.advance(kStart + 100, 1);
  EXPECT_GE(cluster.bill(id).charged, *Money::parse("0.15"));
  EXPECT_LE(cluster.bill(id).charged, *Money::parse("0.20"));
}

TEST(RateBids, AreNoBudgetOrValueBesides) {
  Cluster cluster;
  Ask ask = Cluster::at_rate("36", 1);
  ask.budget = "1";
  EXPECT_NE(
      cluster.test_only(ask).text.find("give one of --budget, --budget-rate, --value and --quote"),
      std::string::npos);
  EXPECT_NE(cluster.test_only(Cluster::at_rate("-1", 1)).text.find("--budget-rate=-1: credits"),
            std::string::npos);
}

}  // namespace
}  // namespace market::testing
