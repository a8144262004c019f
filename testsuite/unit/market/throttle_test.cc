// SPDX-License-Identifier: GPL-2.0-or-later
// The limit of an array, --array=…%M, is part of what is promised: "done by" holds with at most M
// tasks at a time, and an alternative that is offered to an array passes for the whole of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "core/market/note.h"
#include "core/market/starts.h"
#include "core/util/slurm_time.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

Money credits(const std::string& text) {
  return *Money::parse(text);
}

const char* const kFixed =
    "mechanism = \"first_fit\";\nmax_array_tasks = 1000;\nprices = { fixed = \"1\"; };\n";

void fund(World& world) {
  ASSERT_TRUE(world.books().deposit("physics", credits("10000"), "", kStart));
  world.sync();
}

// The most tasks of the array whose planned times overlap, and when the last one is done.
struct Plan {
  std::size_t most = 0;
  Time done = 0;
};

Plan plan_of(World& world, std::uint32_t array, Time length) {
  std::map<Time, int> steps;
  Plan plan;
  for (const auto& [id, job] : world.jobs) {
    if (job.array_job != array || job.state > MARKET_JOB_SUSPENDED) continue;
    const auto note = read_note(job.note);
    const Time start = job.state == MARKET_JOB_RUNNING ? job.start : note->start;
    ++steps[start];
    --steps[start + length];
    plan.done = std::max(plan.done, start + length);
  }
  int now = 0;
  for (const auto& [time, step] : steps)
    plan.most = std::max(plan.most, static_cast<std::size_t>(now += step));
  return plan;
}

TEST(StartSpans, TouchingSpansBecomeOne) {
  StartSpans spans;
  spans.add(10, 20);
  spans.add(30, 40);
  EXPECT_EQ(spans.end_of(9), 0);
  EXPECT_EQ(spans.end_of(10), 20);
  EXPECT_FALSE(spans.contains(20));
  spans.add(20, 30);
  EXPECT_EQ(spans.end_of(10), 40);
  spans.add(5, 5);
  EXPECT_FALSE(spans.contains(5));
}

// Tasks of 10 s, two at a time. By hand: [0, 10) and [5, 15) overlap in [5, 10), where a start of
// another in [-4, 10) would be the third.
TEST(Waves, CloseTheStartsOfOneTaskTooMany) {
  StartSpans closed;
  Waves waves(2, 10);
  waves.add(0, 10, closed);
  EXPECT_FALSE(closed.contains(0));
  waves.add(5, 15, closed);
  EXPECT_FALSE(closed.contains(-5));
  EXPECT_TRUE(closed.contains(-4));
  EXPECT_TRUE(closed.contains(9));
  EXPECT_FALSE(closed.contains(10));
}

// 16 cores hold all 8 tasks at once. Two at a time, each a minute and a minute of slack: 4 waves of
// 120 s are done after 480 s. On a grid of minutes the answer rounds nothing.
TEST(Throttle, DoneByHoldsForSoManyTasksAtATime) {
  World world(kFixed);
  fund(world);
  Answer answer;
  const std::uint32_t id =
      world.run(Ask{.budget = "5", .limit_min = 1, .array = 8, .throttle = 2}, &answer);
  ASSERT_EQ(answer.verdict, MARKET_ACCEPTED) << answer.text;
  world.step();
  world.step();
  const Plan plan = plan_of(world, id, 120);
  EXPECT_EQ(plan.most, 2u);
  EXPECT_EQ(plan.done, kStart + 480);
  world.advance(kStart + 600, 5);
  for (const auto& [number, job] : world.jobs) {
    EXPECT_EQ(job.state, MARKET_JOB_COMPLETED);
    EXPECT_LE(job.end, kStart + 480);
  }
  world.expect_balanced();
}

TEST(Throttle, ADeadlineThatTheWavesCannotMeetIsRefused) {
  World world(kFixed);
  fund(world);
  Ask ask{.budget = "5", .limit_min = 1, .array = 8, .throttle = 2, .deadline = kStart + 479};
  Answer answer;
  EXPECT_EQ(world.run(ask, &answer), 0u);
  EXPECT_THAT(answer.text, HasSubstr("At most 2 run at a time"));
  ask.deadline = kStart + 480;
  EXPECT_NE(world.run(ask), 0u);
}

// Every offer of a refusal, as the ask that takes it.
std::map<std::string, Ask> offers_in(const std::string& text, const Ask& asked) {
  std::map<std::string, Ask> offers;
  std::smatch found;
  if (std::regex_search(text, found, std::regex("--budget=([0-9.]+)"))) {
    (offers["budget"] = asked).budget = found[1];
  }
  if (std::regex_search(text, found, std::regex("--deadline=([^ ]+)"))) {
    (offers["deadline"] = asked).deadline = *parse_time(found[1].str(), kStart);
  }
  if (std::regex_search(text, found, std::regex("-t ([0-9]+):([0-9]+):00 "))) {
    (offers["limit"] = asked).limit_min =
        static_cast<std::uint32_t>(std::stoi(found[1]) * 60 + std::stoi(found[2]));
  }
  return offers;
}

// Each offer is taken as it stands, in a world where nothing else came between, and passes.
TEST(Throttle, WhatWouldPassPasses) {
  std::map<std::string, int> taken;
  const std::string era = "mechanism = \"era\";\nprices = { floor = \"0.1\"; cap = \"9\"; };\n";
  for (const std::string& settings : {std::string(kFixed), era}) {
    for (const std::uint32_t throttle : {0u, 3u}) {
      for (const char* budget : {"0.21", "0.5", "1.6", "4"}) {
        const auto ask_in_a_new_world = [&](const Ask& ask) {
          World world(settings);
          fund(world);
          world.run(Ask{.budget = "500", .cpus = 13, .limit_min = 150});
          return world.submit(ask);
        };
        const Ask ask{.budget = budget,
                      .cpus = 2,
                      .limit_min = 60,
                      .array = 12,
                      .throttle = throttle,
                      .deadline = kStart + 6 * 3600};
        const Answer refused = ask_in_a_new_world(ask);
        if (refused.verdict != MARKET_REJECTED) continue;
        for (const auto& [kind, offer] : offers_in(refused.text, ask)) {
          const Answer answer = ask_in_a_new_world(offer);
          EXPECT_EQ(answer.verdict, MARKET_ACCEPTED) << kind << ": " << refused.text << answer.text;
          ++taken[kind];
        }
      }
    }
  }
  for (const char* kind : {"budget", "deadline", "limit"}) EXPECT_GT(taken[kind], 1) << kind;
}

// Six tasks of an hour at once, then two at a time: three waves. An operator's limit costs nothing.
TEST(Throttle, ALowerLimitStretchesThePlan) {
  for (const bool by_owner : {false, true}) {
    World world(kFixed);
    fund(world);
    const std::uint32_t id = world.run(
        Ask{.budget = "50", .limit_min = 60, .array = 6, .uid = 1, .begin = kStart + 600});
    world.advance(kStart + 30);
    ASSERT_EQ(plan_of(world, id, 3660).most, 6u);
    world.configure("mechanism = \"first_fit\";\nprices = { fixed = \"2\"; };\n", false);
    world.change(id, by_owner ? 1 : 0);
    for (auto& [number, job] : world.jobs) job.throttle = 2;
    world.advance(kStart + 60);
    const Plan plan = plan_of(world, id, 3660);
    EXPECT_EQ(plan.most, 2u);
    EXPECT_EQ(plan.done, kStart + 600 + 3 * 3660);
    // By hand: 6 at 1; or 2 that keep their start at 1, and 4 that buy again at 2.
    EXPECT_EQ(world.balance("physics").liens, credits(by_owner ? "10" : "6"));
    world.advance(kStart + 4 * 3660 + 600, 30);
    for (const auto& [number, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED);
    world.expect_balanced();
  }
}

}  // namespace
}  // namespace market::testing
