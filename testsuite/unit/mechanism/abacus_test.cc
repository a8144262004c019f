// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "testsuite/unit/mechanism/abacus_markets.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::abacus {
namespace {

PlainMarket paper_figure() {
  return {{{100, false, {3, 2}}, {200, false, {3, 2}}, {150, false, {2, 4}}}};
}

/// Fixed point of the paper's example, computed apart from this code to four digits.
constexpr double kFigureBids[] = {63.8990, 36.1010, 123.8320, 76.1680, 42.0844, 107.9156};

TEST(Abacus, BothFormsReachTheFixedPointOfThePapersExample) {
  for (const Form form : {Form::kOneStep, Form::kBestResponse}) {
    Options options;
    options.form = form;
    const Outcome outcome = run(paper_figure().auction(), options);
    ASSERT_TRUE(outcome.converged);
    for (std::size_t k = 0; k < 6; ++k) {
      EXPECT_NEAR(outcome.sub_budgets[k], kFigureBids[k], 1e-4);
    }
  }
}

TEST(Abacus, FirstTurnOfTheExampleIsOneStepOrTheBestResponse) {
  Options options;
  options.max_rounds = 1;
  const Outcome step = run(paper_figure().auction(), options);
  EXPECT_FALSE(step.converged);
  EXPECT_DOUBLE_EQ(step.sub_budgets[0], 60);
  options.form = Form::kBestResponse;
  options.tolerance = 1e-12;
  EXPECT_NEAR(run(paper_figure().auction(), options).sub_budgets[0], 62.842, 5e-4);
}

TEST(Abacus, SoleBidderHasExactlyEverything) {
  // b does not want the first resource: a owns it, then stops paying for it.
  Auction auction(2);
  auction.add(90, Utility::linear({1, 2}));
  auction.add(45, Utility::linear({0, 1}));
  const Outcome outcome = run(auction, {});
  EXPECT_EQ(outcome.rounds, 3u);
  EXPECT_EQ(outcome.shares[0], 1.0);
  EXPECT_EQ(outcome.shares[2], 0.0);
  EXPECT_EQ(outcome.sub_budgets[0], 0.0);
}

TEST(Abacus, SoleBidderAmongManyOthersIsStillExact) {
  // Ten thousand others leave the first resource in round one; a running total kept by subtraction
  // would keep some of their rounding.
  Auction auction(2);
  for (int i = 0; i < 10000; ++i) auction.add(0.1 + i, Utility::linear({0, 1}));
  auction.add(1e-9, Utility::linear({5, 1e-3}));
  Options options;
  options.max_rounds = 2;
  const Outcome outcome = run(auction, options);
  EXPECT_EQ(outcome.shares[20000], 1.0);
}

TEST(Abacus, ResourceNobodyBidsForIsDividedAmongThoseWhoWantIt) {
  Auction auction(2);
  auction.add(10, Utility::linear({0, 1}));
  auction.add(10, Utility::linear({0, 3}));
  const Outcome outcome = run(auction, {});
  EXPECT_DOUBLE_EQ(outcome.shares[0], 0.5);
  EXPECT_DOUBLE_EQ(outcome.shares[2], 0.5);
}

TEST(Abacus, WithoutExponentAllSharesAreEqual) {
  Options options;
  options.alpha = 0;
  const PlainMarket market = paper_figure();
  for (double share : run(market.auction(), options).shares) EXPECT_DOUBLE_EQ(share, 1.0 / 3);
}

TEST(Abacus, HugeAndTinyWeightsNeitherOverflowNorVanish) {
  for (const double scale : {1e-300, 1e300}) {
    Auction auction(2);
    auction.add(100, Utility::linear({3 * scale, 2 * scale}));
    auction.add(200, Utility::linear({3, 2}));
    auction.add(150, Utility::linear({2, 4}));
    const Outcome outcome = run(auction, {});
    EXPECT_NEAR(outcome.sub_budgets[0], kFigureBids[0], 1e-4);
  }
}

TEST(Abacus, WarmStartFromTheResultIsDoneAtOnceAndSavesRoundsWhenAJobJoins) {
  std::mt19937_64 random(5);
  std::size_t cold = 0;
  std::size_t warm = 0;
  for (int repeat = 0; repeat < 50; ++repeat) {
    PlainMarket market = random_market(random, 32, 4, Kinds::kLinear, Spread::paper());
    const Outcome before = run(market.auction(), {});
    EXPECT_LE(run(market.auction(), {}, before.sub_budgets).rounds, 1u);
    market.jobs.push_back(random_market(random, 1, 4, Kinds::kLinear, Spread::paper()).jobs[0]);
    std::vector<double> start = before.sub_budgets;
    start.resize(start.size() + 4, 0.0);
    const Outcome from_cold = run(market.auction(), {});
    const Outcome from_warm = run(market.auction(), {}, start);
    cold += from_cold.rounds;
    warm += from_warm.rounds;
    for (std::size_t k = 0; k < from_cold.shares.size(); ++k) {
      ASSERT_NEAR(from_cold.shares[k], from_warm.shares[k], 1e-7);
    }
  }
  RecordProperty("rounds_cold", static_cast<int>(cold));
  RecordProperty("rounds_warm", static_cast<int>(warm));
  EXPECT_LT(warm, cold);
}

TEST(Abacus, WarmStartIsScaledToTheBudget) {
  const PlainMarket market = paper_figure();
  const Outcome cold = run(market.auction(), {});
  std::vector<double> start = cold.sub_budgets;
  for (double& bid : start) bid *= 7;
  EXPECT_EQ(run(market.auction(), {}, start).rounds, 1u);
}

/// Built-in utilities written as sums of concave functions.
Utility as_terms(const PlainJob& job) {
  std::vector<std::vector<ConcaveTerm>> terms;
  for (const double weight : job.weights) {
    if (job.is_log) {
      terms.push_back({{[weight](double s) { return weight * std::log(s); },
                        [weight](double) { return weight; }}});
    } else {
      terms.push_back({{[weight](double s) { return weight / 3 * s; },
                        [weight](double s) { return weight / 3 * s; }},
                       {[weight](double s) { return weight * 2 / 3 * s; },
                        [weight](double s) { return weight * 2 / 3 * s; }}});
    }
  }
  return Utility::concave(std::move(terms));
}

TEST(Abacus, SumsOfConcaveFunctionsAgreeWithLinearAndLog) {
  std::mt19937_64 random(11);
  for (const Form form : {Form::kOneStep, Form::kBestResponse}) {
    const PlainMarket market = random_market(random, 6, 3, Kinds::kMixed, Spread::paper());
    Auction concave(3);
    for (const PlainJob& job : market.jobs) concave.add(job.budget, as_terms(job));
    Options options;
    options.form = form;
    const Outcome expected = run(market.auction(), options);
    const Outcome outcome = run(concave, options);
    for (std::size_t k = 0; k < expected.shares.size(); ++k) {
      EXPECT_NEAR(outcome.shares[k], expected.shares[k], 1e-8);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(outcome.utilities[i], expected.utilities[i], 1e-7);
    }
  }
}

/// Lemma 3: with the others as they are, no other division of the budget is better. Σ √s and
/// ln(1 + 5s) join linear and log. 60 random moves for each of 6 jobs in 40 markets.
TEST(Abacus, NobodyGainsByDividingTheBudgetOtherwise) {
  const ConcaveTerm root{[](double s) { return std::sqrt(s); },
                         [](double s) { return 0.5 * std::sqrt(s); }};
  const ConcaveTerm saturating{[](double s) { return std::log1p(5 * s); },
                               [](double s) { return 5 * s / (1 + 5 * s); }};
  std::mt19937_64 random(3);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const PlainMarket market = random_market(random, 4, 3, Kinds::kMixed, Spread::paper());
    Auction auction = market.auction();
    auction.add(80, Utility::concave({{root}, {root, saturating}, {saturating}}));
    auction.add(120, Utility::concave({{saturating}, {}, {root}}));
    Options options;
    options.form = Form::kBestResponse;
    const Outcome outcome = run(auction, options);
    ASSERT_TRUE(outcome.converged);
    for (std::size_t i = 0; i < 6; ++i) {
      for (int move = 0; move < 60; ++move) {
        std::vector<double> mine(
            outcome.sub_budgets.begin() + static_cast<std::ptrdiff_t>(3 * i),
            outcome.sub_budgets.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
        const std::size_t from = random() % 3;
        const double moved = mine[from] * draw(random, 0, 0.5);
        mine[from] -= moved;
        mine[(from + 1 + random() % 2) % 3] += moved;
        std::vector<double> shares;
        for (std::size_t j = 0; j < 3; ++j) {
          double total = std::sqrt(mine[j]);
          for (std::size_t l = 0; l < 6; ++l) {
            if (l != i) total += std::sqrt(outcome.sub_budgets[3 * l + j]);
          }
          shares.push_back(std::sqrt(mine[j]) / total);
        }
        EXPECT_LE(auction.utility(i, shares), outcome.utilities[i] + 1e-9);
      }
    }
  }
}

/// The fast form against the definition: 100 seeds × 5 markets of 1 to 12 jobs and 1 to 5
/// resources, some weights 0, exponents over 0..0.5.
RC_GTEST_PROP(AbacusProperty, FastFormIsTheDefinition, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::size_t jobs = 1 + random() % 12;
    const std::size_t resources = 1 + random() % 5;
    PlainMarket market = random_market(random, jobs, resources, Kinds::kMixed, Spread::paper());
    for (PlainJob& job : market.jobs) {
      for (double& weight : job.weights) weight = random() % 5 == 0 ? 0 : weight;
      job.weights[random() % resources] += 0.5;
    }
    Options options;
    options.alpha = (random() % 6) * 0.1;
    const Outcome outcome = run(market.auction(), options);
    PlainAuction plain(market, options.alpha);
    const std::size_t rounds = plain.run(options.tolerance, options.max_rounds);
    RC_ASSERT(std::max(rounds, outcome.rounds) - std::min(rounds, outcome.rounds) <= 1u);
    for (std::size_t i = 0; i < jobs; ++i) {
      for (std::size_t j = 0; j < resources; ++j) {
        RC_ASSERT(std::abs(outcome.shares[i * resources + j] - plain.share(i, j)) < 1e-9);
      }
    }
  }
}

/// Shares of a resource add up to 1 and sub-budgets to the budget; 100 markets, any exponent, both
/// forms, converged or not.
RC_GTEST_PROP(AbacusProperty, SharesAndBudgetsAddUp, ()) {
  std::mt19937_64 random(*any_seed());
  const std::size_t jobs = 1 + random() % 20;
  const std::size_t resources = 1 + random() % 5;
  const PlainMarket market = random_market(random, jobs, resources, Kinds::kMixed, Spread::wide());
  Options options;
  options.alpha = uniform(random);
  options.max_rounds = 1 + random() % 30;
  options.form = (random() & 1) != 0 ? Form::kOneStep : Form::kBestResponse;
  const Outcome outcome = run(market.auction(), options);
  for (std::size_t j = 0; j < resources; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < jobs; ++i) sum += outcome.shares[i * resources + j];
    RC_ASSERT(std::abs(sum - 1) < 1e-12);
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    const double* row = &outcome.sub_budgets[i * resources];
    const double sum = std::accumulate(row, row + resources, 0.0);
    RC_ASSERT(std::abs(sum - market.jobs[i].budget) < 1e-12 * market.jobs[i].budget);
  }
}

TEST(Abacus, MillionElementsAreFine) {
  std::mt19937_64 random(1);
  const PlainMarket market = random_market(random, 250000, 4, Kinds::kLinear, Spread::paper());
  const Outcome outcome = run(market.auction(), {});
  EXPECT_TRUE(outcome.converged);
}

}  // namespace
}  // namespace market::abacus
