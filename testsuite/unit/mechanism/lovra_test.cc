// SPDX-License-Identifier: GPL-2.0-or-later
// LOVRA against the conditions of Karush, Kuhn and Tucker (eq. 25).
#include "core/mechanism/lovra.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "core/util/seeded_random.h"

namespace market {
namespace {

TEST(Lovra, SolvesTheHandWorkedExample) {
  // √(l b) = 2, 3; budget 20 would give 8 and 12; both are clipped to 4 and 6.
  const std::vector<double> workload = {4, 9}, demand = {1, 1}, prices = {1, 1}, available = {4, 6};
  std::vector<double> shares(2);
  LovraShares result;
  ASSERT_TRUE(lovra({20, workload, demand, prices, available}, shares, &result));
  EXPECT_EQ(shares, (std::vector<double>{4, 6}));
  EXPECT_DOUBLE_EQ(result.payment_unit, 10);
  EXPECT_DOUBLE_EQ(result.execution_time, 2.5);
  EXPECT_DOUBLE_EQ(result.payment, 25);
  EXPECT_TRUE(result.meets_demand);
}

TEST(Lovra, KnowsWhenANodeDoesNotQualify) {
  const std::vector<double> workload = {4, 0}, demand = {1, 2}, prices = {1, 3}, available = {4, 6};
  std::vector<double> shares(2);
  LovraShares result;
  EXPECT_FALSE(lovra({5, workload, demand, prices, available}, shares, &result)) << "space costs 6";
  EXPECT_FALSE(lovra({6, workload, demand, prices, available}, shares, &result)) << "nothing left";
  ASSERT_TRUE(lovra({7, workload, demand, prices, available}, shares, &result));
  EXPECT_EQ(shares, (std::vector<double>{1, 2}));
  const std::vector<double> too_much = {5, 2};
  EXPECT_FALSE(lovra({7, workload, too_much, prices, available}, shares, &result));
}

TEST(Lovra, ANodeThatIsFreeButNeverFinishesDoesNotQualify) {
  const std::vector<double> workload = {1e300}, demand = {0}, prices = {0}, available = {1e-300};
  std::vector<double> shares(1);
  LovraShares result;
  EXPECT_FALSE(lovra({1, workload, demand, prices, available}, shares, &result)) << "0 times inf";
}

RC_GTEST_PROP(LovraProperty, SatisfiesKarushKuhnTucker, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 7));
  std::vector<double> workload(size), demand(size, 0.0), prices(size), available(size), r(size);
  for (std::size_t k = 0; k < size; ++k) {
    workload[k] = random.uniform(0.1, 10);
    prices[k] = random.uniform(0.1, 10);
    available[k] = random.uniform(0.1, 10);
  }
  const double budget = random.uniform(0.1, 100);
  LovraShares result;
  RC_ASSERT(lovra({budget, workload, demand, prices, available}, r, &result));
  double spent = 0, lambda = 0;
  bool any_open = false;
  for (std::size_t k = 0; k < size; ++k) {
    RC_ASSERT(r[k] <= available[k]);
    spent += prices[k] * r[k];
    if (r[k] < available[k]) {
      lambda = workload[k] / (r[k] * r[k] * prices[k]);
      any_open = true;
    }
  }
  RC_ASSERT(spent <= budget * (1 + 1e-12));
  if (any_open) RC_ASSERT(std::abs(spent - budget) <= 1e-9 * budget);
  for (std::size_t k = 0; k < size; ++k) {
    // −l/r² + λ b + ν = 0 with ν >= 0, and ν = 0 where r < a.
    const double nu = workload[k] / (r[k] * r[k]) - lambda * prices[k];
    RC_ASSERT(nu >= -1e-9 * workload[k] / (r[k] * r[k]));
    if (r[k] < available[k]) RC_ASSERT(std::abs(nu) <= 1e-9 * workload[k] / (r[k] * r[k]));
  }
}

}  // namespace
}  // namespace market
