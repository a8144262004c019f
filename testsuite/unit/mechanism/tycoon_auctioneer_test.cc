// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_auctioneer.h"

#include <gtest/gtest.h>

namespace market::tycoon {
namespace {

TEST(TycoonAuctioneer, IntervalChangesTheBidWithoutTheBank) {
  Auctioneer host({.capacity = 100});
  ASSERT_TRUE(host.fund("ann", 10, 1000).has_value());
  ASSERT_TRUE(host.fund("bob", 10, 1000).has_value());
  EXPECT_DOUBLE_EQ(host.run_period({})->at("ann").allocation, 50);
  ASSERT_TRUE(host.set_interval("ann", 250).has_value());
  EXPECT_NEAR(host.run_period({})->at("ann").allocation, 80, 1e-9);
}

TEST(TycoonAuctioneer, AdvertisesWhatWasSpentNotWhatWasBid) {
  Auctioneer host({.capacity = 1});
  ASSERT_TRUE(host.fund("ann", 10, 100).has_value());
  ASSERT_TRUE(host.fund("bob", 10, 100).has_value());
  EXPECT_EQ(host.advertise().spent_rate, 0);
  ASSERT_TRUE(host.run_period({{"bob", 0.0}, {"stranger", 5.0}}).has_value());
  EXPECT_DOUBLE_EQ(host.advertise().spent_rate, 0.1);
  EXPECT_DOUBLE_EQ(host.balance("ann"), 9);
  EXPECT_DOUBLE_EQ(host.balance("bob"), 10);
}

TEST(TycoonAuctioneer, WhoIsLoggedOffKeepsTheMoneyAndComesBack) {
  Auctioneer host({.capacity = 1});
  ASSERT_TRUE(host.fund("ann", 10, 10).has_value());
  ASSERT_TRUE(host.fund("bob", 1, 1e7).has_value());
  EXPECT_FALSE(host.run_period({})->contains("bob"));
  EXPECT_DOUBLE_EQ(host.balance("bob"), 1);
  EXPECT_TRUE(host.run_period({})->contains("bob"));
}

TEST(TycoonAuctioneer, RefusesWhatMakesNoSense) {
  Auctioneer host({.capacity = 1});
  EXPECT_FALSE(host.fund("ann", -1, 10));
  EXPECT_FALSE(host.fund("ann", 1, 0));
  EXPECT_FALSE(host.set_interval("ann", 5));
  EXPECT_FALSE(host.close("ann"));
  ASSERT_TRUE(host.fund("ann", 3, 10).has_value());
  EXPECT_DOUBLE_EQ(host.close("ann").value(), 3);
}

}  // namespace
}  // namespace market::tycoon
