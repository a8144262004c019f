// SPDX-License-Identifier: GPL-2.0-or-later
// Contracts as the façade meets them: the site's floor, and one draw an hour for all who ask.
#include "core/mechanism/contract_prices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace market {
namespace {

constexpr Time kNow = 500'000 * kHour;  // an hour begins

Config config_with(ContractFloor floor, const std::string& seed = "seed") {
  Config config;
  config.mechanism = "contracts";
  config.seed = seed;
  config.contracts.floor = floor;
  config.floor_price = 0.5;
  config.cap_price = 10;
  return config;
}

Request request_for(std::int64_t cpus, Time duration, Time now = kNow) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = now;
  request.deadline = now + 12 * kHour;
  request.duration = duration;
  return request;
}

std::unique_ptr<ContractMenuPrices> opened(const Config& config, Time sold_until = 0) {
  auto prices = std::make_unique<ContractMenuPrices>(config);
  prices->update(Capacity{{{"cpu", 100}}, {}}, kNow);
  for (Time start = kNow; start < kNow + sold_until; start += kHour) {
    prices->promise(request_for(100, kHour), start);
  }
  return prices;
}

std::vector<double> list_of(const PostedPrice& prices, const Request& request, Time now = kNow) {
  return prices.prices(request, now).credits;
}

// 8 CPUs for an hour at a floor of 0.5 are 4.00, for six minutes 0.40; without the floor an idle
// cluster is free.
TEST(ContractFloor, NoContractOfAnIdleClusterIsBelowTheSitesFloor) {
  const auto site = opened(config_with(ContractFloor::kSite));
  for (const double price : list_of(*site, request_for(8, kHour))) EXPECT_DOUBLE_EQ(price, 4);
  for (const double price : list_of(*site, request_for(8, 360))) EXPECT_DOUBLE_EQ(price, 0.4);
  const auto none = opened(config_with(ContractFloor::kNone));
  for (const double price : list_of(*none, request_for(8, kHour))) EXPECT_EQ(price, 0);
}

// The floor is a reserve: where the menu asks more, its price stays as it is.
TEST(ContractFloor, LiftsThePricesBelowItAndNoOthers) {
  bool any_above = false;
  for (int seed = 0; seed < 20; ++seed) {
    const std::string text = std::to_string(seed);
    const auto site = list_of(*opened(config_with(ContractFloor::kSite, text), 5 * kHour),
                              request_for(10, kHour));
    const auto none = list_of(*opened(config_with(ContractFloor::kNone, text), 5 * kHour),
                              request_for(10, kHour));
    ASSERT_EQ(site.size(), none.size());
    for (std::size_t k = 0; k < site.size(); ++k) {
      EXPECT_EQ(site[k], std::max(none[k], 5.0)) << seed << " " << k;
      any_above |= std::isfinite(none[k]) && none[k] > 5;
    }
  }
  EXPECT_TRUE(any_above) << "a place among what is sold is worth more to some";
}

TEST(ContractFloor, CountsEveryTresThatHasAWeight) {
  Config config = config_with(ContractFloor::kSite);
  config.weights = {{"cpu", 1}, {"mem", 0.25}, {"gres/gpu", 10}};
  auto prices = std::make_unique<ContractMenuPrices>(config);
  prices->update(Capacity{{{"cpu", 100}, {"mem", 1 << 20}, {"gres/gpu", 8}}, {}}, kNow);
  Request request = request_for(1, kHour);
  request.demand.tres = {{"cpu", 1}, {"mem", 8192}, {"gres/gpu", 2}};
  // (1 + 8 GB × 0.25 + 2 × 10) × 0.5.
  for (const double price : list_of(*prices, request)) EXPECT_DOUBLE_EQ(price, 11.5);
}

/// Prices of the first hours per CPU-hour when five hours are sold, so that there are some.
std::vector<double> menu_at(const ContractMenuPrices& prices, std::int64_t cpus, Time now) {
  std::vector<double> units = list_of(prices, request_for(cpus, kHour, now), now);
  for (double& unit : units) unit /= static_cast<double>(cpus);
  return units;
}

TEST(ContractDraw, IsTheSameForAllWhoAskAndHoweverOften) {
  const Config config = config_with(ContractFloor::kNone);
  const auto one = opened(config, 5 * kHour), other = opened(config, 5 * kHour);
  const std::vector<double> first = menu_at(*one, 10, kNow);
  EXPECT_GT(*std::max_element(first.begin(), first.end()), 0);
  menu_at(*one, 3, kNow);
  EXPECT_EQ(menu_at(*one, 10, kNow), first);
  menu_at(*other, 7, kNow);
  EXPECT_EQ(menu_at(*other, 10, kNow), first);
  EXPECT_NE(menu_at(*opened(config_with(ContractFloor::kNone, "other"), 5 * kHour), 10, kNow),
            first);
}

// A row for 60 minutes and one for 109 that end as long beyond their limits cost the same for an hour.
TEST(ContractDraw, LongerLimitsAreTheSameDraw) {
  const auto prices = opened(config_with(ContractFloor::kNone), 5 * kHour);
  const std::vector<double> hour = list_of(*prices, request_for(10, kHour));
  for (Time minutes = 60; minutes < 110; minutes += 7) {
    const std::vector<double> list = list_of(*prices, request_for(10, minutes * 60));
    for (std::size_t k = 0; k < 100; ++k) {
      if (!std::isfinite(list[k]) || !std::isfinite(hour[k])) continue;
      EXPECT_NEAR(list[k] * 60 / static_cast<double>(minutes), hour[k], 0.01 * hour[k] + 1e-9)
          << minutes << " " << k;
    }
  }
}

// A job of most GPUs waits for GPUs, not for CPUs that are free.
TEST(ContractLoad, IsThatOfTheScarcestTres) {
  const auto dearest = [](const Tres& sold, const Tres& asked) {
    double most = 0;
    for (int seed = 0; seed < 20; ++seed) {
      Config config = config_with(ContractFloor::kNone, std::to_string(seed));
      config.weights = {{"cpu", 1}, {"gres/gpu", 1}};
      ContractMenuPrices prices(config);
      prices.update(Capacity{{{"cpu", 100}, {"gres/gpu", 8}}, {}}, kNow);
      Request taken = request_for(1, kHour), request = request_for(1, kHour);
      taken.demand.tres = sold;
      request.demand.tres = asked;
      for (Time start = kNow; start < kNow + 5 * kHour; start += kHour)
        prices.promise(taken, start);
      for (const double price : list_of(prices, request))
        if (std::isfinite(price)) most = std::max(most, price);
    }
    return most;
  };
  EXPECT_GT(dearest({{"cpu", 1}, {"gres/gpu", 8}}, {{"cpu", 1}, {"gres/gpu", 8}}), 0);
  EXPECT_EQ(dearest({{"cpu", 100}}, {{"cpu", 1}, {"gres/gpu", 8}}), 0);
  EXPECT_GT(dearest({{"cpu", 100}}, {{"cpu", 50}, {"gres/gpu", 1}}), 0);
}

ContractDraw draw_at(const KernelDensity& population, Time epoch, std::size_t pairs = 100,
                     const char* seed = "seed") {
  const auto valid = [](std::span<const double> type) {
    return job_class("hard_deadline")->valid(type);
  };
  return draw_contracts(population, valid, Draws(seed), {"main", "hard_deadline", epoch, pairs});
}

KernelDensity population_of(int count) {
  std::vector<double> types, weights;
  for (int i = 0; i < count; ++i) {
    types.insert(types.end(), {1 + 0.01 * i, 1.5 + i % 7});
    weights.push_back(1);
  }
  return KernelDensity(std::move(types), 2, std::move(weights));
}

std::size_t equal_types(const std::vector<double>& a, const std::vector<double>& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); i += 2) equal += a[i] == b[i] && a[i + 1] == b[i + 1];
  return equal;
}

TEST(ContractDraw, ATenthOfThePairsIsNewInEachEpoch) {
  const KernelDensity population = population_of(100);
  for (Time epoch = 500'000; epoch < 500'020; ++epoch) {
    const ContractDraw now = draw_at(population, epoch), next = draw_at(population, epoch + 1);
    EXPECT_EQ(equal_types(now.replicas, next.replicas), 90u) << epoch;
    EXPECT_EQ(equal_types(now.surrogates, next.surrogates), 90u) << epoch;
    EXPECT_EQ(equal_types(now.replicas, draw_at(population, epoch + 10).replicas), 0u) << epoch;
    EXPECT_EQ(equal_types(now.replicas, now.surrogates), 0u) << epoch;
  }
}

// Whoever takes a bid of an earlier hour back changes what is learned within the hour. That must
// not be a second draw: few types move by more than a few of the hundred bids' steps of 0.01, since
// few were refused once and are not now.
TEST(ContractDraw, ABidTakenBackIsNotASecondDraw) {
  const ContractDraw before = draw_at(population_of(100), 500'000);
  const ContractDraw after = draw_at(population_of(99), 500'000);
  int moved = 0;
  for (std::size_t i = 0; i < before.replicas.size(); i += 2)
    moved += std::abs(before.replicas[i] - after.replicas[i]) > 0.05;
  EXPECT_LE(moved, 5);
  EXPECT_NE(before.replicas, after.replicas);
}

}  // namespace
}  // namespace market
