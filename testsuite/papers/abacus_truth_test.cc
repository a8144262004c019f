// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus, sections 4.3, 7.1.2 and 7.1.4: what a false utility gains, what a budget buys, and how
// well utilities are learned.
#include <gtest/gtest.h>

#include "core/mechanism/abacus_fit.h"
#include "testsuite/papers/report.h"
#include "testsuite/unit/mechanism/abacus_markets.h"

namespace market::abacus {
namespace {

using papers::Comparison;
using papers::sample;

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

std::string text(const Lie& lie) {
  std::string weights;
  for (const double weight : lie.weights) weights += fmt::format(" {:.3f}", weight);
  return fmt::format("{:.4f} % with weights{}", 100 * lie.gain, weights);
}

struct Search {
  Lie largest;
  int over = 0;  ///< markets with a gain of half a per cent or more
};

template <class MakeMarket>
Search search(std::uint64_t seed, int repeats, const MakeMarket& make) {
  std::mt19937_64 random(seed);
  Search result;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Lie lie = best_lie(make(random));
    result.over += lie.gain >= 0.005 ? 1 : 0;
    if (lie.gain > result.largest.gain) result.largest = lie;
  }
  return result;
}

const char* name_of(Kinds kinds) {
  return kinds == Kinds::kLinear ? "linear" : kinds == Kinds::kLog ? "log" : "mixed";
}

/// Fig. 2's jobs and Table 1's users, each in turn the one that lies.
void report_papers_markets(const Comparison& table) {
  const PlainMarket figure{{{100, false, {3, 2}}, {200, false, {3, 2}}, {150, false, {2, 4}}}};
  const PlainMarket users{{{200, false, {3, 2}}, {200, false, {1.5, 4}}, {200, false, {6, 1}}}};
  for (const PlainMarket* market : {&figure, &users}) {
    for (std::size_t liar = 0; liar < 3; ++liar) {
      PlainMarket turned = *market;
      std::rotate(turned.jobs.begin(), turned.jobs.begin() + static_cast<std::ptrdiff_t>(liar),
                  turned.jobs.end());
      const Lie lie = best_lie(turned);
      table.row(fmt::format("{} {}", market == &figure ? "Fig. 2, job" : "Table 1, user", liar + 1),
                "0", text(lie));
      EXPECT_LT(lie.gain, 0.005);
    }
  }
}

/// Theorem 2 is not exact. At sizes of use the gain is small; the smallest market there is, two
/// jobs and two resources, has a lie that gains 2 % within the paper's own ranges, and a third with
/// weights farther apart: two jobs that want different resources do better by keeping out of each
/// other's way.
TEST(AbacusPaper, GainsOfAFalseUtility) {
  const Comparison table("Abacus, Theorem 2: largest gain of a false utility found",
                         "the paper's ranges, 4 resources, alpha 0.5, all others answer; pattern "
                         "search over the liar's weights; seeds 23 and 31");
  report_papers_markets(table);
  for (const Kinds kinds : {Kinds::kLinear, Kinds::kLog}) {
    for (const std::size_t jobs : {8u, 16u, 32u}) {
      const Search found = search(23, sample(40, 400), [&](std::mt19937_64& random) {
        return random_market(random, jobs, 4, kinds, Spread::paper());
      });
      table.row(fmt::format("{} jobs x 4, {}, {} markets", jobs, name_of(kinds), sample(40, 400)),
                "0 (dominant strategy)", fmt::format("{:.4f} %", 100 * found.largest.gain));
      EXPECT_LT(found.largest.gain, 0.005);
    }
  }
  for (const Kinds kinds : {Kinds::kLinear, Kinds::kLog, Kinds::kMixed}) {
    const Search found = search(31, sample(400, 4000), [&](std::mt19937_64& random) {
      return random_market(random, 2 + random() % 4, 2 + random() % 3, kinds, Spread::paper());
    });
    table.row(fmt::format("2-5 jobs x 2-4, {}, {} markets", name_of(kinds), sample(400, 4000)),
              "0 (dominant strategy)",
              fmt::format("{:.2f} %; {} gain 0.5 % or more", 100 * found.largest.gain, found.over));
    EXPECT_LT(found.largest.gain, 0.03);
  }
}

TEST(AbacusPaper, SmallestCounterexampleToTheorem2) {
  const Comparison table("Abacus, Theorem 2: the smallest counter-examples",
                         "2 jobs x 2 resources, linear, alpha 0.5; confirmed by the plain "
                         "definition of the auction");
  const PlainMarket corner{{{50, false, {0.5, 2}}, {200, false, {2, 0.5}}}};
  const Lie lie = best_lie(corner);
  table.row("$50 (0.5, 2) lies against $200 (2, 0.5)", "0", text(lie));
  EXPECT_GT(lie.gain, 0.02);
  EXPECT_LT(lie.gain, 0.022);
  const PlainMarket far{{{87, false, {240, 1}}, {110, false, {1, 37}}}};
  const Lie far_lie = best_lie(far);
  table.row("$87 (240, 1) lies against $110 (1, 37)", "0", text(far_lie));
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

/// Table 1; user 3 reports ratio : 1 and its truth is 6 : 1.
Outcome users_of_table1(double budget, double ratio) {
  const PlainMarket market{
      {{200, false, {3, 2}}, {200, false, {1.5, 4}}, {budget, false, {ratio, 1}}}};
  return run(market.auction(), exact());
}

double true_utility(const Outcome& outcome) {
  return 6 * outcome.shares[4] + outcome.shares[5];
}

/// The auction's side of Fig. 9(a) and (b). The values by ratio were worked out apart from this
/// code.
TEST(AbacusPaper, WhatUser3GetsByBudgetAndByReportedRatio) {
  const Comparison table("Abacus, Fig. 9(a), (b) without a cluster: user 3's utility 6x + y",
                         "Table 1's users at the auction's fixed point, alpha 0.5");
  double last = 0, last_gain = 9;
  for (const double budget : {50.0, 100.0, 150.0, 200.0, 250.0, 300.0}) {
    const double utility = true_utility(users_of_table1(budget, 6));
    table.row(fmt::format("budget ${}", budget), "rises, concave", fmt::format("{:.3f}", utility));
    EXPECT_GT(utility, last);
    EXPECT_LT(utility - last, last_gain);
    last_gain = utility - last;
    last = utility;
  }
  constexpr double kRatios[] = {0.25, 0.5, 1, 2, 4, 6, 8, 12};
  constexpr double kUtilities[] = {1.778, 2.171, 2.485, 2.687, 2.782, 2.799, 2.800, 2.792};
  for (std::size_t i = 0; i < std::size(kRatios); ++i) {
    const double utility = true_utility(users_of_table1(200, kRatios[i]));
    table.row(fmt::format("reports {} : 1", kRatios[i]),
              kRatios[i] == 4 ? "best of five, nearest the truth" : "below that at 4 : 1",
              fmt::format("{:.3f}", utility));
    EXPECT_NEAR(utility, kUtilities[i], 6e-4);
  }
}

/// Ratio of the two weights learned from `jobs` runs of user 3 under random reported utilities,
/// with `noise` (relative, uniform) in the run time.
double estimated_ratio(std::mt19937_64& random, int jobs, double noise) {
  std::vector<Observation> observations;
  for (int job = 0; job < jobs; ++job) {
    const double map = draw(random, 0.2, 0.8);
    const double reduce = draw(random, 0.2, 0.8);
    observations.push_back({{map, reduce}, (6 * map + reduce) * (1 + draw(random, -noise, noise))});
  }
  const auto fit = fit_utility(UtilityKind::kLinear, observations);
  EXPECT_TRUE(fit.has_value());
  return fit->weights[0] / fit->weights[1];
}

/// The paper draws 20 estimates; 1000 say what to expect of them. "Usually" is more than half here,
/// because the share depends on the noise in the run times, which the paper does not tell.
TEST(AbacusPaper, EstimatesOfUser3AsInFigure11) {
  const Comparison table(
      "Abacus, Fig. 11: user 3's map : reduce ratio learned from its runs, truth 6",
      "1000 estimates a row, shares U[0.2,0.8], run times off by up to 5 %; seed 4");
  std::mt19937_64 random(4);
  double first_spread = 0;
  for (const int jobs : {5, 10, 20, 40, 80}) {
    std::vector<double> ratios;
    int near = 0;
    for (int estimate = 0; estimate < 1000; ++estimate) {
      ratios.push_back(estimated_ratio(random, jobs, 0.05));
      near += ratios.back() >= 5 && ratios.back() <= 9 ? 1 : 0;
    }
    const double low = papers::quantile(ratios, 0.25), high = papers::quantile(ratios, 0.75);
    table.row(fmt::format("{} jobs", jobs),
              jobs == 5 ? "20 estimates, usually in 5..9" : "variance plunges with jobs",
              fmt::format("{:.1f} % in 5..9, quartiles {:.2f} and {:.2f}", near / 10.0, low, high));
    EXPECT_GE(near, jobs == 5 ? 500 : 700);
    if (jobs == 5) first_spread = high - low;
    EXPECT_TRUE(jobs != 80 || high - low < first_spread / 3);
  }
  const double seconds =
      papers::cpu_seconds_of(100, [&] { EXPECT_GT(estimated_ratio(random, 80, 0.05), 0); });
  table.row("time of one estimate from 80 jobs", "< 3 ms", fmt::format("{:.4f} ms", 1e3 * seconds));
  EXPECT_LT(seconds, 3e-3);
}

}  // namespace
}  // namespace market::abacus
