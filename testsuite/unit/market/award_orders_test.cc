// SPDX-License-Identifier: GPL-2.0-or-later
// Awards on their way to Slurm's record: too many in one pass, refused, not to be taken back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "malleable_lab.h"

namespace market::testing {
namespace {

// 100 nodes of 16 CPUs ask 100 a CPU-hour, 100 others 200.
std::string two_owners() {
  return "mechanism = \"dva\"; prices = { floor = \"0.05\"; }; planning = { start_slack = "
         "\"1:00\"; };\n"
         "owners = ( { nodes = \"n[1-100]\"; account = \"lab-1\"; ask = \"100\"; }, "
         "{ nodes = \"n[101-200]\"; account = \"lab-2\"; ask = \"200\"; } );\n";
}

struct Hundred : World {
  Hundred() : World(two_owners(), 200, 16) {
    for (const char* owner : {"lab-1", "lab-2"}) (void)books().add_account(owner, "", now);
    (void)books().deposit("physics", *Money::parse("1000000"), "", now);
    sync();
    scheduler = Scheduler::kNone;
  }
  /// Jobs that Slurm could start now.
  std::size_t free_to_start() const {
    return static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const auto& entry) { return !entry.second.held; }));
  }
};

// Jobs of 16 CPUs for 100 of the cheap nodes, which all fail. 64 get another award in the next pass; the
// others must not start on what they were awarded before.
TEST(AwardOrders, WhoseAwardHasToWaitStartsOnNoEarlierOne) {
  Hundred world;
  for (int i = 0; i < 100; ++i) world.bid("4000", 16, 60, 600);
  world.step();
  world.step();
  ASSERT_EQ(world.free_to_start(), 100u);
  std::fill_n(world.node_up.begin(), 100, false);
  world.tell_cluster();
  world.now += 10;
  world.step();
  EXPECT_EQ(world.free_to_start(), 64u);
  for (const auto& [id, job] : world.jobs) {
    const int node = std::stoi(job.required.substr(1));
    EXPECT_TRUE(job.held || node > 100) << id << " on " << job.required;
    EXPECT_TRUE(!job.held || job.is_kept_back()) << id;
  }
  ++world.now;
  world.step();
  EXPECT_EQ(world.free_to_start(), 100u);
  for (const auto& [id, job] : world.jobs) EXPECT_GT(std::stoi(job.required.substr(1)), 100) << id;
}

// 12 CPUs of a node each, of which two have no room there; at 1,600 an hour all may have 16.
TEST(AwardOrders, WhoseAwardHasToWaitStartsInNoEarlierSize) {
  Hundred world;
  Ask ask = Lab::malleable("1200");
  ask.malleable = "cpu:9-16";
  ask.cpus = 9;
  for (int i = 0; i < 100; ++i) world.run(ask);
  world.step();
  world.step();
  ASSERT_EQ(world.free_to_start(), 100u);
  for (const auto& [id, job] : world.jobs) {
    ASSERT_EQ(job.cpus, 12u);
    (void)world.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget_rate":"1600"}})", id));
  }
  ++world.now;
  world.step();
  std::size_t free = 0;
  for (const auto& [id, job] : world.jobs) {
    EXPECT_TRUE(job.held || job.cpus == 16) << id << " has " << job.cpus;
    free += job.held ? 0 : 1;
  }
  EXPECT_EQ(free, 64u);
  ++world.now;
  world.step();
  for (const auto& [id, job] : world.jobs) EXPECT_EQ(job.cpus, 16u) << id;
  EXPECT_EQ(world.free_to_start(), 100u);
}

// Slurm refuses the next award of a job that it may start on the last one: then it may start on none.
TEST(AwardOrders, ARefusedOneLeavesNoEarlierOneToStartOn) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).refusal = "no such feature";
  const auto answer =
      lab.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget_rate":"1600"}})", id));
  lab.advance(lab.now + 2, 1);
  EXPECT_TRUE(lab.job(id).held) << answer;
  EXPECT_EQ(lab.job(id).cpus, 1u);
  EXPECT_EQ(lab.job(id).required, "");
  lab.job(id).refusal.clear();
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).cpus, 16u);
}

// Its award is lost, and Slurm refuses to give the record back its owner's size for a while.
TEST(AwardOrders, WhatCouldNotBeTakenIsTakenLater) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).keeps = "the account is gone";
  std::fill(lab.node_up.begin(), lab.node_up.end(), false);
  lab.tell_cluster();
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).required, "n4");
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_TRUE(lab.job(id).held);
  EXPECT_GE(lab.orders_of[MARKET_TAKE_AWARD], 3);
  EXPECT_LE(lab.orders_of[MARKET_TAKE_AWARD], 10);  // not in each pass
  lab.job(id).keeps.clear();
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).required, "");
  EXPECT_EQ(lab.job(id).cpus, 1u);
  EXPECT_EQ(lab.job(id).limit_min, 17u);
  // What it is awarded next goes by what its owner asked for.
  std::fill(lab.node_up.begin(), lab.node_up.end(), true);
  lab.tell_cluster();
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).required, "n4");
  EXPECT_EQ(lab.job(id).cpus, 8u);
}

// The record still names the award when slurmctld dies: its owner's wish is not lost.
TEST(AwardOrders, WhatCouldNotBeTakenIsTakenAfterACrash) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).keeps = "the account is gone";
  std::fill(lab.node_up.begin(), lab.node_up.end(), false);
  lab.tell_cluster();
  lab.advance(lab.now + 30, 1);
  lab.crash();
  lab.advance(lab.now + 30, 1);
  lab.job(id).keeps.clear();
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).required, "");
  EXPECT_EQ(lab.job(id).cpus, 1u);
}

}  // namespace
}  // namespace market::testing
