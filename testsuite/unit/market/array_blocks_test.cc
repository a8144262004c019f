// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays of many tasks at posted prices: one place for all, one record of Slurm's, each task billed its wave's price.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/market/array_block.h"
#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

Money credits(const std::string& text) {
  return *Money::parse(text);
}

// 16 cores; a CPU for an hour costs 60, so a task of one CPU and one minute 1.
const char* const kOneEach = "mechanism = \"first_fit\";\nprices = { fixed = \"60\"; };\n";
// The later a start, the dearer.
const char* const kRising =
    "mechanism = \"era\";\nprices = { floor = \"60\"; cap = \"6000\"; };\nera = { late_penalty = "
    "0.5; };\n";

struct Blocks : World {
  explicit Blocks(const std::string& settings = kOneEach) : World(settings) {
    (void)books().deposit("physics", credits("10000"), "", now);
    sync();
    step();
  }
  /// Tasks of one CPU and one minute, which run for `runtime` seconds.
  std::uint32_t array(std::uint32_t tasks, Time runtime = 20, std::uint32_t throttle = 0,
                      Answer* answer = nullptr, const char* budget = "100") {
    Ask ask;
    ask.budget = budget;
    ask.array = tasks;
    ask.throttle = throttle;
    ask.limit_min = 1;
    ask.runtime = runtime;
    return run(ask, answer);
  }
  void seen() {
    step();
    sync();
  }
  std::vector<ledger::Segment> bills() {
    auto runs = *books().segments({});
    std::erase_if(runs, [](const ledger::Segment& run) { return run.state == "VOIDED"; });
    return runs;
  }
  std::size_t ran() {
    const auto all = bills();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const ledger::Segment& run) { return run.elapsed > 0; }));
  }
  Money charged() {
    Money sum;
    for (const ledger::Segment& run : bills()) sum += run.charged - run.refunded;
    return sum;
  }
  std::uint32_t running() {
    return static_cast<std::uint32_t>(
        std::count_if(jobs.begin(), jobs.end(),
                      [](const auto& entry) { return entry.second.state == MARKET_JOB_RUNNING; }));
  }
  bool is_busy() {
    return std::any_of(jobs.begin(), jobs.end(), [](const auto& entry) {
      return entry.second.state <= MARKET_JOB_SUSPENDED;
    });
  }
  /// Until nothing is left that waits or runs; the most tasks that ran at a time.
  std::uint32_t finish(Time step_seconds = 5) {
    std::uint32_t most = 0;
    for (int i = 0; i < 5000 && is_busy(); ++i) {
      seen();
      most = std::max(most, running());
      now += step_seconds;
    }
    seen();
    return most;
  }
  Note note_of(std::uint32_t id) { return *read_note(job(id).note); }
};

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

}  // namespace
}  // namespace market::testing
