// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes in dva: what users pay reaches them, to the micro-credit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr const char* kSettings = R"(mechanism = "dva"; prices = { floor = "0.05"; };
owners = ( { nodes = "n1"; account = "Lab-A"; ask = "0.02"; },
           { nodes = "n[2]"; account = "lab-b"; ask = "0.03"; },
           { nodes = "n3"; account = "nobody"; ask = "0.04"; } );
)";

struct Cluster : World {
  Cluster() : World(kSettings, 4, 4) {
    for (const char* owner : {"lab-a", "lab-b"}) (void)books().add_account(owner, "", now);
    (void)books().deposit("physics", *Money::parse("100"), "", now);
    sync();
  }
  std::uint32_t bid(const char* budget, std::uint32_t cpus, Time runtime) {
    Ask ask;
    ask.budget = budget;
    ask.cpus = cpus;
    ask.limit_min = 60;
    ask.runtime = runtime;
    return run(ask);
  }
  Money charged(std::uint32_t job) {
    ledger::SegmentFilter filter;
    filter.jobs = {job};
    const auto runs = books().segments(filter);
    return runs && runs->size() == 1 ? runs->front().charged - runs->front().refunded : Money();
  }
  void expect_balanced() {
    const auto check = books().check();
    ASSERT_TRUE(check);
    EXPECT_EQ(check->sum, Money());
    EXPECT_TRUE(check->faults.empty());
  }
};

TEST(Owners, AreAskedAndPaidForTheNodesTheyLend) {
  Cluster cluster;
  const std::uint32_t first = cluster.bid("2", 4, 3000), second = cluster.bid("1", 4, 1777);
  cluster.advance(kStart + 60);
  ASSERT_EQ(cluster.job(first).cores.count(0), 1u);  // the better bid has the lower ask
  ASSERT_EQ(cluster.job(second).cores.count(1), 1u);
  cluster.advance(kStart + 4000);
  EXPECT_GT(cluster.charged(first), Money());
  EXPECT_EQ(cluster.balance("lab-a").posted, cluster.charged(first));
  EXPECT_EQ(cluster.balance("lab-b").posted, cluster.charged(second));
  // Income is never below what was asked for 4 CPUs and the seconds they ran.
  const FakeJob &a = cluster.job(first), &b = cluster.job(second);
  EXPECT_GE(cluster.charged(first).credits(),
            0.02 * 4 / 3600 * static_cast<double>(a.end - a.start) - 1e-6);
  EXPECT_GE(cluster.charged(second).credits(),
            0.03 * 4 / 3600 * static_cast<double>(b.end - b.start) - 1e-6);
  EXPECT_EQ(*Money::parse("100") - cluster.balance("physics").posted,
            cluster.balance("lab-a").posted + cluster.balance("lab-b").posted);
  cluster.expect_balanced();
}

TEST(Owners, ShareARunOnSeveralNodesAndTheSiteKeepsItsPart) {
  Cluster cluster;
  const std::uint32_t wide = cluster.bid("4", 16, 1003);
  cluster.advance(kStart + 60);
  ASSERT_EQ(cluster.job(wide).cores.size(), 4u);
  cluster.advance(kStart + 2000);
  const Money paid = cluster.charged(wide);
  const double asked =
      4.0 / 3600 * static_cast<double>(cluster.job(wide).end - cluster.job(wide).start);
  EXPECT_GE(cluster.balance("lab-a").posted.credits(), 0.02 * asked - 2e-6);
  EXPECT_GE(cluster.balance("lab-b").posted.credits(), 0.03 * asked - 2e-6);
  EXPECT_LE(cluster.balance("lab-a").posted + cluster.balance("lab-b").posted, paid);
  EXPECT_EQ(std::count_if(cluster.log.begin(), cluster.log.end(),
                          [](const std::string& line) {
                            return line.find("account nobody is not in the ledger") !=
                                   std::string::npos;
                          }),
            1);
  cluster.expect_balanced();

  ASSERT_TRUE(cluster.books().refund("cluster", wide, paid, 86400, false, "", cluster.now));
  EXPECT_EQ(cluster.balance("physics").posted, *Money::parse("100"));
  EXPECT_EQ(cluster.balance("lab-a").posted, Money());
  EXPECT_EQ(cluster.balance("lab-b").posted, Money());
  cluster.expect_balanced();
}

TEST(Owners, ArePaidAfterACrashDuringTheRunAndNotForFreeEnds) {
  Cluster cluster;
  const std::uint32_t first = cluster.bid("2", 4, 3000), second = cluster.bid("1", 4, 3000);
  cluster.advance(kStart + 1000);
  cluster.crash();
  cluster.advance(kStart + 1500);
  cluster.end(cluster.job(second), MARKET_JOB_NODE_FAIL);
  cluster.advance(kStart + 4000);
  EXPECT_GT(cluster.charged(first), Money());
  EXPECT_EQ(cluster.balance("lab-a").posted, cluster.charged(first));
  EXPECT_EQ(cluster.charged(second), Money());
  EXPECT_EQ(cluster.balance("lab-b").posted, Money());
  cluster.expect_balanced();
}

}  // namespace
}  // namespace market::testing
