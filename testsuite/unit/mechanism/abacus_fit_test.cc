// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "testsuite/unit/mechanism/abacus_markets.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::abacus {
namespace {

TEST(AbacusFit, RecoversTheWeightsOfExactObservations) {
  const auto fit = fit_utility(UtilityKind::kLinear, {{{0.25, 0.5}, 1.75}, {{0.5, 0.25}, 2}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->weights[0], 3, 1e-12);
  EXPECT_NEAR(fit->weights[1], 2, 1e-12);
}

TEST(AbacusFit, ClippedWeightIsExactlyZero) {
  const auto fit =
      fit_utility(UtilityKind::kLinear, {{{0.5, 0.5}, 1}, {{0.25, 0.75}, 0.25}, {{0.75, 0.25}, 2}});
  ASSERT_TRUE(fit.has_value());
  // By hand: Σ x u / Σ x² of the first column alone.
  EXPECT_NEAR(fit->weights[0], 2.0625 / 0.875, 1e-12);
  EXPECT_EQ(fit->weights[1], 0.0);
  EXPECT_NEAR(fit->rss, 5.0625 - 2.0625 * 2.0625 / 0.875, 1e-12);
}

TEST(AbacusFit, NegativeUtilitiesGiveNoLinearWeights) {
  const auto fit = fit_utility(UtilityKind::kLinear, {{{0.5, 0.1}, -1}, {{0.2, 0.7}, -2}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->weights, (std::vector<double>{0, 0}));
  EXPECT_DOUBLE_EQ(fit->rss, 5);
}

TEST(AbacusFit, RefusesWhatDoesNotTellTheResourcesApart) {
  EXPECT_FALSE(fit_utility(UtilityKind::kLinear, {{{0.2, 0.4}, 1}, {{0.1, 0.2}, 0.6}}));
  EXPECT_FALSE(fit_utility(UtilityKind::kLinear, {{{0.2, 0.4}, 1}}));
  EXPECT_FALSE(fit_utility(UtilityKind::kLinear, {{{0, 0}, 1}, {{0, 0}, 1}}));
  EXPECT_FALSE(fit_utility(UtilityKind::kLog, {{{1, 0.5}, 1}, {{1, 0.25}, 1}}));
  EXPECT_FALSE(fit_utility(UtilityKind::kLog, {{{0, 0.5}, 1}, {{1, 0.25}, 1}}));
  EXPECT_FALSE(fit_utility(UtilityKind::kLinear, {}));
}

/// 100 seeds × 20 problems of 1 to 6 columns and up to 40 rows, half of them with true weights of
/// both signs so that bounds bind: the conditions of Karush, Kuhn and Tucker, which are sufficient
/// because the problem is convex.
RC_GTEST_PROP(AbacusFitProperty, MeetsTheOptimalityConditions, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::size_t columns = 1 + random() % 6;
    const std::size_t rows = columns + 2 + random() % 33;
    std::vector<double> truth;
    for (std::size_t j = 0; j < columns; ++j) {
      truth.push_back(draw(random, repeat % 2 == 0 ? -3 : 0.1, 3));
    }
    std::vector<double> matrix(rows * columns);
    std::vector<double> target(rows);
    for (double& value : matrix) value = uniform(random);
    for (std::size_t l = 0; l < rows; ++l) {
      for (std::size_t j = 0; j < columns; ++j) target[l] += truth[j] * matrix[j * rows + l];
      target[l] += draw(random, -0.3, 0.3);
    }
    const auto fit = fit_non_negative(matrix, target);
    RC_ASSERT(fit.has_value());
    for (std::size_t j = 0; j < columns; ++j) {
      double slope = 0;
      for (std::size_t l = 0; l < rows; ++l) {
        double residual = target[l];
        for (std::size_t k = 0; k < columns; ++k) {
          residual -= fit->weights[k] * matrix[k * rows + l];
        }
        slope += residual * matrix[j * rows + l];
      }
      RC_ASSERT(fit->weights[j] >= 0);
      RC_ASSERT(slope < 1e-9);
      if (fit->weights[j] > 0) RC_ASSERT(std::abs(slope) < 1e-9);
    }
  }
}

TEST(AbacusFit, MillionElements) {
  std::mt19937_64 random(2);
  std::vector<double> matrix(1000000);
  std::vector<double> target(250000);
  for (double& value : matrix) value = uniform(random);
  for (std::size_t l = 0; l < target.size(); ++l) {
    target[l] = 2 * matrix[l] + 3 * matrix[target.size() + l] + draw(random, -1, 1);
  }
  const auto fit = fit_non_negative(matrix, target);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->weights[0], 2, 0.02);
  EXPECT_NEAR(fit->weights[1], 3, 0.02);
  EXPECT_LT(fit->weights[2], 0.02);
}

}  // namespace
}  // namespace market::abacus
