// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays of many tasks at posted prices: one place for all, one record of Slurm's, each task billed its wave's price.
#include "array_blocks.h"

#include <map>
#include <random>
#include <set>

namespace market::testing {
namespace {

// 13 waves of 16 lanes, 120 s each.
TEST(ArrayBlocks, OneRecordOneReservationAndABillForEachTask) {
  Blocks world;
  Answer answer;
  const std::uint32_t id = world.array(200, 20, 0, &answer);
  ASSERT_EQ(answer.verdict, MARKET_ACCEPTED) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("200 tasks accepted for 200.00"));
  EXPECT_THAT(answer.text, HasSubstr("16 at a time"));
  world.scheduler = Scheduler::kNone;
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("200"));
  EXPECT_EQ(world.note_of(id).end, kStart + 13 * 120);
  EXPECT_EQ(world.job(id).throttle, 16u);
  world.scheduler = Scheduler::kEager;
  EXPECT_EQ(world.finish(), 16u);
  EXPECT_EQ(world.orders_of[MARKET_SPLIT], 0);
  EXPECT_EQ(world.orders_of[MARKET_RESERVE], 1);
  EXPECT_EQ(world.bills().size(), 200u);
  EXPECT_EQ(world.charged(), credits("200"));
  EXPECT_TRUE(world.faults.empty()) << world.faults.front();
  EXPECT_TRUE(world.reservations.empty());
  world.expect_balanced();
}

// Two credits an hour for the first hour and so on would do; here each later wave is dearer, and the sum of what the list
// says at the waves' starts is the price. All 16 lanes in 13 waves, the last one of 8 tasks.
TEST(ArrayBlocks, EachTaskOwesThePriceOfItsWave) {
  Blocks world(kRising);
  Money sum;
  std::map<Money, int> expected;
  for (int wave = 0; wave < 13; ++wave) {
    // A task alone at that start, in a world that sold nothing.
    Blocks alone(kRising);
    Answer answer;
    Ask ask{.budget = "5", .limit_min = 1};
    ask.begin = kStart + wave * 120;
    ask.deadline = ask.begin + 120;
    alone.run(ask, &answer);
    ASSERT_EQ(answer.verdict, MARKET_ACCEPTED) << answer.text;
    const Money price = read_note(answer.note)->price;
    const int tasks = wave < 12 ? 16 : 8;
    for (int i = 0; i < tasks; ++i) sum += price;
    expected[price] += tasks;
  }
  EXPECT_EQ(expected.size(), 13u);
  world.array(200, 60);
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, sum);
  world.finish();
  std::map<Money, int> charged;
  for (const ledger::Segment& run : world.bills()) ++charged[run.charged];
  EXPECT_EQ(charged, expected);
  world.expect_balanced();
}

// 50 waves of 4; never more at a time.
TEST(ArrayBlocks, ItsOwnersLimitIsPartOfThePromise) {
  Blocks world;
  Answer answer;
  const std::uint32_t id = world.array(200, 60, 4, &answer);
  EXPECT_THAT(answer.text, HasSubstr("4 at a time"));
  world.seen();
  EXPECT_EQ(world.note_of(id).end, kStart + 50 * 120);
  EXPECT_EQ(world.finish(), 4u);
  for (const ledger::Segment& run : world.bills()) {
    EXPECT_LE(run.end, kStart + 50 * 120);
    EXPECT_EQ(run.charged, credits("1"));
  }
  EXPECT_EQ(world.bills().size(), 200u);
  world.expect_balanced();
}

TEST(ArrayBlocks, ADeadlineThatItsWavesCannotMeetIsRefused) {
  Blocks world;
  Ask ask{.budget = "5", .limit_min = 1, .array = 200, .throttle = 4};
  ask.deadline = kStart + 50 * 120 - 1;
  Answer answer;
  EXPECT_EQ(world.run(ask, &answer), 0u);
  EXPECT_THAT(answer.text, HasSubstr("for 200 tasks"));
  EXPECT_THAT(answer.text, HasSubstr("At most 4 run at a time"));
  ask.deadline = kStart + 50 * 120;
  EXPECT_NE(world.run(ask), 0u);
}

TEST(ArrayBlocks, ABudgetIsForEachTaskAndFundsAreForAll) {
  Blocks world;
  Answer answer;
  EXPECT_EQ(world.array(200, 20, 0, &answer, "0.99"), 0u);
  EXPECT_THAT(answer.text, HasSubstr("needs 1.00 per task, budget is 0.99"));
  EXPECT_THAT(answer.text, HasSubstr("--budget=1.00"));
  EXPECT_NE(world.array(9000, 20, 0, &answer), 0u) << answer.text;
  world.seen();
  EXPECT_EQ(world.array(1001, 20, 0, &answer), 0u);
  EXPECT_THAT(answer.text, HasSubstr("needs 1001.00, available 1000.00"));
  EXPECT_NE(world.array(1000, 20, 0, &answer), 0u) << answer.text;
  EXPECT_EQ(world.array(10001, 20, 0, &answer), 0u);
  EXPECT_THAT(answer.text, HasSubstr("a bid covers at most 10000"));
}

// Tasks of 20 s of the 60 they bought: the next ones start in their places, and the end of the block goes back.
TEST(ArrayBlocks, TasksThatEndEarlyLetTheNextOnesStart) {
  Blocks world;
  const std::uint32_t id = world.array(200, 20);
  world.seen();
  const Time promised = world.note_of(id).end;
  world.advance(kStart + 150, 5);
  EXPECT_GE(world.ran(), 80u);
  ASSERT_EQ(world.reservations.size(), 1u);
  EXPECT_LT(world.reservations.begin()->second.end, promised - 360);
  world.finish();
  EXPECT_LT(world.now, kStart + 500);
  EXPECT_EQ(world.charged(), credits("200"));
  world.expect_balanced();
}

// 16 lanes all week would leave nothing for others; what the block does not need is sold again.
TEST(ArrayBlocks, WhatIsLeftOfThePlaceGoesBack) {
  Blocks world;
  world.array(160, 20);  // ten waves
  world.seen();
  Ask all{.budget = "1000", .cpus = 16, .limit_min = 1};
  all.deadline = kStart + 400;
  Answer answer;
  EXPECT_EQ(world.run(all, &answer), 0u) << answer.text;
  world.advance(kStart + 260, 5);
  EXPECT_NE(world.run(all, &answer), 0u) << answer.text;
  world.finish();
  EXPECT_EQ(world.ran(), 161u);
  world.expect_balanced();
}

// Both ways in which tasks are taken out of a record: in silence, or as records of their own. 200 tasks in waves of 16;
// the last ones go, so that 40 are left in three waves.
TEST(ArrayBlocks, TasksTakenBackBeforeTheFirstStartCostNothing) {
  for (const bool in_silence : {true, false}) {
    Blocks world(kRising);
    world.scheduler = Scheduler::kNone;
    const std::uint32_t id = world.array(200, 60);
    world.seen();
    const Money whole = world.balance("physics").liens;
    if (in_silence) {
      world.job(id).tasks_pending -= 160;
    } else {
      for (int i = 0; i < 160; ++i) world.cancel_task(id);
    }
    world.seen();
    world.seen();
    const Money left = world.balance("physics").liens;
    EXPECT_LT(left.credits(), whole.credits() * 40 / 200);
    EXPECT_EQ(world.reservations.begin()->second.end, kStart + 3 * 120);
    world.scheduler = Scheduler::kEager;
    world.finish();
    EXPECT_EQ(world.ran(), 40u);
    EXPECT_EQ(world.charged(), left);
    world.expect_balanced();
  }
}

// Ten of 200 are left: no more than ten cores are kept for them.
TEST(ArrayBlocks, NobodyKeepsMoreLanesThanTasks) {
  Blocks world;
  world.scheduler = Scheduler::kNone;
  world.run(Ask{.budget = "1000", .cpus = 16, .limit_min = 5});
  const std::uint32_t id = world.array(200, 20);
  world.seen();
  ASSERT_GT(world.note_of(id).start, kStart);
  world.job(id).tasks_pending = 10;
  world.seen();
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("80") + credits("10"));
  const std::string name = fmt::format("market_a{}_0", id);
  ASSERT_TRUE(world.reservations.contains(name));
  std::size_t cores = 0;
  for (const auto& [node, set] : world.reservations.at(name).cores) cores += set.size();
  EXPECT_EQ(cores, 10u);
  EXPECT_EQ(world.reservations.at(name).end, world.note_of(id).start + 120);
}

TEST(ArrayBlocks, AWholeArrayTakenBackIsFreeBeforeItsStart) {
  Blocks world;
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.array(200);
  world.seen();
  world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.seen();
  world.seen();
  EXPECT_EQ(world.charged(), Money());
  EXPECT_TRUE(world.reservations.empty());
  world.expect_balanced();
  EXPECT_NE(world.array(1000), 0u);
}

// What has started is owed, the rest of the record goes.
TEST(ArrayBlocks, TheRestTakenBackInTheMiddle) {
  for (const Time until : {90, 95, 100}) {
    Blocks world;
    const std::uint32_t id = world.array(200, 30);
    world.advance(kStart + until, 10);
    const std::uint32_t started = 200 - world.job(id).tasks_pending;
    EXPECT_GT(started, 16u);
    world.end(world.job(id), MARKET_JOB_CANCELLED);
    world.finish();
    EXPECT_EQ(world.ran(), started);
    EXPECT_EQ(world.charged(), Money::from_micro(started * 1000000));
    EXPECT_TRUE(world.reservations.empty());
    world.expect_balanced();
  }
}

// With the last ones taken back there is a price for what has run alone, and nothing else.
TEST(ArrayBlocks, SomeTakenBackInTheMiddle) {
  for (const bool in_silence : {true, false}) {
    Blocks world(kRising);
    const std::uint32_t id = world.array(200, 30);
    world.advance(kStart + 90, 10);
    if (in_silence) {
      world.job(id).tasks_pending -= 100;
    } else {
      for (int i = 0; i < 100; ++i) world.cancel_task(id);
    }
    world.finish();
    EXPECT_EQ(world.ran(), 100u);
    Blocks plain(kRising);
    plain.array(101, 30);
    plain.seen();
    const Money for_101 = plain.balance("physics").liens;
    EXPECT_LT(world.charged(), for_101);
    EXPECT_GT(world.charged().credits(), for_101.credits() * 98 / 101);
    world.expect_balanced();
  }
}

// At each moment a crash changes neither bills nor what is set aside.
TEST(ArrayBlocks, ACrashChangesNoBill) {
  for (const Time at : {0, 5, 10, 60, 130, 250}) {
    Blocks world(kRising);
    const std::uint32_t id = world.array(120, 50);
    if (at > 0) world.seen();
    const std::string before = world.job(id).note;
    world.advance(kStart + at, 5);
    world.crash();
    world.seen();
    world.finish();
    EXPECT_EQ(world.ran(), 120u) << at;
    Blocks plain(kRising);
    plain.array(120, 50);
    plain.finish();
    EXPECT_EQ(world.charged(), plain.charged()) << at;
    std::multiset<Money> bills, plain_bills;
    for (const auto& run : world.bills()) bills.insert(run.charged);
    for (const auto& run : plain.bills()) plain_bills.insert(run.charged);
    EXPECT_EQ(bills, plain_bills) << at;
    EXPECT_TRUE(world.faults.empty()) << at << " " << world.faults.front();
    world.expect_balanced();
  }
}

// Tasks that started while nobody listened get their parts from their array's note.
TEST(ArrayBlocks, TasksThatStartUnseenBeforeACrash) {
  Blocks world(kRising);
  world.array(120, 50);
  world.seen();
  world.seen();
  world.advance(kStart + 60, 20);
  world.schedule();
  world.crash();
  world.finish();
  EXPECT_EQ(world.ran(), 120u);
  Blocks plain(kRising);
  plain.array(120, 50);
  plain.finish();
  EXPECT_EQ(world.charged(), plain.charged());
  world.expect_balanced();
}

// Held by its owner the place goes, what runs goes on; released the rest buys anew.
TEST(ArrayBlocks, HeldAndReleased) {
  Blocks world;
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 30, 5);
  EXPECT_EQ(world.running(), 16u);
  world.job(id).hold_by_owner();
  world.seen();
  world.seen();
  EXPECT_TRUE(world.reservations.empty());
  EXPECT_EQ(world.running(), 16u);
  world.advance(kStart + 100, 5);
  EXPECT_EQ(world.running(), 0u);
  const std::uint32_t waiting = world.job(id).tasks_pending;
  EXPECT_EQ(waiting, 184u);
  world.job(id).held = false;
  world.job(id).state_desc.clear();
  world.seen();
  world.seen();
  EXPECT_EQ(world.reservations.size(), 1u);
  EXPECT_EQ(world.balance("physics").liens, credits("184"));
  world.finish();
  EXPECT_EQ(world.ran(), 200u);
  EXPECT_EQ(world.charged(), credits("200"));
  world.expect_balanced();
}

// A longer limit is bought anew for the tasks that wait; one that the budget does not pay is refused.
TEST(ArrayBlocks, AnotherTimeLimit) {
  for (const bool has_begun : {false, true}) {
    Blocks world;
    if (!has_begun) world.scheduler = Scheduler::kNone;
    Answer answer;
    const std::uint32_t id = world.array(200, 50, 0, &answer, "3");
    world.advance(kStart + 30, 5);
    const std::uint32_t waiting = world.job(id).tasks_pending;
    EXPECT_EQ(waiting, has_begun ? 184u : 200u);
    EXPECT_EQ(world.change(id, 0, {.time_limit_min = 4}), MARKET_REJECTED);
    ASSERT_EQ(world.change(id, 0, {.time_limit_min = 2}), MARKET_ACCEPTED);
    world.job(id).limit_min = 2;
    world.seen();
    world.seen();
    const Money runs = Money::from_micro((200 - waiting) * 1000000);
    EXPECT_EQ(world.balance("physics").liens, runs + Money::from_micro(waiting * 2000000));
    world.scheduler = Scheduler::kEager;
    world.finish();
    EXPECT_EQ(world.ran(), 200u);
    EXPECT_EQ(world.charged(), runs + Money::from_micro(waiting * 2000000));
    world.expect_balanced();
  }
}

// Lowered, the rest is planned and promised anew; raised, nothing changes: the lanes are what was bought.
TEST(ArrayBlocks, AnotherLimitOfItsOwner) {
  for (const std::uint32_t limit : {4u, 0u, 100u}) {
    Blocks world;
    const std::uint32_t id = world.array(200, 50, 8);
    world.advance(kStart + 30, 5);
    ASSERT_EQ(world.change(id, 0, {.limits_array = true, .array_limit = limit}), MARKET_ACCEPTED);
    for (auto& [number, job] : world.jobs) job.throttle = limit;
    const std::size_t before = world.jobs.size();
    world.seen();
    world.seen();
    EXPECT_EQ(world.jobs.size(), before);
    world.advance(kStart + 140, 5);
    const std::uint32_t most = world.finish();
    EXPECT_EQ(most, limit == 4 ? 4u : 8u) << limit;
    EXPECT_EQ(world.ran(), 200u);
    EXPECT_EQ(world.charged(), credits("200"));
    world.expect_balanced();
  }
}

// A task that is sent back is a job of its own from then on.
TEST(ArrayBlocks, ARequeuedTaskIsAJobOfItsOwn) {
  Blocks world;
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 30, 5);
  auto running = std::find_if(world.jobs.begin(), world.jobs.end(), [](const auto& entry) {
    return entry.second.state == MARKET_JOB_RUNNING;
  });
  ASSERT_NE(running, world.jobs.end());
  world.requeue(running->second, MARKET_JOB_REQUEUED);
  world.finish();
  EXPECT_EQ(world.job(id).tasks_pending, 0u);
  EXPECT_EQ(world.ran(), 201u);
  EXPECT_EQ(world.charged(), credits("201"));
  world.expect_balanced();
}

// One task gets a record of its own before it starts, as when its owner changes it alone.
TEST(ArrayBlocks, ATaskWithARecordOfItsOwn) {
  Blocks world;
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.array(200, 50);
  world.seen();
  FakeJob task = world.job(id);
  task.id = 5000;
  task.task = 77;
  task.tasks_pending = 0;
  --world.job(id).tasks_pending;
  world.jobs[task.id] = task;
  world.seen();
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("200"));
  world.scheduler = Scheduler::kEager;
  world.finish();
  EXPECT_EQ(world.ran(), 200u);
  EXPECT_EQ(world.charged(), credits("200"));
  world.expect_balanced();
}

// Slurm leaves a task that is sent back in the reservation of its array's place.
TEST(ArrayBlocks, ARequeuedTaskLeavesThePlace) {
  Blocks world;
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 30, 5);
  auto running = std::find_if(world.jobs.begin(), world.jobs.end(), [](const auto& entry) {
    return entry.second.state == MARKET_JOB_RUNNING;
  });
  ASSERT_NE(running, world.jobs.end());
  FakeJob& task = running->second;
  world.scheduler = Scheduler::kNone;
  world.requeue(task, MARKET_JOB_REQUEUED);
  const std::string place = fmt::format("market_a{}_0", id);
  ASSERT_TRUE(world.reservations.contains(place));
  task.resv = place;
  world.seen();
  world.seen();
  EXPECT_NE(task.resv, place);
}

// A node goes down: the tasks that wait get another place at their price.
TEST(ArrayBlocks, ANodeFails) {
  Blocks world;
  const std::uint32_t id = world.array(120, 50);
  world.advance(kStart + 30, 5);
  world.node_up[2] = false;
  for (auto& [number, job] : world.jobs) {
    if (job.state == MARKET_JOB_RUNNING && job.cores.contains(2))
      world.end(job, MARKET_JOB_NODE_FAIL);
  }
  world.tell_cluster();
  world.finish();
  EXPECT_EQ(world.job(id).tasks_pending, 0u);
  EXPECT_EQ(world.ran(), 120u);
  EXPECT_EQ(world.charged(), credits("116"));  // four runs were refunded
  world.expect_balanced();
}

// Without funds the whole array waits, and goes on when there are some.
TEST(ArrayBlocks, WithoutFundsItWaitsAsOne) {
  Blocks world(std::string(kOneEach) + "no_funds = \"wait\"; arrays = \"per_task\";\n");
  Answer answer;
  const std::uint32_t id = world.array(10000, 20, 0, &answer);
  EXPECT_EQ(answer.verdict, MARKET_ACCEPTED) << answer.text;
  const std::uint32_t other = world.array(200, 20, 0, &answer);
  EXPECT_EQ(answer.verdict, MARKET_WAITING);
  EXPECT_THAT(answer.text, HasSubstr("200 tasks wait for funds: need 200.00, available 0.00"));
  world.seen();
  world.seen();
  EXPECT_EQ(world.job(other).state_desc, "NoFunds");
  world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.advance(world.now + 120, 10);
  EXPECT_FALSE(world.job(other).held);
  world.finish();
  EXPECT_EQ(world.job(other).tasks_pending, 0u);
}

// In silence, within the grace and after it. After it what is not sold again is owed above the floor.
TEST(ArrayBlocks, WhatIsTakenBackAfterTheGraceWaitsForItsResale) {
  for (const bool in_grace : {true, false}) {
    Blocks world(kResold);
    world.scheduler = Scheduler::kNone;
    world.run(Ask{.budget = "1000", .cpus = 16, .limit_min = 60});
    const std::uint32_t id = world.array(200, 50);
    world.advance(kStart + (in_grace ? 20 : 60), 10);
    world.job(id).tasks_pending -= 150;
    world.seen();
    const Money rest = in_grace ? Money() : credits("135");  // 150 × (1 − 0.1)
    EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("50") + rest);
    world.end(world.job(id), MARKET_JOB_CANCELLED);
    world.seen();
    const Money more = in_grace ? Money() : credits("45");
    EXPECT_EQ(world.balance("physics").liens, credits("960") + rest + more);
    world.crash();
    world.seen();
    EXPECT_EQ(world.balance("physics").liens, credits("960") + rest + more);
  }
}

// A node has room for as many lanes as for tasks, whatever they need of it.
TEST(ArrayBlocks, LanesShareNodesByWhatTheyNeed) {
  const auto lanes_of = [](const Ask& ask, const std::string& more = "") {
    Blocks world(kOneEach + more);
    for (std::uint32_t node = 0; node < 4; ++node) {
      world.node_gres[node] = "gpu:2";
      world.node_mem[node] = 1000;
    }
    world.tell_cluster();
    Answer answer;
    const std::uint32_t id = world.run(ask, &answer);
    if (id == 0) return 0u;
    const auto block = block_from(world.note_of(id).block);
    return block ? block->block.lanes : 0;
  };
  Ask ask{.budget = "9", .limit_min = 1, .array = 160};
  EXPECT_EQ(lanes_of(ask), 16u);
  EXPECT_EQ(lanes_of(ask, "planning = { spare = \"0.5\"; };\n"), 8u);
  ask.cpus = 3;
  EXPECT_EQ(lanes_of(ask), 4u);
  ask.cpus = 1;
  ask.mem_mb = 400;
  EXPECT_EQ(lanes_of(ask), 8u);
  ask.mem_mb = 0;
  ask.gres = "gres:gpu:1";
  EXPECT_EQ(lanes_of(ask), 8u);
  ask.gres.clear();
  ask.required = "n2";
  EXPECT_EQ(lanes_of(ask), 4u);
  ask.required.clear();
  ask.cpus = 4;
  ask.min_nodes = 2;
  EXPECT_EQ(lanes_of(ask), 4u);
  ask.min_nodes = 0;
  ask.cpus = 1;
  ask.exclusive = true;
  EXPECT_EQ(lanes_of(ask), 4u);
}

TEST(ArrayBlocks, RefusedWhereNothingOfTheKindIsSold) {
  Answer answer;
  Blocks contracts("mechanism = \"contracts\";\n");
  EXPECT_EQ(contracts.array(101, 20, 0, &answer), 0u);
  EXPECT_THAT(answer.text, HasSubstr("101 array tasks: a bid covers at most 100 here"));
}

// What is left over of a run lies at the end of the place, where others may buy it.
TEST(ArrayBlocks, EarlyEndsWaitForTheirResaleAtTheEndOfThePlace) {
  Blocks world(
      "mechanism = \"first_fit\";\nprices = { fixed = \"60\"; floor = \"6\"; cap = \"60\"; };\n"
      "charge = \"resale\"; cancel_grace = \"0:00\";\n");
  const std::uint32_t id = world.array(200, 20);
  world.advance(kStart + 26, 5);
  const Note note = world.note_of(id);
  world.finish();
  EXPECT_EQ(world.ran(), 200u);
  world.advance(kStart + 2000, 50);
  Time latest = 0;
  for (const ledger::Segment& run : world.bills()) {
    if (run.state != "UNUSED") continue;
    EXPECT_LE(run.end, note.end);
    latest = std::max(latest, run.start);
  }
  EXPECT_GT(latest, kStart + 1000);
  EXPECT_LE(world.charged(), credits("200"));
  EXPECT_GT(world.charged(), credits("66"));
  world.expect_balanced();
}

// slurmctld is killed before it has saved that tasks were taken back: they wait again, and owe for that alone.
TEST(ArrayBlocks, TasksTakenBackThatACrashBringsBack) {
  Blocks world(
      "mechanism = \"first_fit\";\nprices = { fixed = \"60\"; floor = \"6\"; cap = \"60\"; };\n"
      "charge = \"resale\"; cancel_grace = \"0:10\";\n");
  world.scheduler = Scheduler::kNone;
  world.run(Ask{.budget = "1000", .cpus = 16, .limit_min = 60});
  const std::uint32_t id = world.array(200, 50);
  world.advance(kStart + 60, 10);
  const FakeJob saved = world.job(id);
  world.job(id).tasks_pending -= 150;
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("50") + credits("135"));
  world.job(id) = saved;
  world.crash();
  world.seen();
  world.seen();
  EXPECT_EQ(world.balance("physics").liens, credits("960") + credits("200"));
}

// Whatever happens to an array, the books add up, nothing stays set aside, and no run costs more than its bid.
TEST(ArrayBlocks, WhateverHappensTheBooksAddUp) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::minstd_rand draw(seed);
    const bool is_resold = seed % 2 == 0;
    Blocks world(std::string(seed % 3 == 0 ? kRising : kOneEach) +
                 (is_resold ? "charge = \"resale\"; cancel_grace = \"0:30\";\n" : ""));
    std::vector<std::uint32_t> arrays;
    for (int step = 0; step < 120; ++step) {
      if (step % 25 == 0)
        arrays.push_back(world.array(101 + draw() % 120, 10 + draw() % 50, draw() % 9));
      const std::uint32_t id = arrays[draw() % arrays.size()];
      const bool waits =
          id != 0 && world.job(id).state == MARKET_JOB_PENDING && world.job(id).tasks_pending > 1;
      switch (waits ? draw() % 14 : 99) {
        case 0:
          world.job(id).tasks_pending -= draw() % world.job(id).tasks_pending;
          break;
        case 1:
          world.cancel_task(id);
          break;
        case 2:
          world.job(id).hold_by_owner();
          break;
        case 3:
        case 4:
          world.job(id).held = false;
          world.job(id).state_desc.clear();
          break;
        case 5: {
          const std::uint32_t limit = 1 + draw() % 2;
          if (world.change(id, 0, {.time_limit_min = limit}) == MARKET_ACCEPTED)
            world.job(id).limit_min = limit;
          break;
        }
        case 6: {
          const std::uint32_t limit = draw() % 12;
          if (world.change(id, 0, {.limits_array = true, .array_limit = limit}) != MARKET_ACCEPTED)
            break;
          for (auto& [number, job] : world.jobs)
            if (job.array_job == id) job.throttle = limit;
          break;
        }
        case 7:
          world.crash();
          break;
        case 8:
          for (auto& [number, job] : world.jobs) {
            if (job.state != MARKET_JOB_RUNNING || job.array_job != id) continue;
            world.requeue(job, MARKET_JOB_REQUEUED);
            break;
          }
          break;
        case 9:
          world.node_up[draw() % 4] = draw() % 3 != 0;
          world.tell_cluster();
          break;
        case 10:
          world.schedule();
          break;
        default:
          break;
      }
      world.seen();
      world.now += 1 + draw() % 20;
    }
    world.node_up.assign(4, true);
    world.tell_cluster();
    for (auto& [number, job] : world.jobs) {
      if (job.state == MARKET_JOB_PENDING) job.held = false;
      job.state_desc.clear();
    }
    world.finish(10);
    EXPECT_FALSE(world.is_busy()) << seed;
    world.advance(world.now + 30000, 600);
    for (const ledger::Segment& run : world.bills()) {
      if (run.elapsed == 0) continue;
      EXPECT_LE(run.charged, credits("100")) << seed;
    }
    world.expect_balanced();
    EXPECT_TRUE(world.reservations.empty()) << seed;
  }
}

}  // namespace
}  // namespace market::testing
