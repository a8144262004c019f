// SPDX-License-Identifier: GPL-2.0-or-later
// Matchings and competitive prices against all permutations, and against the dual on larger ones.
#include "core/mechanism/assignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/util/seeded_random.h"
#include "core/valuation/job_class.h"

namespace market {
namespace {

/// Best total of matching `rows` into `columns`, every row used; by trying all.
double best_total(const WeightMatrix& weights, const std::vector<std::size_t>& rows,
                  std::vector<std::size_t> columns) {
  double best = -1e300;
  std::sort(columns.begin(), columns.end());
  do {
    double total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) total += weights(rows[i], columns[i]);
    best = std::max(best, total);
  } while (std::next_permutation(columns.begin(), columns.end()));
  return best;
}

std::vector<std::size_t> all_but(std::size_t size, std::size_t left_out) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < size; ++i) {
    if (i != left_out) kept.push_back(i);
  }
  return kept;
}

/// Whole numbers make many ties; `levels` different ones.
WeightMatrix random_weights(std::size_t size, std::uint64_t levels, SeededRandom* random) {
  WeightMatrix weights(size);
  for (std::size_t row = 0; row < size; ++row) {
    for (double& weight : weights.row(row)) weight = static_cast<double>(random->below(levels));
  }
  return weights;
}

WeightMatrix sigmoid_weights(std::size_t size, SeededRandom* random) {
  std::vector<double> times(size);
  for (double& time : times) time = 50.0 * static_cast<double>(random->below(100));
  WeightMatrix weights(size);
  for (std::size_t row = 0; row < size; ++row) {
    const double drop = random->uniform(0, 4000), zero = drop + random->uniform(10, 2000);
    for (std::size_t column = 0; column < size; ++column) {
      weights(row, column) = sigmoid_value(100, drop, zero, times[column]);
    }
  }
  return weights;
}

/// The matching is a permutation and no dual inequality is broken: that proves it best.
void expect_proved_best(const WeightMatrix& weights, const Assignment& best) {
  std::vector<std::uint32_t> columns = best.column_of_row;
  std::sort(columns.begin(), columns.end());
  for (std::uint32_t k = 0; k < columns.size(); ++k) ASSERT_EQ(columns[k], k);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::size_t own = best.column_of_row[row];
    const double profit = weights(row, own) - best.column_price[own];
    for (std::size_t k = 0; k < weights.size(); ++k) {
      ASSERT_LE(weights(row, k) - best.column_price[k], profit + 1e-7);
    }
  }
}

RC_GTEST_PROP(AssignmentProperty, TotalAndPricesEqualThoseOfAllPermutations, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 7));
  const WeightMatrix weights =
      random_weights(size, *rc::gen::element<std::uint64_t>(2, 10, 1'000'000), &random);
  const Assignment best = maximum_weight_assignment(weights);
  std::vector<std::size_t> everyone(size);
  std::iota(everyone.begin(), everyone.end(), 0);
  const double total = best_total(weights, everyone, everyone);
  RC_ASSERT(std::abs(best.total - total) <= 1e-9 * std::max(1.0, total));

  const std::vector<double> prices = minimum_competitive_prices(weights, best);
  for (std::size_t row = 0; row < size; ++row) {
    const std::size_t own = best.column_of_row[row];
    // Eq. (1): with the row gone every column is there for the others, and then its own is not.
    double without = -1e300;
    for (std::size_t spare = 0; spare < size; ++spare) {
      without = std::max(without, best_total(weights, all_but(size, row), all_but(size, spare)));
    }
    if (size == 1) without = 0;
    const double price = without - (total - weights(row, own));
    RC_ASSERT(std::abs(prices[own] - price) <= 1e-6 * std::max(1.0, total));
  }
}

TEST(Assignment, IsProvedBestOnLargerMatrices) {
  SeededRandom random(11);
  for (const std::size_t size : {50U, 150U, 300U}) {
    for (const std::uint64_t levels : {2U, 20U, 1'000'000'000U}) {
      const WeightMatrix weights = random_weights(size, levels, &random);
      expect_proved_best(weights, maximum_weight_assignment(weights));
    }
    const WeightMatrix sigmoids = sigmoid_weights(size, &random);
    expect_proved_best(sigmoids, maximum_weight_assignment(sigmoids));
  }
}

TEST(Assignment, HandlesEqualWeightsAndOneRow) {
  WeightMatrix one(1);
  one(0, 0) = 7;
  const Assignment alone = maximum_weight_assignment(one);
  EXPECT_EQ(alone.total, 7);
  EXPECT_EQ(minimum_competitive_prices(one, alone), std::vector<double>{0});

  WeightMatrix equal(40);
  for (std::size_t row = 0; row < 40; ++row) {
    for (double& weight : equal.row(row)) weight = 3;
  }
  const Assignment tied = maximum_weight_assignment(equal);
  EXPECT_DOUBLE_EQ(tied.total, 120);
  for (const double price : minimum_competitive_prices(equal, tied)) EXPECT_NEAR(price, 0, 1e-9);
}

}  // namespace
}  // namespace market
