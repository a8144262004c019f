// SPDX-License-Identifier: GPL-2.0-or-later
// Passes that are told only of the jobs whose records they need decide what those decide that are told of all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/market/note.h"
#include "fake_cluster.h"
#include "random_day.h"

namespace market::testing {
namespace {

struct Day {
  std::string outcome;
  std::size_t spared = 0;
};

Day a_day(std::uint64_t seed, const char* mechanism, bool looks) {
  World world(fmt::format("mechanism = \"{}\";\n", mechanism));
  world.looks = world.marks_in_turn = looks;
  EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100000"), "", kStart));
  world.sync();
  Draws draw(seed);
  for (int i = 0; i < 150; ++i) {
    happen(world, draw);
    world.advance(world.now + static_cast<Time>(draw(1, 120)), 10);
  }
  for (std::size_t node = 0; node < world.node_up.size(); ++node) world.node_up[node] = true;
  world.tell_cluster();
  for (auto& [id, job] : world.jobs) job.held = job.held && job.held_by_site;
  world.advance(world.now + 12 * 3600, 30);
  return {outcome(world), world.records_spared};
}

TEST(Resting, PassesThatAreToldOfFewJobsDecideTheSame) {
  for (const char* mechanism : {"era", "first_fit"}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", mechanism, seed));
      const Day told_all = a_day(seed, mechanism, false), told_few = a_day(seed, mechanism, true);
      EXPECT_EQ(told_all.spared, 0U);
      EXPECT_GT(told_few.spared, 500U);
      EXPECT_EQ(told_few.outcome, told_all.outcome);
    }
  }
}

// All nodes are taken for an hour by four runs with bids and four without one.
struct FullHour : World {
  explicit FullHour(const std::string& settings) : World(settings, 4, 4) {
    EXPECT_TRUE(books().deposit("physics", *Money::parse("100000"), "", kStart));
    sync();
    marks_in_turn = true;
    for (int i = 0; i < 8; ++i) {
      Ask ask;
      ask.cpus = 2;
      ask.limit_min = 60;
      ask.runtime = 3500;
      if (i % 2 == 0) ask.budget = "50";
      run(ask);
    }
    advance(now + 60);
  }
};

TEST(Resting, RunsRestToo) {
  FullHour world("mechanism = \"era\";\n");
  const std::size_t before = world.records_spared;
  world.advance(world.now + 100, 10);
  EXPECT_GE(world.records_spared - before, 8 * 9U);
  for (auto& [id, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_RUNNING) << id;
  world.advance(world.now + 3600, 10);
  for (auto& [id, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED) << id;
  world.sync();
  EXPECT_EQ(world.books().segments(ledger::SegmentFilter{})->size(), 4U);
  EXPECT_TRUE(world.reservations.empty());
}

// As on nodes that are drained. It is asked again in the next minute or so.
TEST(Resting, JobsThatSlurmCannotCountRestToo) {
  FullHour world("mechanism = \"era\";\n");
  const std::uint32_t id = world.bid("100", 4, 30, 1700);
  world.job(id).counted = MARKET_UNCOUNTABLE;
  world.advance(world.now + 20, 10);
  const std::size_t before = world.records_spared;
  world.advance(world.now + 30, 10);
  EXPECT_EQ(world.records_spared - before, 9 * 4U);  // nine jobs, four passes
  world.job(id).counted = 6;
  world.advance(world.now + 120, 10);
  EXPECT_NE(world.query(R"({"verb":"status"})").find("\"undersold\":1"), std::string::npos);
}

TEST(Reservations, TheNextStartsHaveThem) {
  FullHour world("mechanism = \"era\"; planning = { max_reservations = 3; };\n");
  std::vector<std::uint32_t> waiting;
  for (int i = 0; i < 40; ++i) {
    waiting.push_back(world.bid("100", 4, 30, 1700));
    world.step();
  }
  std::size_t most = 0;
  while (world.now < kStart + 9 * 3600) {
    world.advance(world.now + 10, 10);
    std::size_t due = 0, of_waiting = 0;
    for (const std::uint32_t id : waiting) {
      const FakeJob& job = world.job(id);
      const bool is_reserved = world.reservations.contains(fmt::format("market_{}_0", id));
      if (job.state != MARKET_JOB_PENDING) {
        EXPECT_FALSE(is_reserved && world.now > job.start + 20) << id;
        continue;
      }
      due += read_note(job.note)->start <= world.now + 130;
      of_waiting += is_reserved;
    }
    EXPECT_LE(of_waiting, 4 + due);
    most = std::max(most, of_waiting);
  }
  EXPECT_GE(most, 3U);
  for (const std::uint32_t id : waiting) {
    EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED) << id;
    EXPECT_LE(world.job(id).start, read_note(world.job(id).note)->end - 30 * 60) << id;
  }
}

TEST(Reservations, EarlierStartsTakeThemFromLaterOnes) {
  FullHour world("mechanism = \"era\"; planning = { max_reservations = 4; };\n");
  std::vector<std::uint32_t> waiting;
  const auto bid_for = [&](Time begin) {
    Ask ask;
    ask.cpus = 4;
    ask.limit_min = 30;
    ask.runtime = 1700;
    ask.budget = "100";
    ask.begin = begin;
    waiting.push_back(world.run(ask));
    world.step();
  };
  const auto reserved = [&](std::uint32_t id) {
    return world.reservations.contains(fmt::format("market_{}_0", id));
  };
  for (int i = 0; i < 12; ++i) bid_for(world.now + 20 * 3600);
  world.advance(world.now + 30, 1);
  EXPECT_GE(std::count_if(waiting.begin(), waiting.end(), reserved), 4);
  for (int i = 0; i < 12; ++i) bid_for(world.now + 5 * 3600);
  world.advance(world.now + 30, 1);
  std::sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Time first = read_note(world.job(a).note)->start,
               second = read_note(world.job(b).note)->start;
    return std::pair(first, a) < std::pair(second, b);
  });
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (i != 4) {  // the one that may have kept its own
      EXPECT_EQ(reserved(waiting[i]), i < 4) << i;
    }
  }
  world.advance(world.now + 30 * 3600, 30);
  for (const std::uint32_t id : waiting) EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED) << id;
}

// Slurm gives the cores of what is suspended to others.
TEST(Reservations, ASuspendedRunKeepsItsCores) {
  FullHour world("mechanism = \"era\";\n");
  FakeJob& run = world.jobs.begin()->second;
  const std::string name = fmt::format("market_{}_0", run.id);
  ASSERT_FALSE(run.note.empty());
  EXPECT_FALSE(world.reservations.contains(name));
  run.state = MARKET_JOB_SUSPENDED;
  run.suspended_at = world.now;
  world.advance(world.now + 10, 1);
  EXPECT_TRUE(world.reservations.contains(name));
  run.suspended += world.now - run.suspended_at;
  run.state = MARKET_JOB_RUNNING;
  world.advance(world.now + 10, 1);
  EXPECT_FALSE(world.reservations.contains(name));
}

// Slurm asks about the one task that is named; all of them have the new limit.
TEST(Resting, ALimitSetOnOneTaskIsSeenOnAllAtOnce) {
  FullHour world("mechanism = \"era\";\n");
  Ask ask;
  ask.cpus = 4;
  ask.limit_min = 10;
  ask.runtime = 500;
  ask.budget = "100";
  ask.array = 6;
  world.run(ask);
  world.advance(world.now + 60, 1);
  std::vector<FakeJob*> tasks;
  for (auto& [id, job] : world.jobs)
    if (job.array_job != 0 && job.state == MARKET_JOB_PENDING) tasks.push_back(&job);
  ASSERT_EQ(tasks.size(), 6U);
  const std::size_t before = world.records_spared;
  world.advance(world.now + 3, 1);
  EXPECT_GE(world.records_spared - before, 3 * tasks.size());
  market_change_t change{};
  change.job_id = tasks.back()->id;
  change.limits_array = true;
  change.array_limit = 1;
  EXPECT_NE(world.change(change.job_id, tasks.back()->uid, change), MARKET_REJECTED);
  for (FakeJob* task : tasks) task->throttle = 1;
  world.advance(world.now + 1, 1);
  std::set<Time> starts;
  world.advance(world.now + 20, 1);
  for (const FakeJob* task : tasks) starts.insert(read_note(task->note)->start);
  EXPECT_EQ(starts.size(), tasks.size());
}

}  // namespace
}  // namespace market::testing
