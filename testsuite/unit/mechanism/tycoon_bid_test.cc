// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_bid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "core/mechanism/abacus_draw.h"
#include "testsuite/unit/mechanism/seeds.h"
#include "testsuite/unit/mechanism/tycoon_plain.h"

namespace market::tycoon {
namespace {

using abacus::uniform;

std::vector<HostOffer> random_hosts(std::mt19937_64& random, std::size_t count) {
  std::vector<HostOffer> hosts;
  for (std::size_t i = 0; i < count; ++i) {
    hosts.push_back({std::exp(4 * uniform(random) - 2), std::exp(6 * uniform(random) - 3)});
  }
  return hosts;
}

double utility_of(const std::vector<HostOffer>& hosts, const std::vector<double>& bids) {
  double utility = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    utility += hosts[i].weight * bids[i] / (bids[i] + hosts[i].others);
  }
  return utility;
}

TEST(TycoonBid, FreeHostsAndUselessOnes) {
  const auto response = best_response(4, 0, {{3, 0}, {0, 2}, {1, 2}});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->hosts[0].share, 1);
  EXPECT_EQ(response->hosts[0].bid, 0);
  EXPECT_EQ(response->hosts[1].share, 0);
  EXPECT_EQ(response->hosts[2].bid, 4);
}

TEST(TycoonBid, LeastMarginLeavesMoneyOver) {
  const auto response = best_response(50, 0.25, {{4, 1}, {2, 2}});
  ASSERT_TRUE(response.has_value());
  EXPECT_DOUBLE_EQ(response->hosts[0].bid, 3);
  EXPECT_DOUBLE_EQ(response->hosts[1].bid, 2);
  EXPECT_DOUBLE_EQ(response->unspent, 45);
  EXPECT_DOUBLE_EQ(response->margin.value(), 0.25);
}

TEST(TycoonBid, NothingToSpendOrNothingWorthIt) {
  const auto poor = best_response(0, 0, {{4, 1}, {2, 2}});
  ASSERT_TRUE(poor.has_value());
  EXPECT_FALSE(poor->margin.has_value());
  const auto dear = best_response(10, 100, {{4, 1}, {2, 2}});
  ASSERT_TRUE(dear.has_value());
  EXPECT_FALSE(dear->margin.has_value());
  EXPECT_EQ(dear->unspent, 10);
}

TEST(TycoonBid, RangeOfDoublesIsRespected) {
  const auto tiny = best_response(1e-300, 0, {{1, 1}, {1, 1e10}});
  ASSERT_TRUE(tiny.has_value());
  EXPECT_EQ(tiny->hosts[0].bid, 1e-300);
  EXPECT_FALSE(best_response(1, 0, {{1e308, 0}, {1e308, 0}}));
  const auto large = best_response(1e300, 0, {{1e300, 1e300}, {1e-300, 1e-300}});
  ASSERT_TRUE(large.has_value());
}

/// 100 seeds × 20 sets of 1 to 40 hosts: equal margins where it bids, none higher where it does
/// not, all spent (the conditions of Karush, Kuhn and Tucker of a concave problem), and the same
/// bids as by sorting.
RC_GTEST_PROP(TycoonBidProperty, EqualMarginsOnTheSupport, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto hosts = random_hosts(random, 1 + random() % 40);
    const double budget = std::exp(8 * uniform(random) - 4);
    const auto response = best_response(budget, 0, hosts);
    RC_ASSERT(response.has_value());
    RC_ASSERT(response->unspent < 1e-9 * budget);
    const std::vector<double> plain = plain_best_response(budget, hosts);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const double bid = response->hosts[i].bid;
      const double total = bid + hosts[i].others;
      const double margin = hosts[i].weight * hosts[i].others / (total * total);
      RC_ASSERT(margin < response->margin.value() * (1 + 1e-9));
      if (bid > 0) RC_ASSERT(margin > response->margin.value() * (1 - 1e-9));
      RC_ASSERT(std::abs(bid - plain[i]) < 1e-9 * (budget + hosts[i].others));
    }
  }
}

/// 100 seeds × 200 random moves of money from one host to another: none helps.
RC_GTEST_PROP(TycoonBidProperty, NoPerturbationHelps, ()) {
  std::mt19937_64 random(*any_seed());
  const auto hosts = random_hosts(random, 2 + random() % 12);
  const auto response = best_response(5 * uniform(random), 0, hosts);
  RC_ASSERT(response.has_value());
  std::vector<double> bids;
  for (const HostBid& host : response->hosts) bids.push_back(host.bid);
  const double best = utility_of(hosts, bids);
  RC_ASSERT(std::abs(best - response->utility) < 1e-9);
  for (int move = 0; move < 200; ++move) {
    std::vector<double> moved = bids;
    const std::size_t from = random() % hosts.size();
    const double amount = moved[from] * uniform(random);
    moved[from] -= amount;
    moved[random() % hosts.size()] += amount;
    RC_ASSERT(utility_of(hosts, moved) <= best * (1 + 1e-12));
  }
}

/// 100 seeds × 10: with a least margin λ nothing is bid below it, and money is left over only when
/// the margin is λ on every host bid on and no other host offers more.
RC_GTEST_PROP(TycoonBidProperty, LeastMargin, ()) {
  std::mt19937_64 random(*any_seed());
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto hosts = random_hosts(random, 1 + random() % 20);
    const double budget = 20 * uniform(random);
    const double least = std::exp(4 * uniform(random) - 4);
    const auto response = best_response(budget, least, hosts);
    RC_ASSERT(response.has_value());
    const bool saves = response->unspent > 1e-9 * budget;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const double total = response->hosts[i].bid + hosts[i].others;
      const double margin = hosts[i].weight * hosts[i].others / (total * total);
      if (response->hosts[i].bid > 0) RC_ASSERT(margin > least * (1 - 1e-9));
      if (saves) RC_ASSERT(margin < least * (1 + 1e-9));
    }
  }
}

TEST(TycoonBid, MillionHosts) {
  std::mt19937_64 random(6);
  const auto hosts = random_hosts(random, 1000000);
  const auto response = best_response(1000, 0, hosts);
  ASSERT_TRUE(response.has_value());
  EXPECT_NEAR(response->unspent, 0, 1e-6);
}

}  // namespace
}  // namespace market::tycoon
