// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_slo.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "testsuite/unit/mechanism/abacus_markets.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::abacus {
namespace {

TEST(AbacusSlo, SkipsWhoDoesNotFitAndAdmitsALaterOne) {
  const std::vector<SloJob> jobs = {{80, Utility::linear({1, 1}), 0.7},
                                    {90, Utility::linear({1, 1}), 1.2},
                                    {8, Utility::linear({1, 1}), 0.2}};
  const Pools pools = divide_pools(jobs, 2, {});
  EXPECT_EQ(pools.prolific, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(pools.others, (std::vector<std::size_t>{1}));
  EXPECT_NEAR(pools.density[0], 80 / 0.35, 1e-9);
}

TEST(AbacusSlo, NothingNeededComesFirstAndTheImpossibleNever) {
  const std::vector<SloJob> jobs = {{1, Utility::log({1, 1}), 0.5},
                                    {5, Utility::linear({1, 1}), 0},
                                    {9, Utility::linear({1, 1}), -3}};
  const Pools pools = divide_pools(jobs, 2, {});
  EXPECT_EQ(pools.order, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(pools.density[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(pools.others, (std::vector<std::size_t>{0}));
}

TEST(AbacusSlo, NobodyFits) {
  const Pools pools = divide_pools({{1, Utility::linear({1}), 2}}, 1, {});
  EXPECT_TRUE(pools.prolific.empty());
  EXPECT_EQ(pools.outcome.rounds, 0u);
  EXPECT_TRUE(pools.outcome.converged);
}

TEST(AbacusSlo, WorksForConcaveUtilities) {
  const ConcaveTerm root{[](double s) { return std::sqrt(s); },
                         [](double s) { return 0.5 * std::sqrt(s); }};
  const SloJob job{10, Utility::concave({{root}, {root}}), 1.0};
  EXPECT_NEAR(job.utility.equal_share_for(1.0), 0.25, 1e-15);
  EXPECT_EQ(divide_pools({job, job}, 2, {}).prolific.size(), 2u);
}

/// 100 seeds × 5 sets of 1 to 7 jobs: everybody in the pool reaches its least utility, the two
/// pools divide the jobs, and each job left out would, at its turn, have broken somebody's least
/// utility.
RC_GTEST_PROP(AbacusSloProperty, PoolKeepsItsWord, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 5; ++repeat) {
    const PlainMarket market =
        random_market(random, 1 + random() % 7, 2, Kinds::kLinear, Spread::paper());
    std::vector<SloJob> jobs;
    for (const PlainJob& job : market.jobs) {
      jobs.push_back({job.budget, job.utility(), draw(random, 0, 1.5)});
    }
    const Pools pools = divide_pools(jobs, 2, {});
    RC_ASSERT(pools.prolific.size() + pools.others.size() == jobs.size());
    for (std::size_t k = 0; k < pools.members.size(); ++k) {
      RC_ASSERT(pools.outcome.utilities[k] >= jobs[pools.members[k]].min_utility - 1e-8);
    }
    for (std::size_t left_out : pools.others) {
      PlainMarket tried;
      std::vector<double> least;
      for (std::size_t i = 0, place = 0; i < jobs.size(); ++i) {
        const auto rank = [&](std::size_t job) {
          return std::find(pools.order.begin(), pools.order.end(), job) - pools.order.begin();
        };
        place = static_cast<std::size_t>(rank(i));
        const bool in_pool =
            std::find(pools.prolific.begin(), pools.prolific.end(), i) != pools.prolific.end();
        if (i != left_out && (!in_pool || static_cast<std::ptrdiff_t>(place) > rank(left_out))) {
          continue;
        }
        tried.jobs.push_back(market.jobs[i]);
        least.push_back(jobs[i].min_utility);
      }
      PlainAuction plain(tried, 0.5);
      plain.run(1e-9, 1000);
      bool broken = false;
      for (std::size_t i = 0; i < tried.jobs.size(); ++i) {
        const auto& weights = tried.jobs[i].weights;
        const double utility = weights[0] * plain.share(i, 0) + weights[1] * plain.share(i, 1);
        broken = broken || utility < least[i] - 1e-10;
      }
      RC_ASSERT(broken);
    }
  }
}

/// Two equal jobs with equal weights settle in one round: the auctions of one and of two jobs on
/// two resources take 2 and 4 units of work.
TEST(AbacusSlo, GivesUpAfterTheWorkAllowed) {
  const SloJob job{10, Utility::linear({1, 1}), 0.5};
  EXPECT_TRUE(divide_pools({job, job}, 2, {}, 6).complete);
  EXPECT_FALSE(divide_pools({job, job}, 2, {}, 5).complete);
  EXPECT_FALSE(divide_pools({job, job}, 2, {}, 1).complete);
  Options one_round;
  one_round.max_rounds = 1;
  one_round.tolerance = 1e-300;
  EXPECT_TRUE(divide_pools({job, job}, 2, one_round, 6).complete);
}

}  // namespace
}  // namespace market::abacus
