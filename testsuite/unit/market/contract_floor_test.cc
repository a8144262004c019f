// SPDX-License-Identifier: GPL-2.0-or-later
// The site's floor under contracts, from the quote to the bill, and the seed of their draws.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

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

// Else a quote would tell prices below the floor that it names.
TEST(ContractFloor, IsToldAsItIs) {
  const auto told = [](World& cluster) {
    std::set<std::string> floors;
    for (const std::string& ask :
         {R"({"verb":"quote")" + kEightCpus + "}", std::string(R"({"verb":"prices"})")}) {
      const auto answer = nlohmann::json::parse(cluster.query(ask));
      floors.insert(answer["floor"].get<std::string>());
    }
    return floors;
  };
  Cluster site, none("contracts = { floor = \"none\"; };\n");
  World other("mechanism = \"era\"; prices = { floor = \"1\"; cap = \"10\"; };\n");
  EXPECT_EQ(told(site), std::set<std::string>{"1"});
  EXPECT_EQ(told(none), std::set<std::string>{"none"});
  EXPECT_EQ(told(other), std::set<std::string>{"1"});
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

/// The order in which eight jobs would start, drawn from the ledger's seed.
struct Lottery : World {
  Lottery() : World("mechanism = \"random\";  # names no seed\n", 4, 4) {
    scheduler = Scheduler::kNone;
    for (int i = 0; i < 8; ++i) bid("1", 1, 60, 600);
    step();
  }
  std::vector<std::uint32_t> lots() const {
    std::vector<std::uint32_t> result;
    for (const auto& [id, job] : jobs) result.push_back(job.site_factor);
    return result;
  }
};

// Of 40,320 orders two ledgers have the same one now and then, three hardly ever.
TEST(Seed, OfTheLedgerIsKeptThroughCrashesAndIsAnothersInAnotherLedger) {
  Lottery one, other, third;
  const std::vector<std::uint32_t> lots = one.lots();
  EXPECT_EQ(std::set<std::uint32_t>(lots.begin(), lots.end()).size(), 8u);
  EXPECT_FALSE(other.lots() == lots && third.lots() == lots);
  for (auto& [id, job] : one.jobs) job.site_factor = 0;
  one.crash();
  one.step();
  EXPECT_EQ(one.lots(), lots);
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
