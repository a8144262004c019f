// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays that are one bid: one lien, drawn task by task, each billed its exact part.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "core/market/array_bids.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

Money credits(const char* text) {
  return *Money::parse(text);
}

struct Cluster : World {
  explicit Cluster(const std::string& abacus = "weight = \"start\";", std::uint32_t nodes = 4,
                   std::uint32_t cores = 4)
      : World(fmt::format("mechanism = \"abacus\"; abacus = {{ {} }};\n"
                          "planning = {{ auction_period = \"0:01\"; }};\n",
                          abacus),
              nodes, cores) {
    (void)books().deposit("physics", credits("10000"), "", now);
    (void)books().set_members("physics", {"root", "daemon", "bin", "sys"}, {});
    sync();
    step();
  }
  std::uint32_t array(const char* budget, std::uint32_t tasks, Time runtime = 30,
                      std::uint32_t uid = 0, Answer* answer = nullptr) {
    Ask ask;
    ask.array_budget = budget;
    ask.array = tasks;
    ask.limit_min = 1;
    ask.runtime = runtime;
    ask.uid = uid;
    return run(ask, answer);
  }
  Money charged() {
    Money sum;
    const auto runs = books().segments({});
    for (const ledger::Segment& run : *runs) sum += run.charged - run.refunded;
    return sum;
  }
  std::vector<ledger::Segment> bills() {
    auto runs = *books().segments({});
    std::erase_if(runs, [](const ledger::Segment& run) { return run.state == "VOIDED"; });
    return runs;
  }
  /// Until nothing is left that waits or runs.
  void finish() {
    for (int i = 0; i < 3000; ++i) {
      step();
      sync();
      now += 5;
      const bool busy = std::any_of(jobs.begin(), jobs.end(), [](const auto& entry) {
        return entry.second.state <= MARKET_JOB_SUSPENDED;
      });
      if (!busy) break;
    }
    step();
    sync();
  }
};

// 100 credits for 7 tasks: 14.285714 each and 0.000002 over, which the first two get.
TEST(ArrayBids, PartsAddUpToTheMicroCredit) {
  const Money budget = credits("100");
  EXPECT_EQ(ArrayBids::part_of(budget, 7, 0), credits("14.285715"));
  EXPECT_EQ(ArrayBids::part_of(budget, 7, 1), credits("14.285715"));
  EXPECT_EQ(ArrayBids::part_of(budget, 7, 2), credits("14.285714"));
  Money sum;
  for (std::uint32_t parted = 0; parted < 7; ++parted) {
    EXPECT_EQ(ArrayBids::left_of(budget, 7, parted), budget - sum);
    sum += ArrayBids::part_of(budget, 7, parted);
  }
  EXPECT_EQ(sum, budget);
  EXPECT_EQ(ArrayBids::left_of(budget, 7, 7), Money());
}

// One lien, one record of Slurm's, no split; in the end all of the budget and no lien.
TEST(ArrayBids, OneBidForAllTasks) {
  Cluster cluster;
  Answer answer;
  const std::uint32_t id = cluster.array("100", 200, 30, 0, &answer);
  ASSERT_NE(id, 0u) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("200 tasks accepted: "));
  cluster.scheduler = Scheduler::kNone;
  cluster.step();
  cluster.sync();
  EXPECT_EQ(cluster.balance("physics").liens, credits("100"));
  cluster.scheduler = Scheduler::kEager;
  cluster.finish();
  EXPECT_EQ(cluster.orders_of[MARKET_SPLIT], 0u);
  EXPECT_EQ(cluster.bills().size(), 200u);
  EXPECT_EQ(cluster.charged(), credits("100"));
  cluster.expect_balanced();
}

// 100 × 197/200; with 100 for 7 tasks of which 2 are taken back, the five parts that are left.
TEST(ArrayBids, PartsTakenBackBeforeTheFirstStartReturn) {
  for (const auto& [tasks, taken, owed] :
       {std::tuple(200u, 3, "98.500000"), std::tuple(7u, 2, "71.428570")}) {
    Cluster cluster;
    cluster.scheduler = Scheduler::kNone;
    const std::uint32_t id = cluster.array("100", tasks);
    cluster.step();
    for (int i = 0; i < taken; ++i) cluster.cancel_task(id);
    cluster.step();
    cluster.sync();
    EXPECT_EQ(cluster.balance("physics").liens, credits(owed)) << tasks;
    cluster.scheduler = Scheduler::kEager;
    cluster.finish();
    EXPECT_EQ(cluster.charged(), credits(owed)) << tasks;
    cluster.expect_balanced();
  }
}

// The whole array cancelled before its first start costs nothing.
TEST(ArrayBids, AWholeArrayTakenBackBeforeItsFirstStartIsFree) {
  Cluster cluster;
  cluster.scheduler = Scheduler::kNone;
  const std::uint32_t id = cluster.array("100", 50);
  cluster.step();
  cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
  cluster.step();
  cluster.sync();
  EXPECT_EQ(cluster.charged(), Money());
  cluster.expect_balanced();
}

// Ten tasks of 10,000 run, the others held a share: they are owed. Within the grace of the first start they
// return, once a day.
TEST(ArrayBids, PartsTakenBackAfterTheFirstStartAreOwed) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  const std::uint32_t id = cluster.array("100", 100, 60);
  cluster.step();
  cluster.step();
  cluster.now += 3600;
  cluster.step();
  cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
  cluster.finish();
  EXPECT_EQ(cluster.charged(), credits("100"));
  cluster.expect_balanced();
}

TEST(ArrayBids, OnceADayWithinTheGraceTheyReturn) {
  Cluster cluster("weight = \"start\";", 1, 4);
  std::array<Money, 2> owed;
  for (Money& sum : owed) {
    const Money before = cluster.charged();
    const std::uint32_t id = cluster.array("100", 100, 30);
    while (cluster.job(id).tasks_pending == 100) cluster.step();
    cluster.step();
    cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
    cluster.finish();
    sum = cluster.charged() - before;
  }
  EXPECT_LT(owed[0], credits("20"));  // of what ran
  EXPECT_GT(owed[0], Money());
  EXPECT_EQ(owed[1], credits("100"));
  cluster.expect_balanced();
}

// A crash forgets no part and makes none twice.
TEST(ArrayBids, ACrashChangesNoBill) {
  Cluster cluster;
  const std::uint32_t id = cluster.array("100", 60);
  for (int i = 0; i < 8; ++i) {
    cluster.step();
    cluster.sync();
    cluster.now += 10;
  }
  ASSERT_GT(cluster.job(id).tasks_pending, 0u);
  ASSERT_LT(cluster.job(id).tasks_pending, 60u);
  cluster.crash();
  cluster.finish();
  cluster.now += 300;
  cluster.step();
  cluster.sync();
  EXPECT_EQ(cluster.bills().size(), 60u);
  EXPECT_EQ(cluster.charged(), credits("100"));
  cluster.expect_balanced();
}

// The owner's %M bounds what runs, and a new one holds from the next pass on.
TEST(ArrayBids, TheOwnersLimitHolds) {
  Cluster cluster;
  Ask ask;
  ask.array_budget = "100";
  ask.array = 100;
  ask.throttle = 3;
  ask.limit_min = 1;
  ask.runtime = 600;
  const std::uint32_t id = cluster.run(ask);
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.job(id).tasks_pending, 97u);
  cluster.job(id).throttle = 5;  // by somebody whom Slurm refuses after it has set it
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.job(id).tasks_pending, 97u);
  ASSERT_NE(cluster.change(id, 0, {.limits_array = true, .array_limit = 5}), MARKET_REJECTED);
  cluster.job(id).throttle = 5;
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.job(id).tasks_pending, 95u);
}

// Slurm clears them in the record and tells nobody. Of 100 tasks 4 start, 90 are cleared after the grace: all is owed.
TEST(ArrayBids, TasksTakenOutOfTheRecordAfterTheFirstStartAreOwed) {
  for (const std::uint32_t left : {1u, 6u}) {
    Cluster cluster("weight = \"start\"; ", 1, 4);
    const std::uint32_t id = cluster.array("100", 100, 60);
    while (cluster.job(id).tasks_pending > 96) cluster.step();
    cluster.step();
    cluster.now += 3600;
    cluster.step();
    cluster.job(id).tasks_pending = left;
    cluster.step();
    cluster.finish();
    EXPECT_EQ(cluster.charged(), credits("100")) << left;
    EXPECT_EQ(cluster.balance("physics").liens, Money()) << left;
    cluster.expect_balanced();
  }
}

// The same within the grace: of 100 tasks 90 return.
TEST(ArrayBids, TasksTakenOutOfTheRecordWithinTheGraceReturn) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  const std::uint32_t id = cluster.array("100", 100, 60);
  while (cluster.job(id).tasks_pending > 96) cluster.step();
  cluster.step();
  const std::uint32_t pending = cluster.job(id).tasks_pending;
  cluster.job(id).tasks_pending = pending - 90;
  cluster.finish();
  EXPECT_EQ(cluster.charged(), credits("10"));
  cluster.expect_balanced();
}

// scontrol update of one task of a record that the market holds: Slurm copies the hold, which is not its owner's.
TEST(ArrayBids, ATaskSplitOffAHeldRecordIsLetGo) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  const std::uint32_t id = cluster.array("1", 50, 600, 1);
  cluster.array("5000", 50, 600, 2);
  for (int i = 0; i < 100 && !cluster.job(id).held; ++i) cluster.step();
  ASSERT_TRUE(cluster.job(id).held);
  FakeJob task = cluster.job(id);
  task.id = 9999;
  task.tasks_pending = 0;
  --cluster.job(id).tasks_pending;
  cluster.jobs[task.id] = task;
  for (int i = 0; i < 3; ++i) cluster.step();
  EXPECT_FALSE(cluster.job(task.id).held);
}

// The last task is a job of Slurm's as any other: what %M its owner gave holds again.
TEST(ArrayBids, TheLastTaskGivesTheOwnersLimitBack) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  Ask ask;
  ask.array_budget = "100";
  ask.array = 9;
  ask.throttle = 7;
  ask.limit_min = 1;
  ask.runtime = 30;
  const std::uint32_t id = cluster.run(ask);
  cluster.finish();
  EXPECT_EQ(cluster.job(id).throttle, 7u);
}

// What started since the last pass keeps its part when the rest is cancelled.
TEST(ArrayBids, WhatJustStartedIsNotOwedTwice) {
  Cluster cluster("weight = \"start\";", 1, 4);
  const std::uint32_t id = cluster.array("100", 7, 600);
  cluster.step();
  while (cluster.job(id).tasks_pending == 7) cluster.step();
  cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
  cluster.finish();
  EXPECT_EQ(cluster.bills().size(), 4u);
  EXPECT_EQ(cluster.charged(),
            credits("57.142858"));  // the first four parts; nothing had been seen to start
  cluster.expect_balanced();
}

// An array whose owner lets one task run at a time leaves the rest of the cluster to others.
TEST(ArrayBids, AnOwnersLimitKeepsNothingFromOthers) {
  Cluster cluster("weight = \"start\";", 1, 4);
  Ask ask;
  ask.array_budget = "1000";
  ask.array = 100;
  ask.throttle = 1;
  ask.limit_min = 1;
  ask.runtime = 600;
  ask.uid = 1;
  const std::uint32_t limited = cluster.run(ask);
  const std::uint32_t other = cluster.array("1", 100, 600, 2);
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.job(limited).tasks_pending, 99u);
  EXPECT_EQ(cluster.job(other).tasks_pending, 97u);
}

// Three arrays of 300 tasks on 16 CPUs, the first 480 starts: as the powers of the budgets (Abacus, section 3).
// A start is drawn from 480 with p = 160/480 … 213/480, so three sigmas are 31 to 33.
TEST(ArrayBids, StartsAreAsThePowersOfTheBudgets) {
  const std::array<std::array<double, 3>, 3> wanted = {
      {{160, 160, 160}, {131.9, 186.5, 161.6}, {106.7, 213.3, 160.0}}};
  const char* const alphas[] = {"0", "0.5", "1"};
  for (std::size_t k = 0; k < 3; ++k) {
    Cluster cluster(fmt::format("alpha = \"{}\";", alphas[k]));
    const std::array<std::uint32_t, 3> ids = {cluster.array("100", 300, 4, 1),
                                              cluster.array("200", 300, 4, 2),
                                              cluster.array("150", 300, 4, 3)};
    const auto started = [&](std::size_t user) {
      return 300.0 - cluster.job(ids[user]).tasks_pending;
    };
    while (started(0) + started(1) + started(2) < 480) {
      cluster.step();
      ++cluster.now;
    }
    for (std::size_t user = 0; user < 3; ++user) {
      const double p = wanted[k][user] / 480;
      EXPECT_NEAR(started(user), wanted[k][user], 3 * std::sqrt(480 * p * (1 - p)) + 16)
          << alphas[k] << ", user " << user;
    }
  }
}

// One array holds all 16 CPUs when two others come. Tasks take 4 s, passes come every 10 s: what ends in between
// makes room for the lots that come up, not for the next task of the same array. Of the next 240 starts 66, 93 and
// 81 are of the roots of the budgets, within three sigmas and what runs at a time.
TEST(ArrayBids, SlowPassesChangeNoShares) {
  Cluster cluster("alpha = \"0.5\"; weight = \"start\";");
  const auto pass_by = [&](Time seconds) {
    for (Time i = 0; i < seconds; ++i) {
      for (auto& [id, job] : cluster.jobs)
        if (job.state == MARKET_JOB_RUNNING && cluster.now >= job.start + job.runtime)
          cluster.end(job, MARKET_JOB_COMPLETED);
      cluster.schedule();
      ++cluster.now;
    }
    cluster.step();
  };
  std::array<std::uint32_t, 3> ids = {cluster.array("100", 300, 4, 1)};
  pass_by(1);
  pass_by(1);
  const auto left = [&](std::size_t user) {
    return double{1} * cluster.job(ids[user]).tasks_pending;
  };
  ASSERT_EQ(left(0), 300 - 16);
  ids[1] = cluster.array("200", 300, 4, 2);
  ids[2] = cluster.array("150", 300, 4, 3);
  const double before = left(0);
  const auto started = [&] { return before + 600 - left(0) - left(1) - left(2); };
  for (int i = 0; i < 400 && started() < 240; ++i) pass_by(10);
  ASSERT_GE(started(), 240);
  const std::array<double, 3> wanted = {65.9, 93.3, 80.8}, began = {before, 300, 300};
  for (std::size_t user = 0; user < 3; ++user) {
    const double p = wanted[user] / 240;
    EXPECT_NEAR(began[user] - left(user), wanted[user] / 240 * started(),
                3 * std::sqrt(240 * p * (1 - p)) + 16)
        << "user " << user;
  }
}

// A task that is requeued has a record of its own; the limit of its array leaves it room.
TEST(ArrayBids, ARequeuedTaskRunsAgainAndOwesForBothRuns) {
  Cluster cluster("weight = \"start\";", 1, 4);
  const std::uint32_t id = cluster.array("100", 10, 30);
  while (cluster.job(id).tasks_pending == 10) cluster.step();
  cluster.step();
  const auto task = std::find_if(cluster.jobs.begin(), cluster.jobs.end(), [](const auto& entry) {
    return entry.second.state == MARKET_JOB_RUNNING;
  });
  ASSERT_NE(task, cluster.jobs.end());
  cluster.now += 5;
  cluster.requeue(task->second, MARKET_JOB_REQUEUED);
  cluster.finish();
  EXPECT_EQ(cluster.bills().size(), 11u);
  EXPECT_EQ(cluster.charged(),
            credits("110"));  // its owner sent it back: that run owes its part too
  cluster.expect_balanced();
}

// Under a rule that draws no lots its tasks start as its owner's limit lets them; under posted prices it waits, held.
TEST(ArrayBids, AnotherRuleForgetsNoTask) {
  Cluster cluster("weight = \"start\";", 1, 4);
  const std::uint32_t id = cluster.array("100", 12, 30);
  while (cluster.job(id).tasks_pending == 12) cluster.step();
  cluster.configure("mechanism = \"tycoon\";\nplanning = { auction_period = \"0:01\"; };\n", false);
  cluster.finish();
  EXPECT_EQ(cluster.bills().size(), 12u);
  EXPECT_LE(cluster.charged(), credits("100"));
  cluster.expect_balanced();
}

TEST(ArrayBids, PostedPricesSellNothingToARecordOfManyTasks) {
  Cluster cluster("weight = \"start\";", 1, 4);
  cluster.scheduler = Scheduler::kNone;
  const std::uint32_t id = cluster.array("100", 12, 30);
  for (int i = 0; i < 3; ++i) cluster.step();
  cluster.scheduler = Scheduler::kEager;
  cluster.configure("mechanism = \"first_fit\";\n", false);
  for (int i = 0; i < 100; ++i) {
    cluster.step();
    cluster.sync();
    cluster.now += 5;
  }
  EXPECT_EQ(cluster.job(id).tasks_pending, 12u);
  EXPECT_TRUE(cluster.job(id).held);
  EXPECT_EQ(cluster.balance("physics").liens, Money());
  cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
  cluster.step();
  cluster.sync();
  EXPECT_EQ(cluster.charged(), Money());
  cluster.expect_balanced();
}

TEST(ArrayBids, AUtilityOutlivesACrash) {
  Cluster cluster;
  cluster.scheduler = Scheduler::kNone;
  Ask ask;
  ask.budget = "5";
  ask.limit_min = 1;
  ask.utility = "cpu:3,log";
  const std::uint32_t id = cluster.run(ask);
  for (const bool crashed : {false, true}) {
    if (crashed) cluster.crash();
    for (int i = 0; i < 3; ++i) cluster.step();
    const std::string why = cluster.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
    EXPECT_THAT(why, HasSubstr(R"("utility":"cpu:3,log")"));
    EXPECT_THAT(why, HasSubstr(R"("shares":{"cpu":1.0)"));
  }
}

// Two partitions with nodes of their own: whatever the lots of the one, no core of the other waits for a token.
TEST(ArrayBids, EachPartitionHasItsOwnRoom) {
  Cluster cluster;
  cluster.partitions = {{"main", {0, 1}}, {"side", {2, 3}}};
  cluster.tell_cluster();
  const auto array_in = [&](const char* partition, const char* budget, std::uint32_t uid) {
    Ask ask;
    ask.array_budget = budget;
    ask.array = 100;
    ask.limit_min = 60;
    ask.runtime = 3000;
    ask.uid = uid;
    ask.partition = partition;
    return cluster.run(ask);
  };
  const std::uint32_t rich = array_in("main", "9000", 1), poor = array_in("side", "1", 2);
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.job(rich).tasks_pending, 92u);
  EXPECT_EQ(cluster.job(poor).tasks_pending, 92u);
}

// A node that both have: what lies in the one partition's part alone is not the other's.
TEST(ArrayBids, PartitionsMayShareNodes) {
  Cluster cluster;
  cluster.partitions = {{"main", {0, 1}}, {"side", {1, 2, 3}}};
  cluster.tell_cluster();
  std::array<std::uint32_t, 2> ids{};
  for (std::size_t k = 0; k < 2; ++k) {
    Ask ask;
    ask.array_budget = k == 0 ? "9000" : "1";
    ask.array = 100;
    ask.limit_min = 60;
    ask.runtime = 3000;
    ask.uid = static_cast<std::uint32_t>(k + 1);
    ask.partition = k == 0 ? "main" : "side";
    ids[k] = cluster.run(ask);
  }
  for (int i = 0; i < 20; ++i) cluster.step();
  EXPECT_EQ(cluster.job(ids[0]).tasks_pending, 92u);
  EXPECT_EQ(cluster.job(ids[1]).tasks_pending, 92u);
}

// scontrol update ArrayTaskThrottle=N where N is what the market has set: Slurm's record shows no difference.
TEST(ArrayBids, AnOwnersNewLimitIsHeardWhereItIsTheMarketsOwn) {
  for (const bool refused : {false, true}) {
    Cluster cluster("weight = \"start\"; draw_ahead = \"0\";");
    Ask blocker;
    blocker.budget = "100";
    blocker.cpus = 4;
    blocker.limit_min = 60;
    std::array<std::uint32_t, 3> blockers{};
    for (std::uint32_t& id : blockers) id = cluster.run(blocker);
    for (int i = 0; i < 3; ++i) cluster.step();
    const std::uint32_t id = cluster.array("100", 100, 3000);
    for (int i = 0; i < 5; ++i) cluster.step();
    const std::uint32_t dial = cluster.job(id).throttle;
    ASSERT_LT(dial, 10u);
    ASSERT_GE(dial, 4u);
    // What Slurm refuses after the market was asked is not its owner's limit.
    const std::uint32_t asked = refused ? 1 : dial;
    ASSERT_NE(cluster.change(id, 0, {.limits_array = true, .array_limit = asked}), MARKET_REJECTED);
    cluster.step();
    for (const std::uint32_t one : blockers) cluster.end(cluster.job(one), MARKET_JOB_COMPLETED);
    for (int i = 0; i < 10; ++i) cluster.step();
    EXPECT_EQ(100 - cluster.job(id).tasks_pending, refused ? 16 : dial);
  }
}

// A market that only observes leaves Slurm's records as their owners want them.
TEST(ArrayBids, AMarketThatNoLongerActsGivesTheOwnersLimitBack) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  Ask ask;
  ask.array_budget = "5000";
  ask.array = 50;
  ask.throttle = 40;
  ask.limit_min = 1;
  ask.runtime = 600;
  ask.uid = 2;
  const std::uint32_t runs = cluster.run(ask);
  ask.array_budget = "1";
  ask.uid = 1;
  const std::uint32_t held = cluster.run(ask);
  for (int i = 0; i < 5; ++i) cluster.step();
  for (int i = 0; i < 100 && !cluster.job(held).held; ++i) cluster.step();
  ASSERT_TRUE(cluster.job(held).held);
  ASSERT_NE(cluster.job(runs).throttle, 40u);
  cluster.configure(
      "mechanism = \"abacus\"; mode = \"observe\";\nplanning = { auction_period = \"0:01\"; };\n",
      false);
  for (int i = 0; i < 3; ++i) cluster.step();
  EXPECT_EQ(cluster.job(runs).throttle, 40u);
  EXPECT_EQ(cluster.job(held).throttle, 40u);
  EXPECT_FALSE(cluster.job(held).held);
}

// Between two passes 93 tasks are cleared and the last ones start; the very last one also ends. Of the cleared ones
// nobody tells, of the others their own records.
TEST(ArrayBids, TasksClearedBeforeAQuickEndAreOwed) {
  for (const std::uint32_t left : {1u, 3u}) {
    Cluster cluster("weight = \"start\"; ", 1, 4);
    const std::uint32_t id = cluster.array("100", 100, 60);
    while (cluster.job(id).tasks_pending > 96) cluster.step();
    cluster.step();
    cluster.now += 3600;
    for (auto& [number, job] : cluster.jobs)
      if (job.state == MARKET_JOB_RUNNING) cluster.end(job, MARKET_JOB_COMPLETED);
    cluster.job(id).tasks_pending = left;
    cluster.job(id).throttle = 0;
    cluster.schedule();
    ASSERT_EQ(cluster.job(id).tasks_pending, 0u);
    cluster.now += 30;
    cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
    cluster.finish();
    EXPECT_EQ(cluster.charged(), credits("100")) << left;
    EXPECT_EQ(cluster.bills().size(), 4 + left + 1) << left;
    cluster.expect_balanced();
  }
}

// The same where nothing was cleared: no task is owed twice.
TEST(ArrayBids, AQuickEndOwesNoTaskTwice) {
  Cluster cluster("weight = \"start\"; ", 1, 4);
  const std::uint32_t id = cluster.array("100", 7, 60);
  while (cluster.job(id).tasks_pending > 3) cluster.step();
  cluster.step();
  cluster.now += 3600;
  for (auto& [number, job] : cluster.jobs)
    if (job.state == MARKET_JOB_RUNNING) cluster.end(job, MARKET_JOB_COMPLETED);
  cluster.job(id).throttle = 0;
  cluster.schedule();
  ASSERT_EQ(cluster.job(id).tasks_pending, 0u);
  cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
  cluster.finish();
  EXPECT_EQ(cluster.bills().size(), 7u);
  EXPECT_EQ(cluster.charged(), credits("100"));
  cluster.expect_balanced();
}

// One array's grace goes on over midnight, and is then the one of the new day; kStart is at 8 o'clock.
TEST(ArrayBids, TheGraceOfADayGoesOverMidnight) {
  Cluster cluster("weight = \"start\";", 1, 4);
  cluster.now += 16 * 3600 - 60;
  const auto begin = [&] {
    const std::uint32_t id = cluster.array("100", 100, 30);
    while (cluster.job(id).tasks_pending == 100) cluster.step();
    cluster.step();
    return id;
  };
  const auto take_back = [&](std::uint32_t id) {
    const Money before = cluster.charged();
    cluster.end(cluster.job(id), MARKET_JOB_CANCELLED);
    cluster.finish();
    return cluster.charged() - before;
  };
  const std::uint32_t first = begin();
  cluster.job(first).tasks_pending -= 40;  // cleared a minute before midnight
  cluster.step();
  cluster.now += 120;
  EXPECT_LT(take_back(first), credits("20"));  // of what ran
  EXPECT_EQ(take_back(begin()), credits("100")) << "the new day's was taken";
  cluster.now += 86400;
  EXPECT_LT(take_back(begin()), credits("20"));
  cluster.expect_balanced();
}

// A task that Slurm or an operator sent back and that its owner then takes back owes no second part; one that its
// owner sent back does.
TEST(ArrayBids, ATaskThatSlurmSentBackIsNotOwedWhenTakenBack) {
  for (const int state : {MARKET_JOB_NODE_FAIL, MARKET_JOB_REQUEUED}) {
    Cluster cluster("weight = \"start\";", 1, 4);
    const std::uint32_t id = cluster.array("100", 10, 30);
    while (cluster.job(id).tasks_pending == 10) cluster.step();
    cluster.step();
    const auto task = std::find_if(cluster.jobs.begin(), cluster.jobs.end(), [](const auto& entry) {
      return entry.second.state == MARKET_JOB_RUNNING;
    });
    ASSERT_NE(task, cluster.jobs.end());
    cluster.now += 5;
    cluster.scheduler = Scheduler::kNone;
    cluster.requeue(task->second, state);
    cluster.step();
    cluster.now += 3600;  // beyond any grace
    cluster.step();
    cluster.end(task->second, MARKET_JOB_CANCELLED);
    cluster.scheduler = Scheduler::kEager;
    cluster.finish();
    // Nine parts of those that ran; a node failure is free, its owner's requeue and cancel owe a part each.
    EXPECT_EQ(cluster.charged(), credits(state == MARKET_JOB_NODE_FAIL ? "90" : "110")) << state;
    cluster.expect_balanced();
  }
}

TEST(ArrayBids, WhatCannotBeIsRefusedByName) {
  Cluster cluster;
  Ask ask;
  ask.array_budget = "100";
  ask.limit_min = 1;
  EXPECT_THAT(cluster.test_only(ask).text, HasSubstr("--array-budget is for an array"));
  ask.array = 10;
  ask.budget = "5";
  EXPECT_THAT(cluster.test_only(ask).text, HasSubstr("give --array-budget or one of --budget"));
  ask.budget.clear();
  ask.array_budget = "0.000005";
  EXPECT_THAT(cluster.test_only(ask).text, HasSubstr("less than a millionth of a credit"));
  ask.array_budget = "100";
  ask.array = 10001;
  EXPECT_THAT(cluster.test_only(ask).text,
              HasSubstr("10001 array tasks: one budget covers at most 10000"));
  ask.array = 10;
  ask.array_budget = "lots";
  EXPECT_THAT(cluster.test_only(ask).text, HasSubstr("--array-budget=lots"));
  World other("mechanism = \"tycoon\";\n");
  (void)other.books().deposit("physics", credits("100"), "", other.now);
  other.sync();
  other.step();
  ask.array_budget = "5";
  EXPECT_THAT(other.test_only(ask).text,
              HasSubstr("--array-budget: only where starts are drawn by lot"));
}

// Of which stream, and which of its draws, so that who may read the seed can draw them again.
TEST(AbacusDraws, BillsTellWhichOneLetARunStart) {
  Cluster cluster;
  ASSERT_NE(cluster.array("30", 3), 0u);
  ASSERT_NE(cluster.bid("10", 1, 1, 30), 0u);
  for (int i = 0; i < 5; ++i) {
    cluster.step();
    cluster.sync();
    ++cluster.now;
  }
  cluster.crash();
  cluster.finish();
  std::set<std::string> draws;
  for (const ledger::Segment& bill : cluster.bills()) {
    if (bill.elapsed == 0) continue;
    EXPECT_THAT(bill.note, ::testing::MatchesRegex("draw abacus/[a-z]+/0/[0-9]+(-[0-9]+)?"))
        << bill.key.job_id;
    draws.insert(bill.note);
  }
  EXPECT_EQ(draws.size(), 4u);
}

}  // namespace
}  // namespace market::testing
