// SPDX-License-Identifier: GPL-2.0-or-later
// How much one bid of the past moves prices: by its size, and never beyond the highest price.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/mechanism/mechanism.h"

namespace market {
namespace {

constexpr Time kNow = 1800000000;

Request request_for(std::int64_t cpus, Time duration) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = kNow;
  request.deadline = kNow + 48 * kHour;
  request.duration = duration;
  return request;
}

std::unique_ptr<PostedPrice> opened(const char* mechanism, double cap,
                                    const std::string& seed = "") {
  Config config;
  config.mechanism = mechanism;
  config.cap_price = cap;
  config.contracts.floor = ContractFloor::kNone;
  config.contracts.minimum = 1;
  config.seed = seed;
  auto made = std::move(*make_posted_price(config));
  made->update(Capacity{{{"cpu", 100}}, {}}, kNow);
  return made;
}

PastBid past_bid(Time at, Time window, Time duration, std::int64_t cpus, double unit) {
  const double hours = static_cast<double>(duration) / kHour;
  return {at, at, at + window, duration, {{"cpu", cpus}}, unit * hours * static_cast<double>(cpus)};
}

/// Highest price per CPU-hour of an hour on ten CPUs, when the whole cluster is sold for the next
/// five hours: a place among those is worth something to urgent types of more than the cap alone.
double dearest_contract(const std::vector<PastBid>& bids) {
  double most = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const auto contracts = opened("contracts", 1, std::to_string(seed));
    contracts->learn(bids, kNow);
    for (int i = 0; i < 5; ++i) contracts->promise(request_for(100, kHour), kNow + 60 + i * kHour);
    for (const double price : contracts->prices(request_for(10, kHour), kNow).credits)
      if (std::isfinite(price)) most = std::max(most, price / 10);
  }
  return most;
}

/// Bids of one size with units from `low` to `high` and windows of 1.2 to 5 times their duration.
std::vector<PastBid> bids_of(int count, double low, double high, Time duration, std::int64_t cpus) {
  std::vector<PastBid> bids;
  for (int i = 0; i < count; ++i) {
    const double unit = low + (high - low) * (i * 7 % count) / count;
    const Time window = duration * (12 + i * 3 % count * 40 / count) / 10;
    bids.push_back(past_bid(kNow - 86400 + i, window, duration, cpus, unit));
  }
  return bids;
}

std::vector<PastBid> joined(std::vector<PastBid> first, const std::vector<PastBid>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Twenty bids of 1,000 CPU-hours at 0.1 to 0.3, and 600 newer ones of a CPU-minute at up to the
// cap: 10 CPU-hours beside 20,000.
TEST(LearnedContracts, HundredsOfSmallBidsDoNotOutweighLargeOnes) {
  const std::vector<PastBid> large = bids_of(20, 0.1, 0.3, 10 * kHour, 100);
  const std::vector<PastBid> small = bids_of(600, 0.2, 1, 60, 1);
  EXPECT_GT(dearest_contract(small), 0.5) << "the small ones alone would be dear";
  EXPECT_EQ(dearest_contract(large), 0) << "nobody outbids what is sold";
  EXPECT_EQ(dearest_contract(joined(large, small)), 0);
}

// The kernel around types at the cap of 1 reaches somewhat beyond it, a bid of 10^6 does not.
TEST(LearnedContracts, NoBidCountsBeyondTheHighestPrice) {
  const std::vector<PastBid> honest = bids_of(20, 0.2, 1, 10 * kHour, 100);
  EXPECT_GT(dearest_contract(honest), 0.5);
  EXPECT_LT(dearest_contract(joined(honest, bids_of(5, 1e6, 1e6, 10 * kHour, 100))), 2);
}

// It is screened before it could be cut: the menu of an epoch is what it was without it.
TEST(LearnedContracts, OneAbsurdBidChangesNothing) {
  const std::vector<PastBid> honest = bids_of(60, 0.2, 1, 10 * kHour, 100);
  for (const PastBid& absurd : {past_bid(kNow - 5, 12 * kHour, 10 * kHour, 100, 1e6),
                                past_bid(kNow - 5, 6000 * kHour, kHour, 1, 0.5)}) {
    const auto plain = opened("contracts", 1, "seed"), other = opened("contracts", 1, "seed");
    plain->learn(honest, kNow);
    other->learn(joined(honest, {absurd}), kNow);
    for (const auto& prices : {plain.get(), other.get()})
      for (int i = 0; i < 5; ++i) prices->promise(request_for(100, kHour), kNow + 60 + i * kHour);
    const Request request = request_for(10, kHour);
    EXPECT_EQ(plain->prices(request, kNow).credits, other->prices(request, kNow).credits);
  }
}

// 200 bids for one CPU each at different prices below 0.2, merged into 128 prices, and one that
// wants one CPU at any price: only its own CPU costs the cap.
TEST(LearnedEra, AMadBidDoesNotRaiseItsNeighbours) {
  const auto era = opened("era", 1);
  const Time week_ago = kNow - 7 * 86400;
  std::vector<PastBid> bids = {past_bid(week_ago, 6 * kHour, 6 * kHour, 1, 1e6)};
  for (int i = 0; i < 200; ++i)
    bids.push_back(past_bid(week_ago, 6 * kHour, 6 * kHour, 1, 0.11 + 0.0001 * i));
  era->learn(bids, kNow);
  Request all = request_for(100, kHour);
  all.deadline = kNow + kHour;
  // Units are sold from the lowest price that is left: of the 201 wanted, 101 are displaced, and
  // the 100 that are kept are the mad one and the 99 best, which cost at most 0.13; in the first
  // group of two prices the mean of 1 (cut) and 0.1299 is 0.565. Uncut both would cost 1.
  const PriceList list = era->prices(all, kNow);
  ASSERT_FALSE(list.credits.empty());
  EXPECT_LT(list.credits.front(), 98 * 0.13 + 2 * 0.57);
}

}  // namespace
}  // namespace market
