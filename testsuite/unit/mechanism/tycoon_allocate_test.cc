// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_allocate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "core/mechanism/abacus_draw.h"
#include "testsuite/unit/mechanism/seeds.h"
#include "testsuite/unit/mechanism/tycoon_plain.h"

namespace market::tycoon {
namespace {

using abacus::uniform;

TEST(TycoonAllocate, PaysForWhatIsUsedAndNeverMoreThanTheBid) {
  const auto period = allocate({.capacity = 100}, {{60, 100, 30}, {20, 100, 5}, {10, 50, 90}});
  ASSERT_TRUE(period.has_value());
  EXPECT_DOUBLE_EQ(period->grants[0].charge_rate, 0.3);
  EXPECT_DOUBLE_EQ(period->grants[1].charge_rate, 0.05);
  EXPECT_DOUBLE_EQ(period->grants[2].charge_rate, 0.2);
  EXPECT_DOUBLE_EQ(period->spent_rate, 0.55);
  EXPECT_DOUBLE_EQ(period->grants[0].balance, 57);
}

TEST(TycoonAllocate, EvictionRescuesWhoIsLargeEnoughOfWhatIsLeft) {
  const auto period =
      allocate({.capacity = 12, .min_share = 0.1}, {{100, 10}, {11.6, 10}, {5, 10}});
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->evicted, (std::vector<std::size_t>{2}));
}

TEST(TycoonAllocate, EqualSmallestGoLatestFirstAndZeroBidsAreNoShare) {
  const auto small =
      allocate({.capacity = 1, .min_share = 0.3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->evicted, (std::vector<std::size_t>{4, 3}));
  const auto zeros = allocate({.capacity = 1}, {{0, 1}, {0, 1}});
  ASSERT_TRUE(zeros.has_value());
  EXPECT_EQ(zeros->evicted, (std::vector<std::size_t>{1, 0}));
  const auto kept = allocate({.capacity = 1, .min_share = 0}, {{0, 1}, {0, 1}});
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->grants.size(), 2u);
  EXPECT_EQ(kept->grants[0].allocation, 0);
}

TEST(TycoonAllocate, NobodyAtAll) {
  const auto period = allocate({.capacity = 1}, {});
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->total_bid, 0);
}

TEST(TycoonAllocate, RefusesBidsBeyondDoubles) {
  EXPECT_FALSE(allocate({.capacity = 1}, {{1e308, 1e-10}}));
  EXPECT_FALSE(allocate({.capacity = 1}, {{1.7e308, 1}, {1.7e308, 1}}));
}

/// 100 seeds × 10 intervals, periods and lengths: the decay to 1e-9 of the formula.
RC_GTEST_PROP(TycoonAllocateProperty, DecayFormula, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 10; ++repeat) {
    const double interval = 20 + 10000 * uniform(random);
    const double length = interval * (0.001 + 0.5 * uniform(random));
    const int periods = 1 + static_cast<int>(random() % 200);
    Account account{100, interval};
    for (int k = 0; k < periods; ++k) {
      account.balance = allocate({.capacity = 7, .period = length}, {account})->grants[0].balance;
    }
    const double expected = 100 * std::pow(1 - length / interval, periods);
    RC_ASSERT(std::abs(account.balance / expected - 1) < 1e-9);
  }
}

/// 100 seeds × 20 sets of up to 60 accounts, bids over ten decades, often equal, least shares up to
/// one half: evictions in the very order of the rule.
RC_GTEST_PROP(TycoonAllocateProperty, EvictionIsTheDefinition, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::size_t count = random() % 60;
    std::vector<Account> accounts;
    std::vector<double> bids;
    for (std::size_t i = 0; i < count; ++i) {
      double bid = std::pow(10, std::floor(uniform(random) * 10) / (1 + repeat % 3));
      if (random() % 8 == 0) bid = 0;
      accounts.push_back({bid, 1});
      bids.push_back(bid);
    }
    const double min_share = repeat % 4 == 0 ? 0.001 : uniform(random) / 2;
    const auto period = allocate({.capacity = 3, .min_share = min_share}, accounts);
    RC_ASSERT(period.has_value());
    RC_ASSERT(period->evicted == plain_eviction(bids, min_share));
  }
}

TEST(TycoonAllocate, ShareExactlyAtTheLimitStays) {
  // 0.001 of the sum to the last bit, whatever the order of summation does to it.
  const std::vector<Account> thousand(1000, Account{0.1, 1});
  const auto period = allocate({.capacity = 1}, thousand);
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->evicted, plain_eviction(std::vector<double>(1000, 0.1), 0.001));
}

/// 100 seeds: allocations add up to the capacity, charges are at most the bids, who uses all pays
/// the same per unit, and what left the balances is what was spent.
RC_GTEST_PROP(TycoonAllocateProperty, FairAndBalanced, ()) {
  std::mt19937_64 random(*any_seed());
  std::vector<Account> accounts;
  for (std::size_t i = 0; i < 1 + random() % 40; ++i) {
    Account account{100 * uniform(random), 100 + 1000 * uniform(random)};
    if ((random() & 1) != 0) account.used = 20 * uniform(random);
    accounts.push_back(account);
  }
  const Host host{.capacity = 64};
  const auto period = allocate(host, accounts);
  RC_ASSERT(period.has_value());
  double allocated = 0;
  double paid = 0;
  for (const Grant& grant : period->grants) {
    allocated += grant.allocation;
    paid += accounts[grant.account].balance - grant.balance;
    RC_ASSERT(grant.charge_rate <= grant.bid);
    RC_ASSERT(std::abs(grant.bid / grant.allocation * host.capacity / period->total_bid - 1) <
              1e-12);
  }
  RC_ASSERT(std::abs(allocated - host.capacity) < 1e-9);
  RC_ASSERT(std::abs(paid - period->spent_rate * host.period) < 1e-9);
}

TEST(TycoonAllocate, MillionAccountsMostlyEvictedAreNotQuadratic) {
  std::vector<Account> accounts;
  std::mt19937_64 random(8);
  for (int i = 0; i < 1000000; ++i) accounts.push_back({100 * uniform(random), 1000});
  const auto period = allocate({.capacity = 1, .min_share = 1e-5}, accounts);
  ASSERT_TRUE(period.has_value());
  EXPECT_GT(period->evicted.size(), 100000u);
}

}  // namespace
}  // namespace market::tycoon
