// SPDX-License-Identifier: GPL-2.0-or-later
// LOVRA in whole units, against lovra() and against every whole size there is.
#include "core/mechanism/lovra_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "core/util/seeded_random.h"

namespace market {
namespace {

struct Sized {
  bool qualifies = false;
  std::vector<double> shares;
  LovraShares result;
};

Sized in_steps(double budget, const std::vector<double>& workload,
               const std::vector<double>& demand, const std::vector<double>& prices,
               const std::vector<double>& available, std::vector<double> steps = {}) {
  if (steps.empty()) steps.assign(workload.size(), 1.0);
  Sized sized{false, std::vector<double>(workload.size()), {}};
  sized.qualifies = lovra_in_steps({budget, workload, demand, prices, available}, steps,
                                   sized.shares, &sized.result);
  return sized;
}

constexpr double kSecond = 1.0 / 3600;  // of an hour

// 960 CPU-seconds for 800 an hour at 100, 200, 300, 400 for a CPU-hour: 8, 4, 2.67 and 2 CPUs, for
// 26.67, 53.33, 80 and 106.67 in all; of the third one whole CPUs are 2.
TEST(LovraSteps, SizesTheHandWorkedExample) {
  const double shares[] = {8, 4, 2, 2}, exact[] = {8, 4, 8.0 / 3, 2};
  for (int i = 0; i < 4; ++i) {
    const double price = 100.0 * (i + 1) * kSecond;
    const Sized sized = in_steps(800 * kSecond, {960}, {1}, {price}, {16});
    ASSERT_TRUE(sized.qualifies);
    EXPECT_DOUBLE_EQ(sized.shares[0], shares[i]);
    EXPECT_DOUBLE_EQ(sized.result.execution_time, 960 / shares[i]);
    EXPECT_NEAR(sized.result.payment, 80.0 / 3 * (i + 1), 1e-9);
    std::vector<double> r(1);
    LovraShares free;
    const std::vector<double> workload{960}, demand{1}, prices{price}, available{16};
    ASSERT_TRUE(lovra({800 * kSecond, workload, demand, prices, available}, r, &free));
    EXPECT_NEAR(r[0], exact[i], 1e-9);
    EXPECT_NEAR(free.payment, sized.result.payment, 1e-9);
  }
}

// √(l b) = 2 and 3, budget 12: 4.8 and 7.2 are cut to 4 and 7, and 1 is left. One more of the first
// saves 4/4 − 4/5 = 0.2, of the second 9/7 − 9/8 = 0.16.
TEST(LovraSteps, TheRestGoesWhereItSavesMost) {
  const Sized sized = in_steps(12, {4, 9}, {1, 1}, {1, 1}, {20, 20});
  ASSERT_TRUE(sized.qualifies);
  EXPECT_EQ(sized.shares, (std::vector<double>{5, 7}));
  EXPECT_DOUBLE_EQ(sized.result.payment_unit, 12);
}

TEST(LovraSteps, GrowsByStepsFromTheDemand) {
  const Sized sized = in_steps(11, {100}, {3}, {1}, {20}, {4});
  ASSERT_TRUE(sized.qualifies);
  EXPECT_EQ(sized.shares, std::vector<double>{11});
  EXPECT_EQ(in_steps(10.9, {100}, {3}, {1}, {20}, {4}).shares, std::vector<double>{7});
}

TEST(LovraSteps, WhatCostsNothingDoesNotGrow) {
  const Sized sized = in_steps(10, {4, 9}, {1, 2}, {1, 0}, {20, 20});
  ASSERT_TRUE(sized.qualifies);
  EXPECT_EQ(sized.shares, (std::vector<double>{10, 2}));
}

TEST(LovraSteps, LessThanTheDemandDoesNotQualify) {
  EXPECT_FALSE(in_steps(3, {4}, {4}, {1}, {20}).qualifies);
  EXPECT_TRUE(in_steps(4, {4}, {4}, {1}, {20}).qualifies);
  EXPECT_FALSE(in_steps(100, {4}, {4}, {1}, {3}).qualifies) << "no room";
}

// One good: no whole size within budget and room is faster. Several: within both, and no single
// step more could be paid.
RC_GTEST_PROP(LovraStepsProperty, LeavesNoStepUnbought, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const std::size_t size = 1 + random.below(3);
  std::vector<double> workload, demand, prices, available;
  for (std::size_t k = 0; k < size; ++k) {
    workload.push_back(k == 0 ? random.uniform(1, 1000) : random.uniform(0, 1000));
    demand.push_back(static_cast<double>(1 + random.below(3)));
    prices.push_back(random.uniform(0.1, 3));
    available.push_back(demand[k] + static_cast<double>(random.below(20)));
  }
  const double budget = random.uniform(1, 60);
  const Sized sized = in_steps(budget, workload, demand, prices, available);
  if (!sized.qualifies) return;
  double cost = 0;
  for (std::size_t k = 0; k < size; ++k) {
    RC_ASSERT(sized.shares[k] >= demand[k]);
    RC_ASSERT(sized.shares[k] <= available[k]);
    RC_ASSERT(sized.shares[k] == static_cast<double>(static_cast<int>(sized.shares[k])));
    cost += sized.shares[k] * prices[k];
  }
  RC_ASSERT(cost <= budget * (1 + 1e-9));
  for (std::size_t k = 0; k < size; ++k) {
    if (workload[k] > 0 && sized.shares[k] + 1 <= available[k])
      RC_ASSERT(cost + prices[k] > budget * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace market
