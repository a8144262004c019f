// SPDX-License-Identifier: GPL-2.0-or-later
// Runs whose end Slurm tells while slurmctld starts, when the market knows neither settings nor books nor nodes: their bills
// are those that the same end would have had a moment later.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

/// When an end is told after the start.
enum class Told { kBeforeBooks, kAfterTheFirstPass };

constexpr char kOneCredit[] = "mechanism = \"era\";\nprices = { floor = \"1\"; cap = \"1\"; };\n";

struct Rich : World {
  explicit Rich(const std::string& settings) : World(settings) {
    EXPECT_TRUE(books().deposit("physics", *Money::parse("1000"), "", kStart));
    sync();
  }
};

std::string bills_of(World& world, bool open_too = false) {
  std::string text;
  ledger::SegmentFilter filter;
  filter.open_too = open_too;
  const auto segments = world.books().segments(filter);
  for (const ledger::Segment& one : *segments)
    text += fmt::format("{}:{} {} {} {} {} {} {} {} {}\n", one.key.job_id, one.key.restart,
                        one.account, one.state, one.mechanism, one.start, one.end,
                        one.quoted.to_string(), one.charged.to_string(), one.refunded.to_string());
  return text;
}

struct End {
  const char* name;
  std::function<void(World&, FakeJob&)> happens;
};

const std::vector<End>& ends() {
  static const std::vector<End> kEnds{
      {"completed", [](World& world, FakeJob& job) { world.end(job, MARKET_JOB_COMPLETED); }},
      {"cancelled", [](World& world, FakeJob& job) { world.end(job, MARKET_JOB_CANCELLED); }},
      {"requeued", [](World& world, FakeJob& job) { world.requeue(job, MARKET_JOB_REQUEUED); }},
      {"node failed", [](World& world, FakeJob& job) { world.requeue(job, MARKET_JOB_NODE_FAIL); }},
      {"for another", [](World& world, FakeJob& job) { world.preempt(job, 77, "biology"); }},
      {"for its own", [](World& world, FakeJob& job) { world.preempt(job, job.uid, "physics"); }}};
  return kEnds;
}

/// What the books hold of a job that runs for half an hour, when slurmctld is killed and the run ends.
std::string bills(const std::string& settings, const End& end, Told told) {
  Rich world(settings);
  const std::uint32_t id = world.bid("50", 2, 60, 7200);
  world.advance(kStart + 1800);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  const auto happens = [&world, &end, id] { end.happens(world, world.job(id)); };
  if (told == Told::kBeforeBooks) world.before_books = happens;
  world.crash();
  if (told == Told::kAfterTheFirstPass) happens();
  world.advance(world.now + 60);
  if (world.job(id).state == MARKET_JOB_PENDING || world.job(id).state == MARKET_JOB_RUNNING)
    world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.advance(world.now + 7200, 60);
  world.expect_balanced();
  return bills_of(world);
}

TEST(UnheardEnds, AreBilledAsThoseToldLater) {
  for (const char* mechanism : {"era", "first_fit", "contracts", "abacus", "dva", "tycoon"}) {
    for (const char* charge : {"reserved", "used", "resale"}) {
      for (const End& end : ends()) {
        SCOPED_TRACE(fmt::format("{}, charge {}, {}", mechanism, charge, end.name));
        const std::string settings = fmt::format(
            "mechanism = \"{}\";\ncharge = \"{}\";\nprices = {{ floor = \"1\"; cap = \"2\"; }};\n",
            mechanism, charge);
        const std::string later = bills(settings, end, Told::kAfterTheFirstPass);
        EXPECT_THAT(later, HasSubstr("100:0 physics")) << "there is something to compare";
        EXPECT_EQ(bills(settings, end, Told::kBeforeBooks), later);
      }
    }
  }
}

/// Of an array that is one place: of the tasks that run two end, and so do two that Slurm starts for them at once.
std::string bills_of_tasks(const std::string& settings, Told told) {
  Rich world(settings);
  Ask ask;
  ask.budget = "5";
  ask.array = 120;
  ask.runtime = 7200;
  EXPECT_NE(world.run(ask), 0U);
  world.advance(kStart + 1800);
  const auto end_two = [&world] {
    std::vector<std::uint32_t> running;
    for (const auto& [id, job] : world.jobs)
      if (job.state == MARKET_JOB_RUNNING && running.size() < 2) running.push_back(id);
    EXPECT_EQ(running.size(), 2U);
    for (const std::uint32_t id : running) world.end(world.job(id), MARKET_JOB_COMPLETED);
  };
  const auto happens = [&] {
    end_two();
    world.schedule();
    world.now += 5;
    end_two();
  };
  if (told == Told::kBeforeBooks) world.before_books = happens;
  world.crash();
  if (told == Told::kAfterTheFirstPass) happens();
  world.advance(world.now + 60);
  std::string text = bills_of(world, true);
  for (auto& [id, job] : world.jobs)
    if (job.state == MARKET_JOB_RUNNING || job.state == MARKET_JOB_PENDING)
      world.end(job, MARKET_JOB_CANCELLED);
  world.advance(world.now + 12 * 3600, 300);
  world.expect_balanced();
  return text + bills_of(world);
}

TEST(UnheardEnds, OfTasksAreThoseOfTheirArray) {
  for (const char* charge : {"reserved", "used", "resale"}) {
    SCOPED_TRACE(charge);
    const std::string settings = fmt::format(
        "mechanism = \"era\";\ncharge = \"{}\";\nprices = {{ floor = \"1\"; cap = \"1\"; }};\n",
        charge);
    const std::string later = bills_of_tasks(settings, Told::kAfterTheFirstPass);
    EXPECT_THAT(later, HasSubstr("COMPLETED"));
    EXPECT_EQ(bills_of_tasks(settings, Told::kBeforeBooks), later);
  }
}

/// Of a run that was sent back and ran again, both times without a word to the books.
std::string bills_of_two_runs(const std::string& settings, Told told) {
  Rich world(settings);
  const std::uint32_t id = world.bid("50", 1, 60, 7200);
  world.advance(kStart + 600);
  world.requeue(world.job(id), MARKET_JOB_REQUEUED);
  for (int i = 0; i < 30; ++i, world.now += 10) world.step();
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.job(id).restart, 1U);
  const auto end = [&world, id] { world.end(world.job(id), MARKET_JOB_COMPLETED); };
  if (told == Told::kBeforeBooks) world.before_books = end;
  world.crash();
  if (told == Told::kAfterTheFirstPass) end();
  world.advance(world.now + 7200, 60);
  world.expect_balanced();
  return bills_of(world);
}

TEST(UnheardEnds, LeaveTheRunBeforeItsBill) {
  for (const char* mechanism : {"era", "first_fit", "abacus", "tycoon"}) {
    SCOPED_TRACE(mechanism);
    const std::string settings = fmt::format(
        "mechanism = \"{}\";\nprices = {{ floor = \"1\"; cap = \"2\"; }};\n", mechanism);
    const std::string later = bills_of_two_runs(settings, Told::kAfterTheFirstPass);
    EXPECT_THAT(later, HasSubstr("100:0 physics REQUEUED"));
    EXPECT_THAT(later, HasSubstr("100:1 physics COMPLETED"));
    EXPECT_EQ(bills_of_two_runs(settings, Told::kBeforeBooks), later);
  }
}

// By hand: one CPU for half an hour of an hour that is reserved at 1 credit.
TEST(UnheardEnds, AreChargedByTheSettingsInForce) {
  Rich world(kOneCredit);
  const std::uint32_t id = world.bid("50", 1, 60, 1800);
  world.advance(kStart + 900);
  world.before_books = [&] { world.end(world.job(id), MARKET_JOB_COMPLETED); };
  world.crash();
  world.advance(world.now + 60);
  EXPECT_THAT(world.job(id).note, HasSubstr("charged")) << "the next pass writes what it paid";
  EXPECT_EQ(world.balance("physics").posted, *Money::parse("999"));
  EXPECT_EQ(world.balance("physics").liens, Money());
}

// A second crash, before the books were read: the end was heard of by nobody, and its job tells of it again.
TEST(UnheardEnds, AreToldAgainByTheirJobsAfterAnotherCrash) {
  Rich world(kOneCredit);
  const std::uint32_t id = world.bid("50", 1, 60, 1800);
  world.advance(kStart + 900);
  world.before_books = [&] {
    world.end(world.job(id), MARKET_JOB_COMPLETED);
    world.crash();
  };
  world.crash();
  world.advance(world.now + 60);
  EXPECT_EQ(world.balance("physics").posted, *Money::parse("999"));
}

// Its bid waits for funds, an operator starts it, and it ends before a pass saw it run: it has a bill of nothing.
TEST(UnheardEnds, OfARunWhileTheBidWaitedIsInTheBooks) {
  World world(
      "mechanism = \"era\";\nno_funds = \"wait\";\nprices = { floor = \"1\"; cap = \"1\"; };\n");
  ASSERT_TRUE(world.books().deposit("physics", *Money::parse("0.10"), "", kStart));
  world.sync();
  const std::uint32_t id = world.bid("50", 1, 60, 1800);
  ASSERT_NE(id, 0U);
  world.advance(kStart + 60);
  FakeJob& job = world.job(id);
  ASSERT_TRUE(job.held);
  job.held = false;
  job.state = MARKET_JOB_RUNNING;
  job.start = world.now - 30;
  world.end(job, MARKET_JOB_COMPLETED);
  world.advance(world.now + 60);
  EXPECT_EQ(bills_of(world), fmt::format("100:0 physics COMPLETED era/1 {} {} 0.00 0.00 0.00\n",
                                         job.start, job.end));
}

}  // namespace
}  // namespace market::testing
