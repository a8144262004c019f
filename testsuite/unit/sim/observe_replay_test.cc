// SPDX-License-Identifier: GPL-2.0-or-later
// The same days in virtual time, once with a Slurm that a market only observes, once with a market
// that acts: where no plan depends on what really started when, the would-be bills are the bills.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "core/mechanism/table.h"
#include "core/sim/market_slurm.h"
#include "core/sim/memory_books.h"
#include "core/util/seeded_random.h"

namespace market::sim {
namespace {

constexpr Time kStart = 1800000000;

struct Days {
  Machine machine;
  std::vector<SimJob> jobs;
  std::vector<Valuation> valuations;
  std::vector<std::string> accounts = {"physics"};
};

/// Jobs one after the other, `pause` seconds apart on average.
Days days(std::uint64_t seed, std::uint64_t pause) {
  SeededRandom random(seed);
  Days made;
  made.machine = *Machine::parse("4x8");
  Time now = kStart;
  for (std::uint32_t i = 0; i < 120; ++i) {
    now += static_cast<Time>(random.below(2 * pause));
    SimJob job;
    job.trace = i;
    job.submit = job.eligible = now;
    job.limit = static_cast<Time>(600 + 60 * random.below(60));
    job.run = static_cast<Time>(60 + random.below(static_cast<std::uint64_t>(job.limit) - 60));
    job.need.cores = 1 + static_cast<std::uint32_t>(random.below(8));
    made.jobs.push_back(job);
    Valuation valuation;
    valuation.worth =
        Money::from_micro(static_cast<std::int64_t>(500'000 + random.below(5'000'000)));
    valuation.deadline = now + job.limit + 120 + static_cast<Time>(random.below(600));
    made.valuations.push_back(valuation);
  }
  return made;
}

using Bills = std::map<std::uint32_t, Money>;

Bills bills_of(const Days& days, const std::string& mechanism, MarketMode mode) {
  Config config;
  config.mechanism = mechanism;
  config.mode = mode;
  config.seed = "replay";
  config.start_slack = 0;
  Bills bills;
  MemoryBooks books(
      [&](const ledger::Segment& run) { bills[run.key.job_id] += run.charged - run.refunded; });
  EXPECT_TRUE(books.add_account("physics"));
  EXPECT_TRUE(books.deposit("physics", *Money::parse("100000")));
  MarketSlurm slurm({days.machine, days.jobs, days.valuations, days.accounts, config}, books);
  EXPECT_TRUE(slurm.run({}));
  EXPECT_TRUE(slurm.complaints().empty());
  if (mode == MarketMode::kObserve) {
    EXPECT_EQ(books.balance("physics").posted, *Money::parse("100000"));
    EXPECT_EQ(books.balance("physics").liens, Money());
    for (const JobRecord& record : slurm.records())
      EXPECT_NE(record.state, JobState::kRefused);  // Slurm drops some at their deadlines
  }
  EXPECT_EQ(books.sum(), Money());
  return bills;
}

class Replay : public ::testing::TestWithParam<std::string> {};

TEST_P(Replay, WouldBeBillsAreTheBillsWhereNobodyWaits) {
  const Days quiet = days(7, 1800);
  const Bills would_be = bills_of(quiet, GetParam(), MarketMode::kObserve);
  const Bills real = bills_of(quiet, GetParam(), MarketMode::kActive);
  ASSERT_GE(real.size(), 100u);
  EXPECT_EQ(would_be, real);
}

TEST_P(Replay, TheSameDaysGiveTheSameWouldBeBills) {
  const Days busy = days(11, 200);
  const Bills once = bills_of(busy, GetParam(), MarketMode::kObserve);
  ASSERT_GE(once.size(), 40u);
  EXPECT_EQ(once, bills_of(busy, GetParam(), MarketMode::kObserve));
}

INSTANTIATE_TEST_SUITE_P(Observe, Replay, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace market::sim
