// SPDX-License-Identifier: GPL-2.0-or-later
// The site's floor under contracts, from the quote to the bill, and the seed of their draws.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

/// Four nodes of four CPUs; 8 CPUs for an hour are 8.00 at the floor.
struct Cluster : World {
  explicit Cluster(const std::string& more = "")
      : World("mechanism = \"contracts\"; prices = { floor = \"1\"; cap = \"10\"; };\n" + more, 4,
              4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    sync();
  }
  std::vector<ledger::Segment> bills(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    auto runs = books().segments(filter);
    return runs ? *runs : std::vector<ledger::Segment>{};
  }
  std::string ask(const char* verb, const std::string& more = "") {
    return query(fmt::format(R"({{"verb":"{}"{}}})", verb, more));
  }
};

const std::string kEightCpus = R"(,"size":{"tasks":8,"min_cpus":8},"time_limit_s":3600)";

TEST(ContractFloor, IsAReserveFromTheQuoteToTheBill) {
  Cluster cluster;
  const auto rows = nlohmann::json::parse(cluster.ask("quote", kEightCpus))["rows"];
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) EXPECT_EQ(row["price"], "8.00") << row;
  Ask bid;
  bid.cpus = 8;
  bid.budget = "7.999999";
  Answer answer;
  EXPECT_EQ(cluster.run(bid, &answer), 0u);
  EXPECT_NE(answer.text.find("--budget=8.00"), std::string::npos) << answer.text;
  bid.budget = "100";
  bid.runtime = 1800;
  const std::uint32_t id = cluster.run(bid, &answer);
  EXPECT_NE(answer.text.find("accepted for 8.00"), std::string::npos) << answer.text;
  cluster.advance(kStart + 4000);
  ASSERT_EQ(cluster.bills(id).size(), 1u);
  EXPECT_EQ(cluster.bills(id)[0].charged, *Money::parse("8"));
  cluster.expect_balanced();
}

TEST(ContractFloor, NoneIsThePapers) {
  Cluster cluster("contracts = { floor = \"none\"; };\n");
  const std::uint32_t id = cluster.bid("0.000001", 8, 60, 1800);
  cluster.advance(kStart + 4000);
  ASSERT_EQ(cluster.bills(id).size(), 1u);
  EXPECT_EQ(cluster.bills(id)[0].charged, Money());
}

// A run that its user or Slurm ended, and the next one, each pay the floor at least; what Slurm
// ended is free.
TEST(ContractFloor, HoldsForEveryRun) {
  for (const int state : {MARKET_JOB_REQUEUED, MARKET_JOB_NODE_FAIL}) {
    Cluster cluster;
    const std::uint32_t id = cluster.bid("100", 8, 60, 1800);
    cluster.advance(kStart + 600);
    ASSERT_EQ(cluster.job(id).state, MARKET_JOB_RUNNING);
    cluster.requeue(cluster.job(id), state);
    cluster.advance(kStart + 7200);
    const auto runs = cluster.bills(id);
    ASSERT_EQ(runs.size(), 2u);
    for (const ledger::Segment& run : runs) {
      const bool is_free = run.state == "NODE_FAIL";
      EXPECT_EQ(run.charged, is_free ? Money() : *Money::parse("8")) << run.state;
    }
    cluster.expect_balanced();
  }
}

// A change that lengthens the limit is priced at the floor too.
TEST(ContractFloor, HoldsForAChangedJob) {
  Cluster cluster;
  Ask bid;
  bid.cpus = 8;
  bid.budget = "100";
  bid.runtime = 600;
  bid.begin = kStart + 3600;
  const std::uint32_t id = cluster.run(bid);
  cluster.advance(kStart + 60);
  market_change_t change{};
  change.time_limit_min = 120;
  ASSERT_EQ(cluster.change(id, 0, change), MARKET_ACCEPTED);
  cluster.job(id).limit_min = 120;
  cluster.advance(kStart + 12000);
  ASSERT_EQ(cluster.bills(id).size(), 1u);
  EXPECT_EQ(cluster.bills(id)[0].charged, *Money::parse("16"));
}

/// Prices of an hour on four CPUs when 12 hours of all others are sold, so that the draw matters.
std::string busy_quote(Cluster& cluster) {
  for (int hour = 0; hour < 12; ++hour) {
    Ask bid;
    bid.cpus = 16;
    bid.budget = "1000";
    bid.begin = kStart + hour * 4000;
    cluster.run(bid);
  }
  cluster.step();
  return cluster.ask("quote", R"(,"size":{"tasks":4,"min_cpus":4},"time_limit_s":3600)");
}

TEST(Seed, OfTheLedgerIsKeptThroughCrashesAndIsAnothersInAnotherLedger) {
  const std::string settings = "# names no seed\n";
  Cluster one(settings), other(settings);
  const std::string first = busy_quote(one);
  one.now = other.now = kStart;
  EXPECT_NE(busy_quote(other), first);
  EXPECT_EQ(one.log, other.log);
  one.crash();
  one.step();
  EXPECT_EQ(one.ask("quote", R"(,"size":{"tasks":4,"min_cpus":4},"time_limit_s":3600)"), first);
}

TEST(Seed, IsShownToNobody) {
  const std::string secret = "0123456789hush";
  Cluster cluster("seed = \"" + secret + "\";\n");
  std::string all;
  const std::uint32_t id = cluster.bid("100", 8, 60, 600);
  for (const char* verb : {"status", "prices", "balance"}) all += cluster.ask(verb);
  all += cluster.ask("quote", kEightCpus);
  all += cluster.ask("why", fmt::format(R"(,"job":"{}")", id));
  cluster.configure("seed = \"" + secret + "\"; mechanism = \"nonsense\";\n", false);
  cluster.configure("seed = \"" + secret + "\\n\";\n", false);
  cluster.configure("seeed = \"" + secret + "\";\n", false);
  cluster.advance(kStart + 1200);
  all += cluster.ask("status") + cluster.job(id).note + cluster.job(id).admin_comment;
  for (const std::string& line : cluster.log) all += line + "\n";
  EXPECT_NE(all.find("seeed"), std::string::npos);
  EXPECT_EQ(all.find(secret.substr(0, 10)), std::string::npos) << all;
}

}  // namespace
}  // namespace market::testing
