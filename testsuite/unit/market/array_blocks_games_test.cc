// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays sold as one place, and who wants something for nothing: at the market's, its own users' or others' expense.
#include "array_blocks.h"

namespace market::testing {
namespace {

// Whoever takes a task out of the record, it keeps its price and runs in its array's place, whose lanes are 16.
TEST(BlockGames, ATaskThatIsTakenOutKeepsItsPriceAndItsPlace) {
  Blocks world(kRising);
  const std::uint32_t id = world.array(200, 50);
  world.seen();
  world.seen();
  const Money whole = world.balance("physics").liens;
  const std::uint32_t task = world.take_out(id).id;
  world.seen();
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, whole);
  EXPECT_EQ(world.finish(), 16u);
  EXPECT_EQ(world.ran(), 200u);
  EXPECT_LE(world.job(task).end, kStart + 13 * 120);
  EXPECT_EQ(world.charged(), whole);
  world.expect_balanced();
}

// Slurm takes a task out of the record before it asks: what was sold is changed for all, or for none.
TEST(BlockGames, WhatWasSoldIsNotChangedForOneTaskAlone) {
  Blocks world;
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.array(200, 50);
  world.seen();
  const FakeJob task = world.take_out(id);
  EXPECT_EQ(world.change(task.id, 1000, {.time_limit_min = 600, .is_task = true}), MARKET_REJECTED);
  EXPECT_EQ(world.change(task.id, 1000, {.begin = kStart + 9000, .is_task = true}),
            MARKET_REJECTED);
  EXPECT_EQ(world.change(task.id, 1000, {.hold = true, .is_task = true}), MARKET_NO_BID);
  EXPECT_NE(world.change(id, 1000, {.time_limit_min = 1}), MARKET_REJECTED);
}

// Who takes a task out to cancel it alone owes for it as for any that he takes back.
TEST(BlockGames, TakenOutAndCancelledIsTakenBack) {
  for (const int passes : {0, 1, 3}) {
    Blocks world(kResold);
    world.run(Ask{.budget = "1000", .cpus = 16, .limit_min = 60, .runtime = 3500});
    const std::uint32_t id = world.array(200, 50);
    world.advance(kStart + 60, 10);
    const std::uint32_t task = world.take_out(id).id;
    for (int i = 0; i < passes; ++i) world.seen();
    EXPECT_TRUE(passes == 0 || world.balance("physics").liens == credits("1160"));
    world.end(world.job(task), MARKET_JOB_CANCELLED);
    world.seen();
    world.seen();
    EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("199") + credits("0.9"))
        << passes;
  }
}

// Who holds a task alone and takes it back after all others have run owes for it too.
TEST(BlockGames, HeldAloneAndTakenBackLaterIsTakenBack) {
  Blocks world(kResold);
  const std::uint32_t id = world.array(120, 50);
  world.advance(kStart + 60, 5);
  const std::uint32_t task = world.take_out(id).id;
  ASSERT_EQ(world.change(task, world.job(task).uid, {.hold = true, .is_task = true}),
            MARKET_NO_BID);
  world.job(task).hold_by_owner();
  world.advance(kStart + 1200, 10);
  EXPECT_EQ(world.job(id).tasks_pending, 0u);
  world.end(world.job(task), MARKET_JOB_CANCELLED);
  world.seen();
  world.advance(kStart + 2400, 100);
  const auto bills = world.bills();
  const auto unused = std::find_if(bills.begin(), bills.end(), [&](const auto& bill) {
    return bill.key.job_id == task && bill.state == "UNUSED";
  });
  ASSERT_NE(unused, bills.end());
  EXPECT_EQ(unused->charged, credits("0.9"));
  world.expect_balanced();
}

// A run that is sent back has a place of its own; the others' place grows no longer for it, and nobody gets his back free.
TEST(BlockGames, ASentBackTaskDoesNotMakeTheOthersLate) {
  Blocks world;
  const std::uint32_t id =
      world.run(Ask{.budget = "100", .limit_min = 5, .array = 400, .runtime = 290});
  world.advance(kStart + 250, 5);
  const Time promised = world.note_of(id).end;
  auto running = std::find_if(world.jobs.begin(), world.jobs.end(), [](const auto& entry) {
    return entry.second.state == MARKET_JOB_RUNNING;
  });
  ASSERT_NE(running, world.jobs.end());
  world.requeue(running->second, MARKET_JOB_REQUEUED);
  world.advance(kStart + 280, 5);
  const auto block = block_from(world.note_of(id).block);
  ASSERT_TRUE(block);
  EXPECT_LE(block->until, promised);
}

// Slurm sets an array's limit before it looks who asks, and then refuses: the market sets its own again.
TEST(BlockGames, AStrangersLimitChangesNothing) {
  Blocks world;
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 30, 5);
  for (auto& [number, job] : world.jobs) job.throttle = 1;
  world.seen();
  world.seen();
  EXPECT_EQ(world.job(id).throttle, 16u);
  EXPECT_EQ(world.finish(), 16u);
  EXPECT_EQ(world.ran(), 200u);
  EXPECT_LE(world.now, kStart + 13 * 120);
  EXPECT_EQ(world.charged(), credits("200"));
}

// Nodes that Slurm is slow to clean up leave lanes empty: the place stays while tasks start.
TEST(BlockGames, EmptyLanesDoNotLoseThePlaceWhileTasksStart) {
  Blocks world;
  world.array(400, 20);
  world.seen();
  world.node_up[3] = false;  // which the market is not told
  world.finish();
  EXPECT_EQ(world.ran(), 400u);
  EXPECT_EQ(world.orders_of[MARKET_RESERVE], 1);
  EXPECT_EQ(world.charged(), credits("400"));
}

// A limit of his own that the sale did not know lets half of the lanes run: what waits buys a place as wide as that, and
// each task is paid for once.
TEST(BlockGames, ALimitOfItsOwnersMakesThePlaceNarrower) {
  Blocks world(kResold);
  const std::uint32_t id = world.array(200, 50);
  world.job(id).most_tasks = 8;
  EXPECT_EQ(world.finish(), 8u);
  EXPECT_EQ(world.ran(), 200u);
  world.advance(world.now + 4000, 100);
  EXPECT_GE(world.charged(), credits("150"));
  EXPECT_LE(world.charged(), credits("200") + credits("180"));  // what he gave back nobody bought
  world.expect_balanced();
}

// Runs that an operator makes longer push what waits out of the place, and not into what was promised to somebody else:
// seven waves until 840 s, of which the first lasts 700 s; then all nodes are sold.
TEST(BlockGames, NoPlaceGrowsIntoThePromisesOfOthers) {
  Blocks world;
  const std::uint32_t id = world.array(112, 50);
  world.seen();
  const Time until = kStart + 7 * 120;
  ASSERT_EQ(world.note_of(id).end, until);
  Ask all{.budget = "1000", .cpus = 16, .limit_min = 10, .runtime = 500};
  all.deadline = until + 600 + 300;
  Answer answer;
  const std::uint32_t other = world.run(all, &answer);
  ASSERT_NE(other, 0u) << answer.text;
  world.advance(kStart + 20, 5);
  for (auto& [number, job] : world.jobs) {
    if (job.state != MARKET_JOB_RUNNING) continue;
    job.limit_min = 13;
    job.runtime = 700;
  }
  world.advance(until - 20, 5);
  ASSERT_GT(world.job(id).tasks_pending, 0u);
  const std::string own = fmt::format("market_a{}_0", id);
  if (world.reservations.contains(own)) {
    const FakeReservation& place = world.reservations.at(own);
    EXPECT_TRUE(place.end <= until || place.start >= until) << place.start - until;
  }
  world.advance(until + 240, 5);
  EXPECT_EQ(world.job(other).state, MARKET_JOB_RUNNING);
  world.finish();
  EXPECT_LE(world.job(other).end, all.deadline);
  EXPECT_EQ(world.ran(), 113u);
  const auto all_bills = world.bills();
  const auto kept = std::count_if(all_bills.begin(), all_bills.end(), [&](const auto& bill) {
    return bill.key.job_id != other && bill.end <= until;
  });
  EXPECT_LT(kept, 112);  // the others are late, and cost nothing
  EXPECT_EQ(world.charged(), Money::from_micro(kept * 1000000) + credits("160"));
  world.expect_balanced();
}

// Nodes are gone for good: fewer lanes do it.
TEST(BlockGames, FewerNodesAreFewerLanes) {
  Blocks world;
  const std::uint32_t id = world.array(120, 20);
  world.advance(kStart + 30, 5);
  for (const std::uint32_t node : {1u, 2u, 3u}) world.node_up[node] = false;
  for (auto& [number, job] : world.jobs) {
    const bool is_gone = job.state == MARKET_JOB_RUNNING && !job.cores.contains(0);
    if (is_gone) world.end(job, MARKET_JOB_NODE_FAIL);
  }
  world.tell_cluster();
  world.scheduler = Scheduler::kNone;
  world.advance(kStart + 4000, 50);
  const auto block = block_from(world.note_of(id).block);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->block.lanes, 4u);
  EXPECT_TRUE(world.reservations.contains(fmt::format("market_a{}_0", id)));
  world.scheduler = Scheduler::kEager;
  world.finish();
  EXPECT_EQ(world.job(id).tasks_pending, 0u);
  EXPECT_EQ(world.ran(), 120u);
  world.expect_balanced();
}

// Who takes all tasks back but the last one owes for them as before. That one, changed, gives back its own place and buys
// another: it buys what is given back.
TEST(BlockGames, TheLastTaskDoesNotPayForTheOthers) {
  Blocks world(kResold);
  world.run(Ask{.budget = "1000", .cpus = 16, .limit_min = 60, .runtime = 3500});
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 60, 10);
  world.job(id).tasks_pending = 1;
  world.seen();
  const Money rests = credits("179.1");  // 199 × (1 − 0.1)
  EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("1") + rests);
  world.change(id, world.job(id).uid, {.time_limit_min = 1});
  world.job(id).tasks_pending = 0;
  world.job(id).task = 199;
  for (int i = 0; i < 4; ++i) world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("1") + rests);
  world.crash();
  for (int i = 0; i < 4; ++i) world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("1") + rests);
}

// A task that is stopped has its cores in the array's place, and no reservation beside that.
TEST(BlockGames, AStoppedTaskHasItsCoresInThePlace) {
  Blocks world;
  world.array(200, 50);
  world.advance(kStart + 30, 5);
  ASSERT_EQ(world.reservations.size(), 1u);
  world.scheduler = Scheduler::kNone;
  for (auto& [number, job] : world.jobs) {
    const bool runs = job.state == MARKET_JOB_RUNNING;
    ASSERT_TRUE(!runs || world.suspend(job));
  }
  world.advance(kStart + 45, 5);
  EXPECT_EQ(world.reservations.size(), 1u);
  for (auto& [number, job] : world.jobs) {
    const bool is_stopped = job.state == MARKET_JOB_SUSPENDED;
    ASSERT_TRUE(!is_stopped || world.resume(job));
  }
  world.scheduler = Scheduler::kEager;
  world.finish();
  EXPECT_EQ(world.ran(), 200u);
  world.expect_balanced();
}

// A place on very many nodes, of which every second one has other cores left, is written down too, and found again after a
// crash.
TEST(BlockGames, APlaceOnVeryManyNodesOutlivesACrash) {
  constexpr std::uint32_t kNodes = 1200;
  Blocks world(kOneEach, kNodes);
  Ask others{.budget = "5000", .cpus = kNodes / 2, .limit_min = 3, .runtime = 170};
  for (std::uint32_t node = 1; node <= kNodes; node += 2)
    others.required += fmt::format("{}n{}", node == 1 ? "" : ",", node);
  Answer answer;
  ASSERT_NE(world.run(others, &answer), 0u) << answer.text;
  world.step();
  const std::uint32_t id = world.run(
      Ask{.budget = "100", .cpus = 3, .limit_min = 1, .array = 2400, .runtime = 50}, &answer);
  ASSERT_NE(id, 0u) << answer.text;
  world.advance(kStart + 30, 10);
  ASSERT_GT(world.note_of(id).seats.size(), MARKET_NOTE_MAX);
  const std::uint32_t waiting = world.job(id).tasks_pending;
  ASSERT_LT(waiting, 2400u);
  const auto reservations = world.orders_of[MARKET_RESERVE];
  world.crash();
  world.scheduler = Scheduler::kNone;
  for (int i = 0; i < 4; ++i) world.seen();
  EXPECT_EQ(world.job(id).tasks_pending, waiting);
  EXPECT_TRUE(world.reservations.contains(fmt::format("market_a{}_0", id)));
  EXPECT_EQ(world.orders_of[MARKET_RESERVE], reservations);
}

}  // namespace
}  // namespace market::testing
