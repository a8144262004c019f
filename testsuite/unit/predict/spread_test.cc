// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/spread.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

namespace market {
namespace {

// The paper's example: 10 cores for 5 minutes in a window of 50 are 1 core in each of the 50
// minutes.
TEST(SpreadPredictor, TenCoresForFiveMinutesInFifty) {
  SpreadPredictor predictor(60);
  const PastDemand demand{.begin = 3, .end = 53, .duration = 5, .width = 10, .price = 2};
  predictor.learn(std::span(&demand, 1), 1);
  EXPECT_TRUE(predictor.curve(2).empty());
  for (std::size_t slot = 3; slot < 53; ++slot) {
    ASSERT_EQ(predictor.curve(slot).size(), 1U);
    EXPECT_DOUBLE_EQ(predictor.curve(slot)[0].quantity, 1);
    EXPECT_EQ(predictor.curve(slot)[0].price, 2);
  }
  EXPECT_TRUE(predictor.curve(53).empty());
}

// The paper's day and night: high values by day only, medium and low ones at any time.
TEST(SpreadPredictor, DayAndNight) {
  SpreadPredictor predictor(4);
  const PastDemand demands[] = {{0, 2, 2, 10, 3}, {0, 4, 2, 10, 2}, {0, 4, 2, 10, 1}};
  predictor.learn(demands, 1);
  EXPECT_EQ(predictor.curve(0), (DemandCurve{{10, 3}, {5, 2}, {5, 1}}));
  EXPECT_EQ(predictor.curve(3), (DemandCurve{{5, 2}, {5, 1}}));
}

TEST(SpreadPredictor, FoldsAndAveragesOverTheCyclesCovered) {
  SpreadPredictor predictor(3);
  const PastDemand demands[] = {{-1, 0, 1, 4, 5}, {2, 3, 1, 2, 5}, {5, 6, 1, 6, 1}};
  predictor.learn(demands, 3);
  EXPECT_TRUE(predictor.curve(0).empty());
  EXPECT_EQ(predictor.curve(2), (DemandCurve{{2, 5}, {2, 1}}));
}

TEST(SpreadPredictor, SlotsUsedInPartCountInPart) {
  SpreadPredictor predictor(3);
  const PastDemand demand{.begin = 0.5, .end = 2.5, .duration = 1, .width = 8, .price = 1};
  predictor.learn(std::span(&demand, 1), 1);
  EXPECT_EQ(predictor.curve(0), (DemandCurve{{2, 1}}));
  EXPECT_EQ(predictor.curve(1), (DemandCurve{{4, 1}}));
  EXPECT_EQ(predictor.curve(2), (DemandCurve{{2, 1}}));
}

std::vector<PastDemand> random_demands() {
  std::vector<PastDemand> demands;
  for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
    const double begin = *rc::gen::inRange(-200, 200) / 8.0;
    demands.push_back({.begin = begin,
                       .end = begin + *rc::gen::inRange(1, 100) / 8.0,
                       .duration = *rc::gen::inRange(1, 20) / 4.0,
                       .width = static_cast<double>(*rc::gen::inRange(1, 50)),
                       .price = static_cast<double>(*rc::gen::inRange(0, 12))});
  }
  return demands;
}

struct Sums {
  double units = 0;
  double value = 0;
};

Sums sums_of(const std::vector<PastDemand>& demands) {
  Sums sums;
  for (const PastDemand& demand : demands) {
    sums.units += demand.width * demand.duration;
    sums.value += demand.width * demand.duration * demand.price;
  }
  return sums;
}

RC_GTEST_PROP(SpreadPredictor, KeepsUnitsAndValueAndOrdersPrices, ()) {
  const auto slots = static_cast<std::size_t>(*rc::gen::inRange(1, 12));
  const auto demands = random_demands();
  SpreadPredictor predictor(slots);
  predictor.learn(demands, 2);
  Sums learned;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    double last = std::numeric_limits<double>::infinity();
    for (const DemandStep& step : predictor.curve(slot)) {
      RC_ASSERT(step.price < last);
      last = step.price;
      learned.units += step.quantity;
      learned.value += step.quantity * step.price;
    }
  }
  const Sums all = sums_of(demands);
  RC_ASSERT(std::abs(2 * learned.units - all.units) < 1e-6 * all.units);
  RC_ASSERT(std::abs(2 * learned.value - all.value) <= 1e-6 * (all.value + all.units));
}

RC_GTEST_PROP(MergePrices, KeepsTheValueAndTheOrderWithFewPrices, ()) {
  auto demands = random_demands();
  const auto before = demands;
  const auto levels = static_cast<std::size_t>(*rc::gen::inRange(1, 15));
  merge_prices(demands, levels);
  std::set<double> prices;
  for (const PastDemand& demand : demands) prices.insert(demand.price);
  RC_ASSERT(prices.size() <= std::max(levels, std::size_t{1}));
  RC_ASSERT(std::abs(sums_of(demands).value - sums_of(before).value) <=
            1e-9 * (1 + sums_of(before).value));
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (std::size_t j = 0; j < demands.size(); ++j) {
      if (before[i].price < before[j].price)
        RC_ASSERT(demands[i].price <= demands[j].price + 1e-12);
    }
  }
}

}  // namespace
}  // namespace market
