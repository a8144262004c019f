// SPDX-License-Identifier: GPL-2.0-or-later
// What was told is kept: the price, whoever but its owner changes a job; the place of one that
// Slurm starts; and the place of others, of one that Slurm does not start.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <regex>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

Money credits(const std::string& text) {
  return *Money::parse(text);
}

// One CPU for one hour costs 1.
const char* const kFixed = "mechanism = \"first_fit\";\nprices = { fixed = \"1\"; };\n";

void fund(World& world, const char* amount) {
  ASSERT_TRUE(world.books().deposit("physics", credits(amount), "", kStart));
  world.sync();
}

Money told(const Answer& answer) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(answer.text, found, std::regex("accepted for ([0-9.]+)")))
      << answer.text;
  return credits(found[1]);
}

Money price_of(World& world, std::uint32_t id) {
  return read_note(world.job(id).note)->price;
}

Money charged_for(World& world, std::uint32_t id) {
  const auto bills = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& bill : *bills) {
    if (bill.key.job_id == id && bill.end > 0) return bill.charged;
  }
  ADD_FAILURE() << "no bill for job " << id;
  return Money();
}

// TRES without weight come in with Slurm's own words, and other bids raise the price between the
// answer and the first pass: nobody owes more than was told.
TEST(Promises, TheToldPriceIsTheMostThatIsOwed) {
  std::mt19937 random(8);
  const auto draw = [&random](int from, int to) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution<int>(from, to)(random));
  };
  World world("mechanism = \"era\";\nprices = { floor = \"0.1\"; cap = \"10\"; };\n");
  fund(world, "100000");
  std::map<std::uint32_t, Money> promised;
  bool rose = false;
  while (promised.size() < 60) {
    Money first;
    for (std::uint32_t burst = draw(1, 4); burst > 0; --burst) {
      Answer answer;
      const std::uint32_t id = world.run(
          Ask{.budget = "2000", .cpus = draw(1, 6), .limit_min = 10 * draw(1, 12)}, &answer);
      if (id == 0) continue;
      FakeJob& job = world.job(id);
      job.tres = fmt::format("cpu={},mem={}M,node={},billing={}", job.cpus, draw(1, 9000),
                             draw(1, 2), job.cpus * draw(1, 9));
      promised[id] = told(answer);
      if (first == Money()) first = promised[id];
      rose |= promised[id] > first;
    }
    world.step();
    world.sync();
    if (draw(0, 3) == 0) world.advance(world.now + 600, 60);
  }
  EXPECT_TRUE(rose) << "prices did not move: this shows nothing";
  world.advance(kStart + 9 * 86400, 1200);
  for (const auto& [id, most] : promised) EXPECT_LE(charged_for(world, id), most) << "job " << id;
  world.expect_balanced();
}

// By hand: 2 CPUs for an hour at 1 are 2. Four hours of an operator cost the owner 2, of the
// owner 8.
TEST(Promises, OnlyTheOwnersChangeIsPricedAnew) {
  for (const bool by_owner : {false, true}) {
    World world(kFixed);
    fund(world, "100");
    Answer answer;
    const std::uint32_t id = world.run(
        Ask{.budget = "50", .cpus = 2, .limit_min = 60, .uid = 1, .begin = kStart + 3600}, &answer);
    ASSERT_EQ(told(answer), credits("2"));
    world.advance(kStart + 30);
    market_change_t longer{};
    longer.time_limit_min = 240;
    ASSERT_EQ(world.change(id, by_owner ? 1 : 0, longer), MARKET_ACCEPTED);
    world.job(id).limit_min = 240;
    world.advance(kStart + 60);
    EXPECT_EQ(world.balance("physics").liens, credits(by_owner ? "8" : "2"));
    // Slurm's and a plugin's changes come without a question.
    world.job(id).tres = "cpu=3,mem=100M,node=1,billing=9";
    world.advance(kStart + 90);
    EXPECT_EQ(world.balance("physics").liens, credits(by_owner ? "8" : "2"));
    // The whole time has a place: until then nobody else's job is on its cores.
    world.job(id).runtime = 235 * 60;
    world.advance(kStart + 6 * 3600, 60);
    EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
    EXPECT_EQ(charged_for(world, id), credits(by_owner ? "8" : "2"));
  }
}

// A change that comes before the market has seen the job is no loophole.
TEST(Promises, AChangeBeforeTheFirstPassIsTheOwnersToo) {
  World world(kFixed);
  fund(world, "100");
  const std::uint32_t id =
      world.run(Ask{.budget = "50", .limit_min = 60, .uid = 1, .begin = kStart + 3600});
  market_change_t longer{};
  longer.time_limit_min = 600;
  ASSERT_EQ(world.change(id, 1, longer), MARKET_NO_BID);
  world.job(id).limit_min = 600;
  world.advance(kStart + 30);
  EXPECT_EQ(world.balance("physics").liens, credits("10"));
}

// Another change of its owner than of size, time or partition costs nothing.
TEST(Promises, AChangeOfNothingThatHasAPriceCostsNothing) {
  World world("mechanism = \"era\";\nprices = { floor = \"0.1\"; cap = \"10\"; };\n");
  fund(world, "1000");
  Answer answer;
  const std::uint32_t id = world.run(
      Ask{.budget = "50", .cpus = 4, .limit_min = 60, .uid = 1, .begin = kStart + 3600}, &answer);
  for (int i = 0; i < 3; ++i) {
    world.run(Ask{.budget = "500", .cpus = 4, .limit_min = 60, .begin = kStart + 3600});
  }
  world.change(id, 1);
  world.job(id).tres = "cpu=4,mem=7M,node=1,billing=4";
  world.advance(kStart + 30);
  EXPECT_EQ(price_of(world, id), told(answer));
}

// An operator's hold over the planned start: the same price afterwards; the owner's own: asked
// again.
TEST(Promises, AnOperatorsHoldKeepsThePrice) {
  for (const bool by_site : {true, false}) {
    World world(kFixed);
    fund(world, "100");
    const std::uint32_t id =
        world.run(Ask{.budget = "50", .limit_min = 60, .uid = 1, .begin = kStart + 600});
    world.advance(kStart + 30);
    world.job(id).held = true;
    world.job(id).held_by_site = by_site;
    world.advance(kStart + 900);
    world.configure("mechanism = \"first_fit\";\nprices = { fixed = \"3\"; };\n", false);
    world.job(id).held = world.job(id).held_by_site = false;
    world.advance(kStart + 1200);
    EXPECT_EQ(price_of(world, id), credits(by_site ? "1" : "3"));
  }
}

// Slurm takes 4 CPUs for what was sold as 1 (say --mincpus=4): it gets them at the price of 1.
TEST(Promises, WhatSlurmTakesMoreIsTheSites) {
  World world(kFixed);
  fund(world, "100");
  Answer answer;
  const std::uint32_t id = world.run(Ask{.budget = "50", .limit_min = 60}, &answer);
  world.job(id).counted = 4;
  world.advance(kStart + 30);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_THAT(world.query(R"({"verb":"status"})"), HasSubstr("\"undersold\":1"));
  const auto said = std::count_if(world.log.begin(), world.log.end(), [](const auto& line) {
    return line.find("Slurm takes 4 CPUs, its submission was counted as 1") != std::string::npos;
  });
  EXPECT_EQ(said, 1);
  world.advance(kStart + 2 * 3600, 60);
  EXPECT_EQ(charged_for(world, id), told(answer));
  EXPECT_EQ(told(answer), credits("1"));
}

TEST(Promises, WhatSlurmTakesMoreIsPlannedToo) {
  World world(kFixed, 1, 4);
  fund(world, "100");
  const std::uint32_t later =
      world.run(Ask{.budget = "50", .limit_min = 60, .begin = kStart + 600});
  world.job(later).counted = 4;
  world.advance(kStart + 30);
  ASSERT_EQ(world.reservations.size(), 1u);
  EXPECT_EQ(world.reservations.begin()->second.cores.at(0).size(), 4u);
}

// 3,537 MB a node at 1,000 a CPU are 4 CPUs a node. While another job ends Slurm counts 5 on one of them: no number of
// tasks or nodes divides 9, and the job starts all the same.
TEST(Promises, WhatNodesDoNotShareEvenlyIsPlannedToo) {
  World world(kFixed, 2, 8);
  fund(world, "100");
  world.rules.max_mem_per_cpu_mb = 1000;
  world.node_mem = {{0, 16000}, {1, 16000}};
  world.tell_cluster();
  const std::uint32_t id = world.run(Ask{.budget = "50",
                                         .cpus = 6,
                                         .limit_min = 60,
                                         .begin = kStart + 600,
                                         .min_nodes = 2,
                                         .mem_mb = 3537,
                                         .max_nodes = 2});
  world.job(id).counted = 9;
  world.advance(kStart + 30);
  ASSERT_EQ(world.reservations.size(), 1u);
  for (const auto& [node, cores] : world.reservations.begin()->second.cores)
    EXPECT_EQ(cores.size(), 5u);
  world.advance(kStart + 630);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.balance("physics").liens, credits("8"));  // as told
}

// More than there is: held with the reason, and its credits come back.
TEST(Promises, WhatHasNoPlaceIsHeldAndItsLienReturns) {
  World world(kFixed, 1, 4);
  fund(world, "100");
  const std::uint32_t id = world.run(Ask{.budget = "50", .limit_min = 60, .begin = kStart + 600});
  world.job(id).counted = 8;
  world.advance(kStart + 30);
  EXPECT_TRUE(world.job(id).held);
  EXPECT_EQ(world.job(id).state_desc, "Price");
  EXPECT_EQ(world.balance("physics").liens, Money());
}

// All tasks of an array are alike: one of them is counted.
TEST(Promises, AnArrayIsCountedOnce) {
  World world(kFixed);
  fund(world, "100");
  const std::uint32_t id =
      world.run(Ask{.budget = "5", .limit_min = 60, .array = 4, .begin = kStart + 600});
  world.job(id).counted = 4;
  world.advance(kStart + 30);
  ASSERT_EQ(world.reservations.size(), 4u);
  for (const auto& [name, reservation] : world.reservations)
    EXPECT_EQ(reservation.cores.begin()->second.size(), 4u);
  EXPECT_EQ(world.balance("physics").liens, credits("4"));
}

struct NotStarted : ::testing::TestWithParam<bool> {};

// Slurm refuses the place, or does not start the job: others get the place, the waits grow, and
// after six starts in a row the job is held and its credits come back.
TEST_P(NotStarted, AJobThatSlurmDoesNotStartGivesItsPlaceUp) {
  World world(kFixed, 1, 4);
  fund(world, "100");
  const std::uint32_t id =
      world.run(Ask{.budget = "50", .cpus = 4, .limit_min = 60, .begin = kStart + 600});
  world.job(id).never_starts = true;
  if (GetParam()) world.job(id).refusal = "Requested node configuration is not available";
  world.advance(kStart + 590);
  ASSERT_EQ(world.reservations.size(), 1u);
  world.advance(kStart + 600 + 190);
  // Three minutes were waited, so the next start is three minutes off.
  ASSERT_EQ(world.reservations.size(), 1u);
  EXPECT_GE(world.reservations.begin()->second.start, kStart + 600 + (GetParam() ? 180 : 2 * 180));
  const std::string why = world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
  EXPECT_THAT(why, HasSubstr("NOT_STARTED"));
  EXPECT_THAT(why, HasSubstr(GetParam() ? "node configuration" : "within 180 s"));
  // Its cores are free for others.
  const std::uint32_t other = world.bid("50", 4, 1, 30);
  world.advance(world.now + 60);
  EXPECT_EQ(world.job(other).state, MARKET_JOB_COMPLETED);
  world.advance(kStart + 86400, 20);
  EXPECT_TRUE(world.job(id).held);
  EXPECT_EQ(world.job(id).state_desc, "Price");
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_EQ(world.reservations.size(), 0u);
  EXPECT_EQ(world.orders_of[MARKET_BIND], 6 + 1);  // one for the other job
}

INSTANTIATE_TEST_SUITE_P(Promises, NotStarted, ::testing::Bool());

TEST(Promises, AfterAChangeAJobThatWasNotStartedIsPlannedAgain) {
  World world(kFixed, 1, 4);
  fund(world, "100");
  const std::uint32_t id = world.run(
      Ask{.budget = "50", .cpus = 4, .limit_min = 60, .begin = kStart + 600, .runtime = 600});
  world.job(id).never_starts = true;
  world.advance(kStart + 86400, 20);
  ASSERT_TRUE(world.job(id).held);
  world.job(id).never_starts = false;
  market_change_t shorter{};
  shorter.time_limit_min = 30;
  ASSERT_EQ(world.change(id, 0, shorter), MARKET_ACCEPTED);
  world.job(id).limit_min = 30;
  world.advance(world.now + 120);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
}

// Slurm started the job by itself, outside its reservation: where jobs are preempted, its cores are
// reserved while it runs, for as long as it runs.
TEST(Promises, ARunThatCouldBePreemptedHasAReservation) {
  for (const bool preempts : {false, true}) {
    World world(kFixed);
    fund(world, "100");
    world.preempts_by_qos = preempts;
    world.tell_cluster();
    const std::uint32_t id =
        world.run(Ask{.budget = "50", .cpus = 4, .limit_min = 10, .runtime = 300});
    world.schedule();
    ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    world.step();
    ASSERT_EQ(world.reservations.size(), preempts ? 1u : 0u);
    for (const auto& [name, reservation] : world.reservations)
      EXPECT_EQ(reservation.cores, world.job(id).cores);
    world.advance(kStart + 360, 20);
    EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
    EXPECT_EQ(world.reservations.size(), 0u);
    EXPECT_TRUE(world.faults.empty());
  }
}

// Only settings that can break a promise are warned of; with preemption by tiers see the cluster
// test, as here is one partition.
TEST(Promises, CheckWarnsOfSettingsThatBreakThem) {
  World world(kFixed);
  const std::string lead = "planning.reservation_lead";
  EXPECT_THAT(world.query(R"({"verb":"status"})"), HasSubstr("may run for ever in partition main"));
  EXPECT_THAT(world.query(R"({"verb":"status"})"), HasSubstr(lead));
  world.configure(std::string(kFixed) + "unbid = \"refuse\";\n", false);
  world.step();
  EXPECT_THAT(world.query(R"({"verb":"status"})"), HasSubstr("\"warnings\":[]"));
  world.rules.forced_share = 4;
  world.rules.overrun_s = 61;
  world.preempts_by_qos = true;
  world.tell_cluster();
  const std::string status = world.query(R"({"verb":"status"})");
  EXPECT_THAT(status, HasSubstr("OverSubscribe=FORCE:4 in partition main"));
  EXPECT_THAT(status, HasSubstr("go on for 61 s after their time limit"));
  EXPECT_THAT(status, HasSubstr("PreemptType=preempt/qos"));
}

TEST(Promises, CheckTellsWhatDecidesTheNodes) {
  World world(kFixed);
  EXPECT_THAT(
      world.query(R"({"verb":"status"})"),
      HasSubstr("\"nodes\":\"in Slurm's own order: SelectType is not select/cons_tres_market, or "
                "a TopologyPlugin decides\""));
  world.configure("mechanism = \"dva\";\n", false);
  world.takes_ranks = true;
  world.tell_cluster();
  EXPECT_THAT(
      world.query(R"({"verb":"status"})"),
      HasSubstr("\"nodes\":\"select/cons_tres_market: the cheapest first; those of an award "
                "are the job's required nodes\""));
}

}  // namespace
}  // namespace market::testing
