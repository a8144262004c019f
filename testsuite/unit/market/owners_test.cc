// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes in dva: what users pay reaches them, to the micro-credit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "malleable_lab.h"

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
    return World::bid(budget, cpus, 60, runtime);
  }
  Money charged(std::uint32_t job) {
    ledger::SegmentFilter filter;
    filter.jobs = {job};
    const auto runs = books().segments(filter);
    return runs && runs->size() == 1 ? runs->front().charged - runs->front().refunded : Money();
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

// One CPU asked for, all four cores of a node taken: the same as four CPUs asked for.
TEST(Owners, AreTheWholeNodePaidForAJobThatHasItAlone) {
  const auto paid = [](const Ask& ask) {
    Cluster cluster;
    const std::uint32_t job = cluster.run(ask);
    cluster.advance(kStart + 60);
    EXPECT_EQ(cluster.job(job).cores[0].size(), 4u);
    cluster.advance(kStart + 4000);
    EXPECT_EQ(cluster.balance("lab-a").posted, cluster.charged(job));
    return cluster.charged(job);
  };
  const Ask all{.budget = "2", .cpus = 4, .limit_min = 60, .runtime = 1777};
  Ask alone = all;
  alone.cpus = 1;
  alone.exclusive = true;
  const Money whole = paid(all);
  EXPECT_GT(whole, Money());
  EXPECT_EQ(paid(alone), whole);
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

// Nodes that come into slurm.conf before the others shift every index while the run goes on.
TEST(Owners, ArePaidByTheNamesOfTheirNodes) {
  for (const bool before_the_end : {false, true}) {
    Cluster cluster;
    const std::uint32_t first = cluster.bid("2", 4, 3000), second = cluster.bid("1", 4, 1777);
    cluster.advance(kStart + 1700);
    ASSERT_TRUE(cluster.job(first).cores.contains(0) && cluster.job(second).cores.contains(1));
    cluster.reorder_nodes({"new1", "new2", "n1", "n2", "n3", "n4"});
    if (before_the_end) cluster.tell_cluster();
    ASSERT_TRUE(cluster.job(first).cores.contains(2) && cluster.job(second).cores.contains(3));
    if (!before_the_end) {
      cluster.now = kStart + 1790;
      cluster.end(cluster.job(second), MARKET_JOB_COMPLETED);
      cluster.tell_cluster();
    }
    cluster.advance(kStart + 4000);
    EXPECT_GT(cluster.charged(first), Money());
    EXPECT_GT(cluster.charged(second), Money());
    EXPECT_EQ(cluster.balance("lab-a").posted, cluster.charged(first));
    EXPECT_EQ(cluster.balance("lab-b").posted, cluster.charged(second));
    cluster.expect_balanced();
  }
}

// Four cores of each: n1 asks 0.02, n2 0.03, n3 0.04, n4 is the site's at 0.05.
TEST(Owners, AreNotTakenForEachOtherWhenNodesChangePlaces) {
  Cluster cluster;
  const std::uint32_t wide = cluster.bid("4", 16, 1003);
  cluster.advance(kStart + 500);
  ASSERT_EQ(cluster.job(wide).cores.size(), 4u);
  cluster.reorder_nodes({"n4", "n3", "n2", "n1"});
  cluster.tell_cluster();
  cluster.advance(kStart + 2000);
  const double paid = cluster.charged(wide).credits();
  EXPECT_GT(paid, 0);
  EXPECT_NEAR(cluster.balance("lab-a").posted.credits(), paid * 2 / 14, 2e-6);
  EXPECT_NEAR(cluster.balance("lab-b").posted.credits(), paid * 3 / 14, 2e-6);
  cluster.expect_balanced();
}

// What each gets is settled when the run starts, whatever is told of it after a crash: n1 asks 0.02,
// n2 0.03, n3 0.04 (of nobody's account), n4 is the site's at 0.05, each with four cores.
TEST(Owners, KeepTheirPartsThroughACrash) {
  Cluster cluster;
  const std::uint32_t wide = cluster.bid("4", 16, 1003);
  cluster.advance(kStart + 60);
  cluster.job(wide).cores.erase(2);
  cluster.crash();
  cluster.advance(kStart + 2000);
  const double paid = cluster.charged(wide).credits();
  EXPECT_GT(paid, 0);
  EXPECT_NEAR(cluster.balance("lab-a").posted.credits(), paid * 2 / 14, 2e-6);
  EXPECT_NEAR(cluster.balance("lab-b").posted.credits(), paid * 3 / 14, 2e-6);
  cluster.expect_balanced();
}

/// All four nodes have owners, who ask 0.02 to 0.05.
constexpr const char* kAllOwned = R"(mechanism = "dva";
owners = ( { nodes = "n1"; account = "lab1"; ask = "0.02"; }, { nodes = "n2"; account = "lab2"; ask = "0.03"; },
           { nodes = "n3"; account = "lab3"; ask = "0.04"; }, { nodes = "n4"; account = "lab4"; ask = "0.05"; } );
)";

struct OwnedCluster : World {
  explicit OwnedCluster(const char* floor = "0.01")
      : World(fmt::format("{}prices = {{ floor = \"{}\"; cap = \"1\"; }};\n", kAllOwned, floor), 4,
              4) {
    for (const char* owner : {"lab1", "lab2", "lab3", "lab4"})
      (void)books().add_account(owner, "", now);
    (void)books().deposit("physics", *Money::parse("100"), "", now);
    sync();
  }
  /// Jobs without a bid, which no auction sees, take so many nodes, the cheapest first.
  void block(std::uint32_t nodes) {
    Ask unbid;
    unbid.cpus = 4 * nodes;
    unbid.limit_min = 600;
    if (nodes > 0) run(unbid);
    advance(now + 20);
  }
  ledger::Segment bill(std::uint32_t job) {
    ledger::SegmentFilter filter;
    filter.jobs = {job};
    const auto runs = books().segments(filter);
    return runs && !runs->empty() ? runs->front() : ledger::Segment{};
  }
};

// However many CPUs a job has and wherever Slurm puts it, its owner pays what is asked for each CPU
// that it really held; together the owners get no more than that run was charged.
TEST(Owners, NoShapeOfAJobIsCheaperThanItsNodes) {
  for (const std::uint32_t blocked : {0u, 1u, 2u, 3u}) {
    for (const std::uint32_t cpus : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 13u, 16u}) {
      for (const bool unseen : {false, true}) {
        if (cpus > 4 * (4 - blocked)) continue;
        SCOPED_TRACE(fmt::format("{} blocked, {} CPUs, unseen {}", blocked, cpus, unseen));
        OwnedCluster cluster;
        cluster.block(blocked);
        const std::uint32_t id = cluster.bid("20", cpus, 60, 1003);
        cluster.step();
        ASSERT_EQ(cluster.job(id).state, MARKET_JOB_RUNNING);
        double asked = 0;  // a second
        std::map<std::string, double> each;
        for (const auto& [node, cores] : cluster.job(id).cores) {
          const double part = (0.02 + 0.01 * node) * static_cast<double>(cores.size()) / 3600;
          asked += part;
          each[fmt::format("lab{}", node + 1)] = part;
        }
        if (unseen) {
          cluster.now += 1003;
          cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
          cluster.sync();
        }
        cluster.advance(cluster.now + 1100);
        const ledger::Segment bill = cluster.bill(id);
        const auto ran = static_cast<double>(bill.elapsed);
        ASSERT_GT(bill.elapsed, 1000);
        EXPECT_GE(bill.charged.credits(), asked * ran - 1e-6);
        Money paid;
        for (const auto& [lab, part] : each) {
          paid += cluster.balance(lab).posted;
          EXPECT_GE(cluster.balance(lab).posted.credits(), part * ran - 1e-5) << lab;
        }
        EXPECT_LE(paid, bill.charged);
        cluster.expect_balanced();
      }
    }
  }
}

// A job without a bid sits on n1, the cheapest: n2 is the next, which asks 0.12 an hour for four
// CPUs, and n3 the runner-up with 0.16. A rival bids 1.00 an hour, and that is the price, of which
// 0.16 are n2's.
TEST(Owners, WinNothingWithANodeThatOthersHold) {
  OwnedCluster cluster;
  cluster.block(1);
  (void)cluster.books().set_members("lab4", {"root"}, {});
  (void)cluster.books().deposit("lab4", *Money::parse("10"), "", cluster.now);
  cluster.sync();
  Ask ask;
  ask.budget = "1";
  ask.account = "lab4";
  ask.cpus = 4;
  const std::uint32_t rival = cluster.run(ask);
  ASSERT_NE(rival, 0u);
  cluster.job(rival).never_starts = true;
  const std::uint32_t id = cluster.bid("2", 4, 60, 1800);
  cluster.advance(cluster.now + 2000);
  const ledger::Segment bill = cluster.bill(id);
  const auto hours = static_cast<double>(bill.elapsed) / 3600;
  EXPECT_NEAR(bill.charged.credits(), 1.0 * hours, 1e-5);
  EXPECT_NEAR(cluster.balance("lab2").posted.credits(), 0.16 * hours, 1e-5);
  EXPECT_EQ(cluster.balance("lab1").posted, Money());
}

// The site's own nodes may ask more than any owner. A run that Slurm starts before any auction pays
// what is asked where it is, 0.08 an hour for four CPUs of n1, all of which is its owner's, also
// after a crash.
TEST(Owners, GetAllOfARunThatNoAuctionAwarded) {
  for (const char* fate : {"seen", "unseen", "crash"}) {
    SCOPED_TRACE(fate);
    OwnedCluster cluster("0.5");
    const std::uint32_t id = cluster.bid("20", 4, 60, 1800);
    cluster.job(id).held = false;  // an operator is faster than the market
    cluster.schedule();
    ASSERT_EQ(cluster.job(id).state, MARKET_JOB_RUNNING);
    if (fate == std::string("unseen")) {
      cluster.now += 1800;
      cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
    } else {
      cluster.advance(cluster.now + 60);
      if (fate == std::string("crash")) cluster.crash();
    }
    cluster.advance(cluster.now + 2000);
    const ledger::Segment bill = cluster.bill(id);
    const double hours = static_cast<double>(bill.elapsed) / 3600;
    EXPECT_GE(bill.charged.credits(), 0.08 * hours - 1e-6);
    EXPECT_EQ(cluster.balance("lab1").posted, bill.charged);
    cluster.expect_balanced();
  }
}

// Its bid is the most that a job owes, also where more is asked: 0.05 an hour on a node that asks
// 0.12, and the owner gets what there is.
TEST(Owners, NobodyIsChargedMoreThanTheBidBecauseOfWhereSlurmPutIt) {
  OwnedCluster cluster;
  cluster.block(1);
  const std::uint32_t id = cluster.bid("0.05", 4, 60, 1800);
  cluster.advance(cluster.now + 2000);
  const ledger::Segment bill = cluster.bill(id);
  EXPECT_NEAR(bill.charged.credits(), 0.05 * static_cast<double>(bill.elapsed) / 3600, 1e-5);
  EXPECT_EQ(cluster.balance("lab2").posted, bill.charged);
}

// What a bid is told hangs on the nodes as they are then, between two passes too.
TEST(Owners, ABidIsToldItsShareOfWhatIsFreeNow) {
  World world("mechanism = \"dva\"; prices = { floor = \"0.05\"; };\n", 1, 4);
  (void)world.books().deposit("physics", *Money::parse("100"), "", world.now);
  world.sync();
  Ask ask;
  ask.budget = "2";
  ask.cpus = 4;
  const auto told = [&](const char* share) {
    const std::string text = world.submit(ask).text;
    EXPECT_NE(text.find(share), std::string::npos) << text;
  };
  told("present share 1.00");
  const std::uint32_t job = world.run(ask);
  world.advance(kStart + 60);
  ASSERT_EQ(world.job(job).state, MARKET_JOB_RUNNING);
  told("present share 0.00");
  told("present share 0.00");
  world.end(world.job(job), MARKET_JOB_COMPLETED);
  told("present share 1.00");
  world.node_up[0] = false;
  world.tell_cluster();
  told("present share 0.00");
}

// n4 asks 400 an hour for its 4 CPUs. Its owner's job there pays that to itself; where it keeps a bid of
// 450 off it pays 450, of which the site keeps what is above the ask: 600 s of 50 an hour.
TEST(Owners, PayForTheirOwnNodesWhatOthersWouldHave) {
  for (const bool has_rival : {false, true}) {
    Lab lab(kLabSettings, 4);
    (void)lab.books().set_members("lab-4", {"root"}, {});
    (void)lab.books().deposit("lab-4", *Money::parse("1000"), "", lab.now);
    lab.sync();
    Ask ask;
    ask.cpus = 4;
    ask.limit_min = 60;
    ask.runtime = 600;
    ask.required = "n4";
    ask.rate = "450";
    const std::uint32_t rival = has_rival ? lab.run(ask) : 0;
    ask.account = "lab-4";
    ask.rate = "500";
    const std::uint32_t own = lab.run(ask);
    lab.advance(lab.now + 605, 5);
    ASSERT_EQ(lab.job(own).state, MARKET_JOB_COMPLETED);
    EXPECT_EQ(lab.job(own).required, "n4");
    const Money left = lab.balance("lab-4").posted;
    // Both parts are rounded to a micro-credit.
    EXPECT_NEAR(left.credits(), has_rival ? 991.666667 : 1000, 1.5e-6);
    if (has_rival) lab.end(lab.job(rival), MARKET_JOB_CANCELLED);
    lab.advance(lab.now + 20, 5);
    lab.expect_balanced();
  }
}

}  // namespace
}  // namespace market::testing
