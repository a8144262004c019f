// SPDX-License-Identifier: GPL-2.0-or-later
// Shares among long runs of pots: which run stops, which must not, and which goes on.
#include "pot_world.h"

namespace market::testing {
namespace {

constexpr const char* kSuspend = "fund_max = \"1\"; enforce = \"suspend\"; min_run = \"0\";";

/// Root holds nodes n2 to n4 with a run on each, of a tenth of daemon's money; n1 is held by a job
/// outside the market.
struct Shares : PotWorld {
  explicit Shares(const std::string& tycoon = kSuspend, const std::string& more = "")
      : PotWorld(pot_settings(tycoon, more)) {}
  void fund_both() {
    ASSERT_TRUE(fund("10", "1:00:00").value("ok", false));
    ASSERT_TRUE(fund("100", "1:00:00", kDaemon).value("ok", false));
  }
  std::uint32_t start_at(const std::string& node, std::uint32_t uid, const Ask& like = Ask()) {
    Ask ask = like;
    ask.cpus = 4;
    ask.limit_min = 600;
    ask.runtime = 10 * kHour;
    ask.uid = uid;
    ask.required = node;
    const std::uint32_t id = run(ask);
    steps(2);
    return id;
  }
  std::uint32_t start_outside(const std::string& node) {
    Ask ask;
    ask.budget = "0";
    return start_at(node, kDaemon, ask);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      step();
      sync();
      now += 10;
    }
  }
  bool is_suspended(std::uint32_t id) { return job(id).state == MARKET_JOB_SUSPENDED; }
  bool is_running(std::uint32_t id) { return job(id).state == MARKET_JOB_RUNNING; }
};

TEST(PotShares, TheRunInTheWayStopsAndGoesOnAfterwards) {
  Shares world;
  world.fund_both();
  const std::uint32_t on2 = world.start_at("n2", kRoot), on3 = world.start_at("n3", kRoot);
  world.start_at("n1", kRoot);
  world.start_at("n4", kRoot);
  ASSERT_TRUE(world.is_running(on2));
  const std::uint32_t id = world.start_at("n2", kDaemon);
  world.steps(3);
  EXPECT_TRUE(world.is_suspended(on2));
  EXPECT_TRUE(world.is_running(id));
  EXPECT_TRUE(world.is_running(on3));
  EXPECT_EQ(world.orders_of[MARKET_SUSPEND], 1);
  world.end(world.job(id), MARKET_JOB_COMPLETED);
  world.steps(3);
  EXPECT_TRUE(world.is_running(on2));
}

// A game: no stop lets his job start, since it must have n1, which somebody holds whom the market stops
// not. CPUs enough would be free after a stop.
TEST(PotShareGames, AJobThatCannotStartStopsNobody) {
  Shares world;
  world.fund_both();
  world.start_outside("n1");
  for (const char* node : {"n2", "n3", "n4"}) world.start_at(node, kRoot);
  world.start_at("n1", kDaemon);
  world.steps(30);
  EXPECT_EQ(world.orders_of[MARKET_SUSPEND], 0);
}

// Nor does it keep those from going on that were stopped for another job.
TEST(PotShareGames, AJobThatCannotStartKeepsNobodyStopped) {
  Shares world;
  world.fund_both();
  world.start_outside("n1");
  const std::uint32_t on2 = world.start_at("n2", kRoot);
  for (const char* node : {"n3", "n4"}) world.start_at(node, kRoot);
  const std::uint32_t id = world.start_at("n2", kDaemon);
  world.steps(3);
  ASSERT_TRUE(world.is_suspended(on2));
  world.start_at("n1", kDaemon);
  world.end(world.job(id), MARKET_JOB_COMPLETED);
  world.steps(4);
  EXPECT_TRUE(world.is_running(on2));
}

// A game: a bid of ten credits a second for jobs that can start nowhere. Nobody else's share is less for it: of two other
// pots alike, one of which holds three nodes, the other one gets the two that its jobs want.
TEST(PotShareGames, JobsThatCannotStartTakeNobodysShare) {
  constexpr std::uint32_t kBin = 2;
  Shares world;
  (void)world.books().set_members("physics", {"bin"}, {});
  world.sync();
  world.step();
  ASSERT_TRUE(world.fund("10", "1:00:00").value("ok", false));
  ASSERT_TRUE(world.fund("100", "0:10", kDaemon).value("ok", false));
  ASSERT_TRUE(world.fund("20", "1:00:00", kBin).value("ok", false));
  world.start_outside("n1");
  for (const char* node : {"n2", "n3", "n4"}) world.start_at(node, kRoot);
  for (int i = 0; i < 3; ++i) world.start_at("n1", kDaemon);
  const std::uint32_t on2 = world.start_at("n2", kBin), on3 = world.start_at("n3", kBin);
  world.steps(20);
  EXPECT_TRUE(world.is_running(on2));
  EXPECT_TRUE(world.is_running(on3));
  EXPECT_EQ(world.orders_of[MARKET_SUSPEND], 2);
}

// The memory of a suspended run stays on its node of 8000 MB.
TEST(PotShares, ARunIsSuspendedWhereItsMemoryMayStay) {
  for (const std::uint64_t wanted : {1000, 6000}) {
    Shares world;
    for (std::uint32_t node = 0; node < 4; ++node) world.node_mem[node] = 8000;
    world.tell_cluster();
    world.fund_both();
    world.start_outside("n1");
    Ask ask;
    ask.mem_mb = 6000;
    const std::uint32_t on2 = world.start_at("n2", kRoot, ask);
    for (const char* node : {"n3", "n4"}) world.start_at(node, kRoot, ask);
    ask.mem_mb = wanted;
    world.start_at("n2", kDaemon, ask);
    world.steps(3);
    EXPECT_EQ(world.is_suspended(on2), wanted == 1000) << wanted;
    EXPECT_EQ(world.orders_of[MARKET_SUSPEND], wanted == 1000 ? 1 : 0) << wanted;
  }
}

// A run with GRES keeps them while it is suspended: it goes back into the queue, if its owner lets it.
TEST(PotShares, ARunWithGresIsSentBack) {
  for (const bool may : {true, false}) {
    Shares world;
    for (std::uint32_t node = 0; node < 4; ++node) world.node_gres[node] = "gpu:2";
    world.tell_cluster();
    world.fund_both();
    world.start_outside("n1");
    Ask ask;
    ask.gres = "gres:gpu:1";
    std::vector<std::uint32_t> runs;
    for (const char* node : {"n2", "n3", "n4"}) runs.push_back(world.start_at(node, kRoot, ask));
    for (const std::uint32_t id : runs) world.job(id).no_requeue = !may;
    ASSERT_TRUE(world.is_running(runs[0]));
    world.start_at("n2", kDaemon);
    world.steps(6);
    EXPECT_EQ(world.orders_of[MARKET_SUSPEND], 0);
    EXPECT_EQ(world.orders_of[MARKET_REQUEUE], 1);  // where it is refused it is tried once
    EXPECT_EQ(world.is_running(runs[0]), !may);
  }
}

// Of two stopped runs the cores of the first are taken: the other goes on.
TEST(PotShares, ARunGoesOnWhereItsCoresAreFree) {
  Shares world;
  world.fund_both();
  world.start_outside("n1");
  const std::uint32_t on2 = world.start_at("n2", kRoot), on3 = world.start_at("n3", kRoot);
  world.start_at("n4", kRoot);
  const std::uint32_t first = world.start_at("n2", kDaemon);
  const std::uint32_t second = world.start_at("n3", kDaemon);
  world.steps(4);
  ASSERT_TRUE(world.is_suspended(on2));
  ASSERT_TRUE(world.is_suspended(on3));
  ASSERT_TRUE(world.is_running(first));
  world.end(world.job(second), MARKET_JOB_COMPLETED);
  world.steps(3);
  EXPECT_TRUE(world.is_suspended(on2));
  EXPECT_TRUE(world.is_running(on3));
}

// An operator suspends and resumes as he likes: what the market did not stop it does not resume, and what
// somebody resumed runs and pays on.
TEST(PotShares, WhatOthersSuspendTheyResume) {
  Shares world;
  world.fund_both();
  const std::uint32_t id = world.start_at("n2", kRoot);
  ASSERT_TRUE(world.suspend(world.job(id)));
  world.steps(10);
  EXPECT_TRUE(world.is_suspended(id));
  EXPECT_EQ(world.orders_of[MARKET_RESUME], 0);
  ASSERT_TRUE(world.resume(world.job(id)));
  world.steps(10);
  EXPECT_TRUE(world.is_running(id));
  world.end(world.job(id), MARKET_JOB_COMPLETED);
  world.sync();
  const auto runs = world.books().segments({});
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().suspended, 100);
  // 4 of 16 CPUs alone: a quarter of 10/3600 a second for the time that it ran.
  EXPECT_NEAR(world.charged(id).credits(),
              10.0 / 3600 / 4 * static_cast<double>(runs->front().elapsed), 0.01);
  world.expect_balanced();
}

}  // namespace
}  // namespace market::testing
