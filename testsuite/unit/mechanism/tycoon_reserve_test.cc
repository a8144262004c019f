// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_reserve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "core/mechanism/abacus_draw.h"
#include "core/mechanism/tycoon_allocate.h"
#include "testsuite/unit/mechanism/seeds.h"

namespace market::tycoon {
namespace {

TEST(TycoonReserve, BidGivesTheAmountWhenTheOthersStay) {
  const auto reserved = reserve({.capacity = 1000, .amount = 250, .others = 6});
  ASSERT_TRUE(reserved.has_value());
  EXPECT_DOUBLE_EQ(reserved->bid, 2);
  EXPECT_FALSE(reserved->quantile.has_value());
  const auto period = allocate({.capacity = 1000}, {{reserved->bid, 1}, {6, 1}});
  ASSERT_TRUE(period.has_value());
  EXPECT_DOUBLE_EQ(period->grants[0].allocation, 250);
}

TEST(TycoonReserve, HistoryRaisesTheBidNeverLowersIt) {
  WantedAmount wanted{
      .capacity = 1000, .amount = 500, .others = 30, .history = {2, 4, 6, 8}, .confidence = 0.75};
  EXPECT_DOUBLE_EQ(reserve(wanted)->bid, 30);
  wanted.others = 1;
  EXPECT_DOUBLE_EQ(reserve(wanted)->bid, 6);
  EXPECT_DOUBLE_EQ(reserve(wanted)->coverage.value(), 0.75);
}

TEST(TycoonReserve, NinetyPerCentOfTenIsNine) {
  WantedAmount wanted{.capacity = 2, .amount = 1, .others = 0, .confidence = 0.9};
  for (int k = 10; k > 0; --k) wanted.history.push_back(k);
  EXPECT_DOUBLE_EQ(reserve(wanted)->quantile.value(), 9);
  wanted.confidence = 1e-12;
  EXPECT_DOUBLE_EQ(reserve(wanted)->quantile.value(), 1);
  wanted.confidence = 1;
  EXPECT_DOUBLE_EQ(reserve(wanted)->quantile.value(), 10);
}

TEST(TycoonReserve, RefusesABidBeyondDoubles) {
  EXPECT_FALSE(reserve({.capacity = 1, .amount = 0.9999, .others = 1e308}));
}

TEST(TycoonReserve, HistoryForgetsTheOldest) {
  BidHistory history(3);
  for (int k = 1; k <= 5; ++k) history.record(k);
  EXPECT_EQ(history.values(), (std::vector<double>{3, 4, 5}));
}

/// 100 seeds × 20 histories with ties: the bid suffices in at least the wanted part of the past,
/// and the recorded value just below the quantile would not have.
RC_GTEST_PROP(TycoonReserveProperty, CoversTheWantedPart, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    WantedAmount wanted{.capacity = 10, .amount = 4, .others = 0};
    const std::size_t count = 1 + random() % 30;
    for (std::size_t k = 0; k < count; ++k) {
      wanted.history.push_back(static_cast<double>(random() % 10));
    }
    wanted.confidence = abacus::uniform(random);
    const auto reserved = reserve(wanted);
    RC_ASSERT(reserved.has_value());
    RC_ASSERT(reserved->coverage.value() >= wanted.confidence - 1e-9);
    const auto below = std::count_if(wanted.history.begin(), wanted.history.end(),
                                     [&](double b) { return b < reserved->quantile.value(); });
    RC_ASSERT(static_cast<double>(below) < wanted.confidence * static_cast<double>(count));
  }
}

}  // namespace
}  // namespace market::tycoon
