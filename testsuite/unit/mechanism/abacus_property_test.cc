// SPDX-License-Identifier: GPL-2.0-or-later
// What the paper claims of Abacus: rounds, convergence, monotone in the budget, truthful.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <string>

#include "testsuite/unit/mechanism/abacus_markets.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::abacus {
namespace {

struct RoundCount {
  double mean = 0;
  std::size_t p95 = 0;
};

RoundCount rounds_at(std::size_t jobs, std::size_t resources, double alpha, Kinds kinds,
                     int repeats) {
  std::vector<std::size_t> rounds;
  Options options = paper_options();
  options.alpha = alpha;
  for (int seed = 1; seed <= repeats; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    rounds.push_back(
        run(random_market(random, jobs, resources, kinds, Spread::paper()).auction(), options)
            .rounds);
  }
  std::sort(rounds.begin(), rounds.end());
  double sum = 0;
  for (std::size_t count : rounds) sum += static_cast<double>(count);
  return {sum / repeats, rounds[rounds.size() * 95 / 100]};
}

/// Figs. 6 and 7 with best responses and share changes below 1e-4: 300 seeded markets at each
/// point, the last, confirming round counted. "Within 5 iterations in most settings".
TEST(AbacusPaper, RoundsAsInFigures6And7) {
  const RoundCount linear = rounds_at(32, 4, 0.5, Kinds::kLinear, 300);
  const RoundCount log = rounds_at(32, 4, 0.5, Kinds::kLog, 300);
  std::printf("rounds, 32 jobs x 4: linear mean %.2f, 95%% %zu; log mean %.2f, 95%% %zu\n",
              linear.mean, linear.p95, log.mean, log.p95);
  EXPECT_LE(linear.mean, 4.2);
  EXPECT_LE(linear.p95, 5u);
  EXPECT_LE(log.mean, 2.2);
  double last = 99;
  for (const std::size_t jobs : {8u, 16u, 32u, 64u, 128u}) {
    const double mean = rounds_at(jobs, 4, 0.5, Kinds::kLinear, 300).mean;
    EXPECT_LT(mean, last) << "more users, fewer rounds: " << jobs;
    last = mean;
  }
  last = 0;
  for (const std::size_t resources : {2u, 4u, 8u, 16u}) {
    const double mean = rounds_at(32, resources, 0.5, Kinds::kLinear, 300).mean;
    EXPECT_GT(mean, last) << "more resources, slightly more rounds: " << resources;
    EXPECT_LE(mean, 5);
    last = mean;
  }
  EXPECT_GT(rounds_at(32, 4, 0.9, Kinds::kLinear, 300).mean, 1.8 * linear.mean);
  EXPECT_LT(rounds_at(32, 4, 0.9, Kinds::kLog, 300).mean, 1.5 * log.mean);
}

/// Theorem 1 (exponent <= 0.5): 100 seeds × 100 markets = 10^4, 2 to 8 jobs, 1 to 4 resources,
/// linear and log mixed, budgets over a factor of 2500 and weights over one of 20000; all
/// must converge to 1e-9 within 1000 rounds.
RC_GTEST_PROP(AbacusProperty, ConvergesUpToOneHalf, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 100; ++repeat) {
    const PlainMarket market =
        random_market(random, 2 + random() % 7, 1 + random() % 4, Kinds::kMixed, Spread::wide());
    Options options;
    options.alpha = 0.5 * uniform(random);
    if (repeat % 4 == 0) options.alpha = 0.5;
    RC_ASSERT(run(market.auction(), options).converged);
  }
}

/// Above one half, 1000 seeded markets for each exponent: the paper's own ranges converge up to
/// 0.8, wide ranges do not from about 0.7 on, whichever form is used, because the jobs chase each
/// other.
TEST(AbacusPaper, AboveOneHalfSomeMarketsCycle) {
  for (const Form form : {Form::kOneStep, Form::kBestResponse}) {
    for (const double alpha : {0.6, 0.7, 0.8, 0.9, 1.0}) {
      int failed[2] = {0, 0};
      for (int wide = 0; wide < 2; ++wide) {
        std::mt19937_64 random(11);
        for (int repeat = 0; repeat < 1000; ++repeat) {
          const PlainMarket market =
              random_market(random, 2 + random() % 7, 1 + random() % 4, Kinds::kMixed,
                            wide != 0 ? Spread::wide() : Spread::paper());
          Options options;
          options.alpha = alpha;
          options.form = form;
          failed[wide] += run(market.auction(), options).converged ? 0 : 1;
        }
      }
      std::printf("alpha %.1f, %s: of 1000 markets %d (paper's ranges) and %d (wide) cycle\n",
                  alpha, form == Form::kOneStep ? "one step" : "best response", failed[0],
                  failed[1]);
      EXPECT_TRUE(alpha > 0.8 || failed[0] == 0);
      EXPECT_TRUE(alpha < 0.9 || failed[1] > 0);
    }
  }
}

Options exact() {
  Options options;
  options.form = Form::kBestResponse;
  options.tolerance = 1e-11;
  return options;
}

/// By how much all shares would have to grow to raise job 0's true utility from `before` to
/// `after`: the relative gain for linear, its equivalent for log.
double relative_gain(const PlainJob& job, double before, double after) {
  if (!job.is_log) return after / before - 1;
  double weights = 0;
  for (double weight : job.weights) weights += weight;
  return std::exp((after - before) / weights) - 1;
}

/// Lemma 4: 100 seeds × 20 markets, any exponent 0.1..1, both ranges; the budget of one job grows
/// by 1 % to a factor e, all others answer. Pairs of which one cycles are skipped.
RC_GTEST_PROP(AbacusProperty, MoreBudgetNeverMeansLessUtility, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    PlainMarket market = random_market(random, 2 + random() % 5, 1 + random() % 4, Kinds::kMixed,
                                       (random() & 1) != 0 ? Spread::wide() : Spread::paper());
    Options options = exact();
    options.alpha = draw(random, 0.1, 1);
    const Outcome before = run(market.auction(), options);
    market.jobs[0].budget *= std::exp(draw(random, 0.01, 1));
    const Outcome after = run(market.auction(), options);
    if (!before.converged || !after.converged) continue;
    RC_ASSERT(relative_gain(market.jobs[0], before.utilities[0], after.utilities[0]) > -1e-8);
  }
}

struct Lie {
  double gain = 0;  ///< relative, 0.005 is half a per cent
  std::vector<double> weights;
};

/// The best false weights for job 0 that a pattern search in their logarithms finds, with all
/// others answering.
Lie best_lie(const PlainMarket& market) {
  const PlainJob& honest = market.jobs[0];
  const Outcome truth = run(market.auction(), exact());
  Lie best{0, honest.weights};
  for (double step = 0.5; step > 0.01;) {
    bool better = false;
    for (std::size_t trial = 0; trial < 2 * honest.weights.size(); ++trial) {
      PlainMarket lying = market;
      lying.jobs[0].weights = best.weights;
      lying.jobs[0].weights[trial / 2] *= std::exp(trial % 2 == 0 ? step : -step);
      const Outcome outcome = run(lying.auction(), exact());
      const std::span<const double> shares(outcome.shares.data(), honest.weights.size());
      const double gain = relative_gain(honest, truth.utilities[0], honest.utility().value(shares));
      if (gain <= best.gain + 1e-12) continue;
      best = {gain, lying.jobs[0].weights};
      better = true;
    }
    if (!better) step /= 2;
  }
  return best;
}

void print_market(const char* what, const PlainMarket& market, const Lie& lie) {
  std::printf("%s: gain %.3f %% with", what, 100 * lie.gain);
  for (double weight : lie.weights) std::printf(" %.3f", weight);
  for (const PlainJob& job : market.jobs) {
    std::printf(" | %s budget %.4g weights", job.is_log ? "log" : "linear", job.budget);
    for (double weight : job.weights) std::printf(" %.3g", weight);
  }
  std::printf("\n");
}

/// Theorem 2 at sizes of use: the paper's ranges, linear or log for all as in its experiments,
/// 8 to 32 jobs, 4 resources, 40 seeded markets for each; the largest gain by false weights.
TEST(AbacusPaper, FalseUtilityGainsLessThanHalfAPerCentAmongManyJobs) {
  for (const Kinds kinds : {Kinds::kLinear, Kinds::kLog}) {
    for (const std::size_t jobs : {8u, 16u, 32u}) {
      std::mt19937_64 random(23);
      Lie largest;
      PlainMarket where;
      for (int repeat = 0; repeat < 40; ++repeat) {
        const PlainMarket market = random_market(random, jobs, 4, kinds, Spread::paper());
        const Lie lie = best_lie(market);
        if (lie.gain <= largest.gain) continue;
        largest = lie;
        where = market;
      }
      std::printf("%zu jobs x 4, %s: largest gain %.4f %%\n", jobs,
                  kinds == Kinds::kLog ? "log" : "linear", 100 * largest.gain);
      EXPECT_LT(largest.gain, 0.005);
    }
  }
}

/// Few jobs, the paper's ranges, 2 to 5 jobs, 2 to 4 resources, 400 seeded markets of each kind:
/// gains may pass half a per cent, none comes near those of the corners below.
TEST(AbacusPaper, LargestGainInSmallRandomMarkets) {
  for (const Kinds kinds : {Kinds::kLinear, Kinds::kLog, Kinds::kMixed}) {
    std::mt19937_64 random(31);
    Lie largest;
    PlainMarket where;
    int over = 0;
    for (int repeat = 0; repeat < 400; ++repeat) {
      const PlainMarket market =
          random_market(random, 2 + random() % 4, 2 + random() % 3, kinds, Spread::paper());
      const Lie lie = best_lie(market);
      over += lie.gain >= 0.005 ? 1 : 0;
      if (lie.gain <= largest.gain) continue;
      largest = lie;
      where = market;
    }
    std::printf("of 400 small markets %d with a gain of 0.5 %% or more; ", over);
    print_market("largest", where, largest);
    EXPECT_LT(largest.gain, 0.03);
  }
}

/// The same for the paper's own small markets: Fig. 2 and the three users of Table 1.
TEST(AbacusPaper, FalseUtilityGainsLessThanHalfAPerCentInThePapersMarkets) {
  const PlainMarket figure{{{100, false, {3, 2}}, {200, false, {3, 2}}, {150, false, {2, 4}}}};
  const PlainMarket table{{{200, false, {30, 20}}, {200, false, {15, 40}}, {200, false, {60, 10}}}};
  for (const PlainMarket& market : {figure, table}) {
    for (std::size_t liar = 0; liar < 3; ++liar) {
      PlainMarket turned = market;
      std::rotate(turned.jobs.begin(), turned.jobs.begin() + static_cast<std::ptrdiff_t>(liar),
                  turned.jobs.end());
      const Lie lie = best_lie(turned);
      print_market("paper's market", turned, lie);
      EXPECT_LT(lie.gain, 0.005);
    }
  }
}

/// Theorem 2 is not exact, and half a per cent is no bound for it: within the paper's own ranges
/// the smallest market there is, two jobs and two resources, has a lie that gains 2 %; a search
/// over 2×2 to 4×2 and 2×3 markets found all largest gains in such corners of the ranges. With
/// weights farther apart it is a third and more: two jobs that want different resources do better
/// by keeping out of each other's way. The gain is confirmed by the plain definition of the
/// auction.
TEST(AbacusPaper, SmallestCounterexampleToTheorem2) {
  const PlainMarket corner{{{50, false, {0.5, 2}}, {200, false, {2, 0.5}}}};
  const Lie lie = best_lie(corner);
  print_market("corner of the paper's ranges", corner, lie);
  EXPECT_GT(lie.gain, 0.02);
  EXPECT_LT(lie.gain, 0.022);
  const PlainMarket far{{{87, false, {240, 1}}, {110, false, {1, 37}}}};
  const Lie far_lie = best_lie(far);
  print_market("weights far apart", far, far_lie);
  EXPECT_GT(far_lie.gain, 0.3);

  PlainMarket lying = corner;
  lying.jobs[0].weights = lie.weights;
  PlainAuction honest(corner, 0.5);
  PlainAuction false_word(lying, 0.5);
  honest.run(1e-12, 1000);
  false_word.run(1e-12, 1000);
  const double truth = 0.5 * honest.share(0, 0) + 2 * honest.share(0, 1);
  const double lied = 0.5 * false_word.share(0, 0) + 2 * false_word.share(0, 1);
  EXPECT_NEAR(lied / truth - 1, lie.gain, 1e-6);
}

}  // namespace
}  // namespace market::abacus
