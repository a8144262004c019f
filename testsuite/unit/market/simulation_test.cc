// SPDX-License-Identifier: GPL-2.0-or-later
// 300 random jobs on four nodes in virtual time, with and without crashes of the market in between.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

struct Promise {
  Money budget;
  Time deadline = 0;
};

void simulate(std::uint64_t seed, const std::string& mechanism, bool crashes) {
  SCOPED_TRACE(fmt::format("seed {} mechanism {} crashes {}", seed, mechanism, crashes));
  World world(fmt::format("mechanism = \"{}\";\n", mechanism));
  ASSERT_TRUE(world.books().deposit("physics", *Money::parse("100000"), "", kStart));
  world.sync();
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
  };
  std::map<std::uint32_t, Promise> promises;
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    Ask ask;
    ask.cpus = static_cast<std::uint32_t>(draw(1, 8));
    ask.limit_min = static_cast<std::uint32_t>(draw(2, 60));
    ask.runtime = static_cast<Time>(draw(30, ask.limit_min * 60));
    if (draw(0, 9) > 0) {  // one in ten carries no bid
      ask.budget = fmt::format("{}.{:02}", draw(0, 5), draw(0, 99));
      ask.deadline =
          world.now + (ask.limit_min + 2) * Time{60} + static_cast<Time>(draw(0, 4 * 3600));
    }
    const std::uint32_t id = world.run(ask);
    if (id == 0) {
      ++refused;
    } else if (!ask.budget.empty()) {
      promises[id] = {*Money::parse(ask.budget), ask.deadline};
    }
    world.advance(world.now + static_cast<Time>(draw(1, 240)), 15);
    if (crashes && draw(0, 9) == 0) world.crash();
  }
  world.advance(world.now + 6 * 3600, 60);
  world.advance(world.now + 120, 10);

  EXPECT_GT(promises.size(), 50u);
  EXPECT_GT(refused, 5);
  Money billed;
  for (const auto& [id, promise] : promises) {
    const FakeJob& job = world.job(id);
    EXPECT_EQ(job.state, MARKET_JOB_COMPLETED) << id;
    EXPECT_LE(job.end, promise.deadline) << id << " started " << job.start - kStart;
  }
  std::set<std::uint32_t> seen;
  const auto segments = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& segment : *segments) {
    EXPECT_TRUE(seen.insert(segment.key.job_id).second) << "billed twice: " << segment.key.job_id;
    ASSERT_TRUE(promises.contains(segment.key.job_id));
    EXPECT_LE(segment.charged, promises[segment.key.job_id].budget);
    billed += segment.charged - segment.refunded;
  }
  EXPECT_EQ(seen.size(), promises.size());
  EXPECT_EQ(*Money::parse("100000") - world.balance("physics").posted, billed);
  EXPECT_EQ(world.balance("physics").liens, Money());
  const auto check = world.books().check();
  ASSERT_TRUE(check);
  EXPECT_EQ(check->sum, Money());
  EXPECT_TRUE(check->faults.empty());
  EXPECT_TRUE(world.reservations.empty());
  for (const std::string& fault : world.faults) ADD_FAILURE() << fault;
}

TEST(Simulation, AcceptedJobsAreInTime) {
  simulate(1, "era", false);
  simulate(2, "first_fit", false);
  simulate(3, "on_demand", false);
}

TEST(Simulation, CrashesLoseAndDoubleNothing) {
  for (std::uint64_t seed = 4; seed < 14; ++seed) {
    simulate(seed, seed % 2 == 0 ? "era" : "first_fit", true);
  }
}

}  // namespace
}  // namespace market::testing
