// SPDX-License-Identifier: GPL-2.0-or-later
// After a start the market takes over what it promised a few jobs at a time, and decides what it would have decided if it
// had been told of all at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_cluster.h"
#include "random_day.h"

namespace market::testing {
namespace {

// A crash in every fifth step.
std::string day_with_crashes(std::uint64_t seed, const std::string& settings, bool takes_over) {
  World world(settings);
  world.marks_in_turn = true;
  world.takes_over = takes_over;
  EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100000"), "", kStart));
  world.sync();
  Draws draw(seed);
  for (int i = 0; i < 100; ++i) {
    happen(world, draw);
    world.advance(world.now + static_cast<Time>(draw(1, 120)), 10);
    if (i % 5 == 4) world.crash();
  }
  for (std::size_t node = 0; node < world.node_up.size(); ++node) world.node_up[node] = true;
  world.tell_cluster();
  for (auto& [id, job] : world.jobs) job.held = job.held && job.held_by_site;
  world.advance(world.now + 12 * 3600, 30);
  return outcome(world);
}

TEST(TakingOver, PartByPartDecidesTheSameAsAllAtOnce) {
  for (const char* mechanism : {"era", "first_fit", "tycoon"}) {
    const std::string settings = fmt::format("mechanism = \"{}\";\n", mechanism);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", mechanism, seed));
      EXPECT_EQ(day_with_crashes(seed, settings, true), day_with_crashes(seed, settings, false));
    }
  }
}

// All nodes are taken for an hour, and bids for the hours after it wait.
struct Waiting : World {
  explicit Waiting(const std::string& settings) : World(settings, 4, 4) {
    EXPECT_TRUE(books().deposit("physics", *Money::parse("100000"), "", kStart));
    sync();
    marks_in_turn = true;
    for (int i = 0; i < 4; ++i) bid("50", 4, 60, 3500);
    for (int i = 0; i < kWaiting; ++i) waiting.push_back(bid("50", 1, 60, 3500));
    advance(now + 60);
  }
  /// Of those that wait, how many have their reservation.
  std::size_t count_reserved() const {
    std::size_t count = 0;
    for (const std::uint32_t id : waiting)
      count += reservations.contains(fmt::format("market_{}_0", id));
    return count;
  }
  static constexpr int kWaiting = 32;
  std::vector<std::uint32_t> waiting;
};

TEST(TakingOver, WhatWaitsRestsAtOnce) {
  Waiting world("mechanism = \"era\"; planning = { max_reservations = 1; };\n");
  world.crash();
  const std::size_t before = world.records_spared;
  world.step();
  EXPECT_GE(world.records_spared - before, std::size_t{Waiting::kWaiting} - 2);
  world.advance(world.now + 4 * 3600, 20);
  for (const std::uint32_t id : world.waiting)
    EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED) << id;
  EXPECT_EQ(world.faults, std::vector<std::string>());
}

// The reservations of the next starts keep jobs without a bid out; a rest does not delay them.
TEST(TakingOver, ReservationsAreThereAfterOnePass) {
  Waiting world("mechanism = \"era\"; planning = { max_reservations = 10; };\n");
  ASSERT_GE(world.count_reserved(), 10U);
  world.crash();
  world.step();
  EXPECT_GE(world.count_reserved(), 10U);
  EXPECT_LE(world.count_reserved(), 13U);
}

// Those that have come to be the next ones have a reservation within seconds, not when their rest is over.
TEST(TakingOver, WhoComesToBeNextHasAReservationSoon) {
  Waiting world("mechanism = \"era\"; planning = { max_reservations = 10; };\n");
  ASSERT_LE(world.count_reserved(), 13U);
  int cancelled = 0;
  for (const std::uint32_t id : world.waiting) {
    if (!world.reservations.contains(fmt::format("market_{}_0", id))) continue;
    world.end(world.job(id), MARKET_JOB_CANCELLED);
    ++cancelled;
  }
  ASSERT_GE(cancelled, 10);
  world.advance(world.now + 30, 10);
  EXPECT_GE(world.count_reserved(), 10U);
}

// Between two parts its owner cancels, holds or changes a job that was taken over.
TEST(TakingOver, WhatHappensInBetweenIsSeenByTheFirstPass) {
  Waiting world("mechanism = \"era\";\n");
  const std::uint32_t cancelled = world.waiting[0], held = world.waiting[1];
  world.between_parts = [&] {
    if (world.job(cancelled).state == MARKET_JOB_PENDING)
      world.end(world.job(cancelled), MARKET_JOB_CANCELLED);
    world.job(held).hold_by_owner();
  };
  world.crash();
  world.between_parts = nullptr;
  world.advance(world.now + 7200, 20);
  EXPECT_EQ(world.job(held).state, MARKET_JOB_PENDING);
  EXPECT_TRUE(world.job(held).held) << "the market does not undo it";
  world.sync();
  const auto segments = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& segment : *segments)
    EXPECT_TRUE(segment.key.job_id != cancelled || segment.charged == Money());
  EXPECT_EQ(world.faults, std::vector<std::string>());
}

}  // namespace
}  // namespace market::testing
