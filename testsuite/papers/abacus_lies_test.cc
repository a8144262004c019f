// SPDX-License-Identifier: GPL-2.0-or-later
// What a false --utility gains a rigid job: through the auction that decides on a cluster.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "core/mechanism/abacus_auction.h"
#include "testsuite/papers/report.h"

namespace market {
namespace {

using papers::Comparison;
using papers::sample;

constexpr Time kNow = 1800000000;

/// Some users with one job each, who ask for CPUs and memory in other ratios.
struct Rigid {
  explicit Rigid(std::mt19937_64& random, int users) {
    std::lognormal_distribution<double> budget(4, 0.7);
    std::uniform_int_distribution<int> part(1, 32);
    for (int user = 0; user < users; ++user) {
      Bid& bid = bids.emplace_back();
      bid.uid = static_cast<std::uint32_t>(user + 1);
      bid.request.demand.tres = {{"cpu", part(random)}, {"mem", part(random)}};
      bid.request.duration = 3600;
      LiveBid one;
      one.id = bid.uid;
      one.bid = &bid;
      one.budget = budget(random);
      live.push_back(one);
    }
  }
  /// How much of what the first job asks for its shares buy, of the scarcer resource: how often it starts.
  double speed() const {
    MarketSettings settings;
    AbacusAuction auction(settings);
    Capacity capacity;
    capacity.total = {{"cpu", 64}, {"mem", 64}};
    auction.update(capacity, kNow);
    const auto standings = auction.auction(live, {}, kNow);
    double least = 1e300;
    for (const auto& [name, share] : *standings[0].shares)
      least = std::min(least, share / amount_of(bids[0].request.demand.tres, name));
    return least;
  }
  std::deque<Bid> bids;
  std::vector<LiveBid> live;
};

/// Relative gain of the best of 2 × 41 utilities over saying nothing.
double best_gain(Rigid& market) {
  const double honest = market.speed();
  double best = honest;
  for (const bool is_log : {false, true}) {
    for (int step = -20; step <= 20; ++step) {
      const double ratio = std::exp(0.2 * step);
      market.bids[0].utility = UtilityWish{{{"cpu", ratio}, {"mem", 1}}, is_log};
      best = std::max(best, market.speed());
    }
  }
  market.bids[0].utility.reset();
  return best / honest - 1;
}

TEST(AbacusLies, WhatAFalseUtilityGainsARigidJob) {
  const int markets = sample(100, 1000);
  Comparison report("Abacus: the best utility for a rigid job that knows all others",
                    fmt::format("seed 14, {} markets each, CPUs and memory, alpha 0.5", markets));
  for (const int users : {2, 3, 8}) {
    std::mt19937_64 random(14);
    std::vector<double> gains;
    for (int i = 0; i < markets; ++i) {
      Rigid market(random, users);
      gains.push_back(best_gain(market));
    }
    std::sort(gains.begin(), gains.end());
    double mean = 0;
    for (const double gain : gains) mean += gain / markets;
    report.row(fmt::format("{} users: mean, median, largest gain in starts", users),
               "7 to 15 % in a model",
               fmt::format("{:.1f} %, {:.1f} %, {:.0f} %", 100 * mean,
                           100 * gains[gains.size() / 2], 100 * gains.back()));
    EXPECT_LT(mean, 0.2) << users;
  }
}

}  // namespace
}  // namespace market
