// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_funding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "testsuite/unit/mechanism/seeds.h"

namespace market::tycoon {
namespace {

Money micro(std::int64_t amount) {
  return Money::from_micro(amount);
}

TEST(TycoonFunding, OpenLoopPaysIncomeAndCollectsTakings) {
  OpenLoopFunding funding("treasury");
  ASSERT_TRUE(funding.set_income("ann", micro(86400), 0).has_value());
  ASSERT_TRUE(funding.set_income("bob", micro(0), 0).has_value());
  const auto paid = funding.pay(100);
  ASSERT_EQ(paid.size(), 1u);
  EXPECT_EQ(paid[0].from, "treasury");
  EXPECT_EQ(paid[0].to, "ann");
  EXPECT_EQ(paid[0].amount, micro(100));
  EXPECT_TRUE(funding.pay(100).empty());
  const auto collected = funding.collect({{"host1", micro(7)}, {"host2", micro(0)}});
  ASSERT_EQ(collected.size(), 1u);
  EXPECT_EQ(collected[0].to, "treasury");
  EXPECT_FALSE(funding.set_income("ann", micro(-1), 5));
}

/// 100 seeds: however often income is paid, and when the rate changes on the way, the sum is the
/// income of the whole time, rounded once for each rate.
RC_GTEST_PROP(TycoonFundingProperty, IncomeDoesNotDependOnHowOftenItIsPaid, ()) {
  std::mt19937_64 random(*any_seed());
  OpenLoopFunding often("t");
  OpenLoopFunding once("t");
  std::int64_t now = 0;
  Money sum;
  for (int change = 0; change < 3; ++change) {
    const Money per_day = micro(static_cast<std::int64_t>(random() % 5000000));
    RC_ASSERT(often.set_income("u", per_day, now).has_value());
    RC_ASSERT(once.set_income("u", per_day, now).has_value());
    for (int k = 0; k < 50; ++k) {
      now += static_cast<std::int64_t>(random() % 20);
      for (const FundTransfer& transfer : often.pay(now)) sum += transfer.amount;
    }
  }
  Money at_once;
  for (const FundTransfer& transfer : once.pay(now)) at_once += transfer.amount;
  RC_ASSERT(sum == at_once);
}

TEST(TycoonFunding, ClosedLoopAllotsOnceThenOnlyEarnings) {
  ClosedLoopFunding funding("treasury", micro(50));
  EXPECT_EQ(funding.join("ann")->amount, micro(50));
  EXPECT_FALSE(funding.join("ann"));
  EXPECT_FALSE(funding.pay("ann", "bob", micro(1)));
  EXPECT_FALSE(funding.pay("bob", "ann", micro(1)));
  ASSERT_TRUE(funding.join("bob").has_value());
  const auto paid = funding.pay("ann", "bob", micro(20));
  ASSERT_TRUE(paid.has_value());
  EXPECT_EQ(paid->to, "bob");
  EXPECT_FALSE(funding.pay("ann", "bob", micro(-1)));
}

}  // namespace
}  // namespace market::tycoon
