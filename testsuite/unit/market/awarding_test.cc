// SPDX-License-Identifier: GPL-2.0-or-later
// Where an auction sells nodes, nothing starts without an award and nothing runs beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

// Asks of 400, 300, 200 and 100 a CPU-hour: the cheapest node is the last one, so that luck places
// nothing right.
constexpr const char* kSettings = R"(mechanism = "dva"; prices = { floor = "0.05"; };
owners = ( { nodes = "n1"; account = "lab-1"; ask = "400"; }, { nodes = "n2"; account = "lab-2"; ask = "300"; },
           { nodes = "n3"; account = "lab-3"; ask = "200"; }, { nodes = "n4"; account = "lab-4"; ask = "100"; } );
)";

struct Condo : World {
  explicit Condo(const std::string& settings = kSettings) : World(settings, 4, 4) {
    for (const char* owner : {"lab-1", "lab-2", "lab-3", "lab-4"})
      (void)books().add_account(owner, "", now);
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
  }
  /// A bid that is awarded n4, where Slurm does not start it yet.
  std::uint32_t awarded() {
    const std::uint32_t id = bid("50", 2, 1, 30);
    job(id).never_starts = true;
    advance(now + 20);
    EXPECT_EQ(job(id).required, "n4");
    EXPECT_FALSE(job(id).held);
    return id;
  }
  std::string code(std::uint32_t id) {
    return nlohmann::json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)))["code"];
  }
};

// --budget=50 -n 2 -t 1 bids 3,000 an hour. Two CPUs of n4 ask 200, of n3 400: it runs on n4 for 400 an
// hour. 3 s cost 0.333333, all of it the owner's: twice what it expected.
TEST(Awarding, TheAwardDecidesTheNode) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.advance(kStart + 10, 1);
  const FakeJob& job = condo.job(id);
  ASSERT_EQ(job.state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(job.required, "n4");
  EXPECT_EQ(job.end - job.start, 3);
  EXPECT_EQ(condo.balance("lab-4").posted, *Money::parse("0.333333"));
  condo.expect_balanced();
}

// 1.60 a minute are 96 an hour: less than one CPU of the cheapest node asks.
TEST(Awarding, AnAskIsAReservePrice) {
  Condo condo;
  const std::uint32_t id = condo.bid("1.60", 1, 1, 3);
  condo.advance(kStart + 600);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  EXPECT_TRUE(condo.job(id).held);
  EXPECT_EQ(condo.job(id).state_desc, "Price");
  EXPECT_EQ(condo.code(id), "PRICE");
  const std::string why = condo.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
  EXPECT_NE(why.find("ask 100.00 an hour at least, it bids 96.00"), std::string::npos) << why;
  const auto answer = condo.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget":"2"}})", id));
  condo.advance(kStart + 700);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED) << answer;
}

// Four jobs of a node each fill all; the fifth gets the node that comes free, and no other.
TEST(Awarding, ABidWaitsForANodeWhosePriceItMeets) {
  Condo condo;
  for (const Time runtime : {600, 500, 400, 300}) condo.bid("2000", 4, 10, runtime);
  condo.advance(kStart + 30);
  // 20 for 10 minutes are 120 an hour: one CPU of n4, which is busy, and of no other node.
  const std::uint32_t poor = condo.bid("20", 1, 10, 60);
  condo.advance(kStart + 590);
  EXPECT_EQ(condo.job(poor).state, MARKET_JOB_PENDING);
  EXPECT_EQ(condo.code(poor), "PRICE");
  condo.advance(kStart + 900);
  ASSERT_EQ(condo.job(poor).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(poor).required, "n4");
  condo.expect_balanced();
}

TEST(Awarding, ACrashKeepsAwardsAndHolds) {
  Condo condo;
  const std::uint32_t poor = condo.bid("1.60", 1, 1, 3);
  const std::uint32_t rich = condo.bid("50", 2, 1, 30);
  condo.job(rich).never_starts = true;
  condo.advance(kStart + 20);
  EXPECT_EQ(condo.job(rich).required, "n4");
  EXPECT_FALSE(condo.job(rich).held);
  condo.crash();
  condo.advance(kStart + 60);
  EXPECT_TRUE(condo.job(poor).held);
  EXPECT_EQ(condo.code(poor), "PRICE");
  condo.job(rich).never_starts = false;
  condo.advance(kStart + 200);
  EXPECT_EQ(condo.job(rich).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(rich).required, "n4");
  condo.cancel_kept_back();
  condo.expect_balanced();
}

// What its owner asked for comes back when the market does not award nodes any more.
TEST(Awarding, TheOwnersWishComesBack) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 3), poor = condo.bid("1.60", 1, 1, 3);
  condo.job(id).never_starts = true;
  condo.advance(kStart + 20);
  EXPECT_EQ(condo.job(id).required, "n4");
  EXPECT_EQ(condo.job(id).max_nodes, 1u);
  condo.configure(R"(mechanism = "fifo"; prices = { floor = "0.05"; };)", false);
  condo.advance(kStart + 60);
  EXPECT_EQ(condo.job(id).required, "");
  EXPECT_EQ(condo.job(id).max_nodes, 0u);
  EXPECT_EQ(condo.job(poor).state, MARKET_JOB_COMPLETED);
}

// Held by its owner, a bid is the market's no longer, and its release makes it so again.
TEST(Awarding, AHoldOfItsOwnerStays) {
  Condo condo;
  Ask ask;
  ask.budget = "50";
  ask.cpus = 2;
  ask.limit_min = 1;
  ask.runtime = 3;
  ask.held = true;
  const std::uint32_t id = condo.run(ask);
  condo.advance(kStart + 200);
  EXPECT_TRUE(condo.job(id).held);
  EXPECT_EQ(condo.code(id), "HELD");
  // Its release is one from its owner's hold alone.
  EXPECT_EQ(condo.change(id, 0, {.release = true}), MARKET_WAITING);
  condo.job(id).held_by_site = true;
  condo.job(id).state_desc = "Price";
  condo.schedule();
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  condo.advance(kStart + 400);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
}

// A hold on top of the market's is its owner's from then on.
TEST(Awarding, AnOwnerMayHoldWhatTheMarketHolds) {
  Condo condo;
  const std::uint32_t id = condo.bid("1.60", 1, 1, 3);
  condo.advance(kStart + 20);
  EXPECT_EQ(condo.change(id, 0, {.hold = true}), MARKET_WAITING);
  condo.job(id).hold_by_owner();
  (void)condo.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget":"20"}})", id));
  condo.advance(kStart + 200);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  EXPECT_EQ(condo.code(id), "HELD");
}

// A bid whose award Slurm refuses goes behind the others, of whom none pays by it; it is tried again
// soon, and each time after a longer wait.
TEST(Awarding, ARefusedAwardIsTriedAgainBehindTheOthers) {
  Condo condo;
  const std::uint32_t refused = condo.bid("50", 2, 1, 3);
  condo.job(refused).refusal = "no such feature";
  condo.advance(kStart + 3, 1);
  EXPECT_TRUE(condo.job(refused).held);
  EXPECT_EQ(condo.job(refused).required, "");
  const std::string why = condo.query(fmt::format(R"({{"verb":"why","job":"{}"}})", refused));
  EXPECT_NE(why.find("no such feature"), std::string::npos) << why;
  // 2,400 an hour: it would pay the refused one's 3,000 at most, and pays n3's 400.
  const std::uint32_t other = condo.bid("40", 2, 1, 9);
  condo.advance(kStart + 30, 1);
  ASSERT_EQ(condo.job(other).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.balance("lab-4").posted, *Money::parse("1"));
  condo.job(refused).refusal.clear();
  condo.advance(kStart + 100, 1);
  EXPECT_EQ(condo.job(refused).state, MARKET_JOB_COMPLETED);
  condo.expect_balanced();
}

// Slurm is told to hold and to let go between two passes: nothing starts without an award.
TEST(Awarding, AHoldAndAReleaseAtOnceStartNothing) {
  Condo condo;
  const std::uint32_t id = condo.bid("1.60", 1, 1, 3);
  condo.advance(kStart + 20);
  EXPECT_EQ(condo.change(id, 0, {.hold = true}), MARKET_WAITING);
  EXPECT_EQ(condo.change(id, 0, {.release = true}), MARKET_WAITING);
  condo.schedule();
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  condo.advance(kStart + 100);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  EXPECT_EQ(condo.code(id), "PRICE");
}

// Before a pass has seen them jobs are known by their notes alone.
TEST(Awarding, AReleaseBeforeThePassStartsNothing) {
  for (const bool held : {false, true}) {
    Condo condo;
    Ask ask;
    ask.budget = "50";
    ask.cpus = 2;
    ask.limit_min = 1;
    ask.runtime = 3;
    ask.held = held;
    const std::uint32_t id = condo.run(ask);
    EXPECT_EQ(condo.change(id, 0, {.release = true}), MARKET_WAITING);
    EXPECT_TRUE(condo.job(id).held);
    condo.advance(kStart + 100);
    EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED) << held;
    EXPECT_EQ(condo.job(id).required, "n4");
  }
}

// Awarded n4, its owner asks for n1 or for more CPUs: until a pass has seen that it starts nowhere.
TEST(Awarding, AnAwardIsForTheBidAsItWas) {
  Condo condo;
  const std::uint32_t id = condo.awarded();
  market_change_t change{};
  change.resized = true;
  change.size.tasks = change.size.min_cpus = 2;
  change.size.req_nodes = "n1";
  EXPECT_EQ(condo.change(id, 0, change), MARKET_WAITING);
  condo.job(id).required = "n1";
  condo.job(id).never_starts = false;
  condo.schedule();
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_PENDING);
  condo.advance(kStart + 200);
  // Two CPUs of n1 ask 800 an hour: 30 s of it.
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(id).required, "n1");
  EXPECT_EQ(condo.balance("lab-1").posted, *Money::parse("6.666667"));
}

// So it is with a time limit, a partition, an account.
TEST(Awarding, EachChangeOfItsPriceTakesTheAward) {
  Condo condo;
  const std::uint32_t id = condo.awarded();
  for (const market_change_t& change :
       {market_change_t{.time_limit_min = 2}, market_change_t{.account = "physics"},
        market_change_t{.partition = "main"}}) {
    EXPECT_EQ(condo.change(id, 0, change), MARKET_WAITING);
    condo.advance(condo.now + 20);
    EXPECT_FALSE(condo.job(id).held);
  }
  EXPECT_EQ(condo.change(id, 0, {.begin = condo.now}), MARKET_ACCEPTED);
}

// Slurm would never start it there: it waits, held by the market and not by its owner.
TEST(Awarding, ARefusedAwardIsTriedAgain) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.job(id).refusal = "Requested node configuration is not available";
  condo.advance(kStart + 50);
  EXPECT_TRUE(condo.job(id).held);
  EXPECT_EQ(condo.code(id), "PRICE");
  condo.job(id).refusal.clear();
  condo.advance(kStart + 200);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  condo.expect_balanced();
}

// Two nodes, one of them n1: it and the cheapest other one.
TEST(Awarding, NodesThatAreNamedArePartOfTheAward) {
  Condo condo;
  Ask ask;
  ask.budget = "50";
  ask.cpus = 2;
  ask.limit_min = 1;
  ask.runtime = 3;
  ask.min_nodes = 2;
  ask.required = "n1";
  const std::uint32_t id = condo.run(ask);
  condo.advance(kStart + 100);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_TRUE(condo.job(id).required == "n4,n1" || condo.job(id).required == "n1,n4")
      << condo.job(id).required;
}

// What has no price has room all the same: memory that n4 has not.
TEST(Awarding, AnAwardHasRoomForWhatIsFree) {
  Condo condo;
  condo.node_mem = {{0, 64000}, {1, 64000}, {2, 64000}, {3, 1000}};
  condo.tell_cluster();
  Ask ask;
  ask.budget = "50";
  ask.limit_min = 1;
  ask.runtime = 3;
  ask.mem_mb = 32000;
  const std::uint32_t id = condo.run(ask);
  condo.advance(kStart + 30);
  EXPECT_EQ(condo.job(id).required, "n3");
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
}

// The GPU of n4 is taken by a run that holds one of its CPUs.
TEST(Awarding, ARunHoldsItsGres) {
  Condo condo;
  condo.node_gres = {{2, "gpu:1"}, {3, "gpu:1"}};
  condo.tell_cluster();
  Ask ask;
  ask.budget = "5000";
  ask.limit_min = 60;
  ask.gres = "gres:gpu:1";
  const std::uint32_t first = condo.run(ask);
  condo.advance(kStart + 30);
  EXPECT_EQ(condo.job(first).required, "n4");
  const std::uint32_t second = condo.run(ask);
  condo.advance(kStart + 60);
  EXPECT_EQ(condo.job(second).required, "n3");
}

// Which nodes a bid may have depends on all that it asks of a node.
TEST(Awarding, BidsDoNotShareNodesOfOthers) {
  Condo condo;
  condo.node_mem = {{0, 64000}, {1, 64000}, {2, 64000}, {3, 1000}};
  condo.tell_cluster();
  Ask ask;
  ask.budget = "50";
  ask.limit_min = 1;
  ask.runtime = 3;
  ask.mem_mb = 32000;
  ask.required = "n3";
  const std::uint32_t large = condo.run(ask);
  ask.mem_mb = 100;
  ask.min_nodes = 2;
  ask.cpus = 2;
  const std::uint32_t small = condo.run(ask);
  condo.advance(kStart + 60);
  EXPECT_EQ(condo.job(large).required, "n3");
  EXPECT_EQ(condo.job(small).required, "n4,n3");
}

// A larger maximum of nodes is its owner's as well as a node list.
TEST(Awarding, ANumberOfNodesChangedMeanwhileIsKept) {
  Condo condo;
  const std::uint32_t id = condo.awarded();
  condo.job(id).max_nodes = 3;
  condo.advance(condo.now + 20);
  condo.configure(R"(mechanism = "fifo"; prices = { floor = "0.05"; };)", false);
  condo.advance(condo.now + 20);
  EXPECT_EQ(condo.job(id).max_nodes, 3u);
  EXPECT_EQ(condo.job(id).required, "");
}

// Slurm's scheduler is asked about each award under its locks: a pass gives 64, the next ones the rest.
TEST(Awarding, APassGivesABoundedNumber) {
  World world("mechanism = \"dva\"; prices = { floor = \"0.05\"; };\n", 100, 1);
  (void)world.books().deposit("physics", *Money::parse("10000"), "", world.now);
  world.sync();
  world.scheduler = Scheduler::kNone;
  for (int i = 0; i < 100; ++i) world.bid("5", 1, 60, 600);
  world.step();
  EXPECT_EQ(world.orders_of[MARKET_AWARD], 64);
  world.step();
  EXPECT_EQ(world.orders_of[MARKET_AWARD], 100);
  for (const auto& [id, job] : world.jobs) EXPECT_FALSE(job.held) << id;
}

}  // namespace
}  // namespace market::testing
