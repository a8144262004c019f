// SPDX-License-Identifier: GPL-2.0-or-later
// What the paper proves of Abacus: convergence, and monotone in the budget. What it measures is in
// testsuite/papers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testsuite/unit/mechanism/abacus_markets.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::abacus {
namespace {

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

/// Lemma 4: 100 seeds × 20 markets, any exponent up to 0.8 (above it wide markets can have several
/// equilibria, see below), both ranges; the budget of one job grows by 1 % to a factor e, all
/// others answer. Pairs of which one cycles are skipped.
RC_GTEST_PROP(AbacusProperty, MoreBudgetNeverMeansLessUtility, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    PlainMarket market = random_market(random, 2 + random() % 5, 1 + random() % 4, Kinds::kMixed,
                                       (random() & 1) != 0 ? Spread::wide() : Spread::paper());
    Options options = exact();
    options.alpha = draw(random, 0.1, 0.8);
    const Outcome before = run(market.auction(), options);
    market.jobs[0].budget *= std::exp(draw(random, 0.01, 1));
    const Outcome after = run(market.auction(), options);
    if (!before.converged || !after.converged) continue;
    RC_ASSERT(relative_gain(market.jobs[0], before.utilities[0], after.utilities[0]) > -1e-8);
  }
}

/// Lemma 4 does not hold of every exponent: near 1 a market can rest in more than one place, and a
/// little more money may tip it into a worse one (about one wide market in a million above 0.85;
/// none was seen below). Both places are checked against the definition: nobody there moves.
TEST(AbacusProperty, NearOneMoreBudgetCanTipAMarketIntoAWorseEquilibrium) {
  PlainMarket market;
  market.jobs = {{4.25, false, {1.4, 0.056}}, {4, true, {0.033, 63}}};
  Options options = exact();
  options.alpha = 0.9;
  std::vector<double> utilities;
  for (const double budget : {4.25, 5.0}) {
    market.jobs[0].budget = budget;
    const Outcome outcome = run(market.auction(), options);
    ASSERT_TRUE(outcome.converged);
    PlainAuction rest(market, options.alpha);
    for (std::size_t i = 0; i < 4; ++i) rest.bids[i / 2][i % 2] = outcome.sub_budgets[i];
    EXPECT_LT(rest.round(), 1e-8);
    utilities.push_back(outcome.utilities[0]);
  }
  EXPECT_NEAR(utilities[1] / utilities[0] - 1, -0.28, 0.01);
}

}  // namespace
}  // namespace market::abacus
