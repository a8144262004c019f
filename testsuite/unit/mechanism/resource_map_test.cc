// SPDX-License-Identifier: GPL-2.0-or-later
// Formal, actual and virtual resources, worked out by hand.
#include "core/mechanism/resource_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/mechanism/billing.h"
#include "core/mechanism/mechanism.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;
constexpr double kPart = 1.0 / (1 << 20);

// "ConfA equals 4 cores and 7 GB", which take 5 cores and 8 GB.
const ResourceConfiguration kConfA = {
    "ConfA", {{"cpu", 4}, {"mem", 7 * 1024}}, {{"cpu", 5}, {"mem", 8 * 1024}}};
const ResourceConfiguration kConfCore = {"ConfCore", {{"cpu", 1}}, {{"cpu", 1.1}}};
const ResourceConfiguration kConfGpu = {
    "ConfGpu", {{"gres/gpu", 1}}, {{"gres/gpu", 1}, {"virtual/rack", 0.125}}};

TEST(ResourceMap, WhatNoConfigurationTakesStandsForItself) {
  EXPECT_EQ(actual_amounts({{"cpu", 3}, {"gres/gpu", 1}}, {}),
            (Amounts{{"cpu", 3}, {"gres/gpu", 1}}));
  // No memory asked for: not a single ConfA.
  EXPECT_EQ(actual_amounts({{"cpu", 3}}, std::span(&kConfA, 1)), (Amounts{{"cpu", 3}}));
}

TEST(ResourceMap, BundlesAreTakenInOrderInWholeOrInPart) {
  const ResourceConfiguration both[] = {kConfA, kConfCore};
  // Two ConfA and 6 GB.
  EXPECT_EQ(actual_amounts({{"cpu", 8}, {"mem", 20 * 1024}}, both),
            (Amounts{{"cpu", 10}, {"mem", 22 * 1024}}));
  // Half a ConfA; then 10 ConfCore.
  const Amounts mixed = actual_amounts({{"cpu", 12}, {"mem", 3584}}, both);
  EXPECT_NEAR(mixed.at("cpu"), 2.5 + 11, 2 * kPart);
  EXPECT_EQ(mixed.at("mem"), 4096);
}

TEST(ResourceMap, TenTenthsAreOneAndPartsNeverMoreThanTheWhole) {
  const ResourceConfiguration tenth = {"t", {{"gres/gpu", 1}}, {{"virtual/x", 0.1}}};
  EXPECT_EQ(actual_amounts({{"gres/gpu", 10}}, std::span(&tenth, 1)).at("virtual/x"), 1);
  const double part = actual_amounts({{"gres/gpu", 1}}, std::span(&tenth, 1)).at("virtual/x");
  EXPECT_LE(10 * part, 1);
  EXPECT_GE(10 * part, 1 - 10 * kPart);
}

// A bundle is 1 GPU, 16 CPUs and 128 GB and counts 1; a CPU beyond it 1/8, a GB 0.012. By hand: 16
// CPUs and 128 GB more are 2 + 1.536; of half a bundle nothing is left but half a GPU; with 8 CPUs
// it is half a bundle, half a GPU (1 each) and 192 GB.
TEST(Billing, AGpuFillsABundleHoweverItIsAskedFor) {
  for (const char* formal : {"gres/gpu", "gres/gpu:a100"}) {
    Config config;
    config.configurations = {
        {"gpu", {{formal, 1}, {"cpu", 16}, {"mem", 128 * 1024}}, {{"virtual/bundle", 1}}}};
    config.weights = {{"virtual/bundle", 1}, {"cpu", 0.125}, {"mem", 0.012}, {"gres/gpu", 1}};
    for (const char* asked : {"gres/gpu", "gres/gpu:a100"}) {
      const auto billing = [&](std::int64_t cpus, std::int64_t gb) {
        return billing_units_of(config, {{"cpu", cpus}, {"mem", gb * 1024}, {asked, 1}},
                                {"cpu", "gres/gpu:a100", "mem"});
      };
      EXPECT_NEAR(billing(16, 128), 1, 1e-9);
      EXPECT_NEAR(billing(32, 256), 4.536, 1e-5);
      EXPECT_NEAR(billing(8, 64), 1, 1e-9);
      EXPECT_NEAR(billing(8, 256), 3.304, 1e-5);
    }
  }
}

// Of two types a GPU without a type is none of them.
TEST(Billing, AGresHasItsTypeWhereThereIsOnlyOne) {
  EXPECT_EQ(with_only_types({{"gres/gpu", 2}, {"cpu", 1}}, {"cpu", "gres/gpu:a100", "gres/nic:x"}),
            (Tres{{"gres/gpu:a100", 2}, {"cpu", 1}}));
  EXPECT_EQ(with_only_types({{"gres/gpu", 2}}, {"gres/gpu:a100", "gres/gpu:t4"}),
            (Tres{{"gres/gpu", 2}}));
  EXPECT_EQ(with_only_types({{"gres/gpu", 2}}, {}), (Tres{{"gres/gpu", 2}}));
  EXPECT_EQ(with_only_types({{"gres/gpu", 2}, {"gres/gpu:a100", 1}}, {"gres/gpu:a100"}),
            (Tres{{"gres/gpu:a100", 3}}));
}

Request gpus(std::int64_t count, Time duration = 3600) {
  Request request;
  request.demand.tres = {{"gres/gpu", count}};
  request.earliest = kNow;
  request.deadline = kNow + duration;
  request.duration = duration;
  return request;
}

Config gpu_config(double racks) {
  Config config;
  config.weights = {{"gres/gpu", 15}, {"virtual/rack", 4}};
  config.configurations = {kConfGpu};
  config.virtual_resources = {{"virtual/rack", racks}};
  return config;
}

double price(const PostedPrice& market, const Request& request) {
  const PriceList list = market.prices(request, kNow);
  return list.credits.empty() ? INFINITY : list.credits[0];
}

TEST(Configurations, VirtualResourcesArePaidForAndRunOut) {
  for (const char* name : {"era", "first_fit"}) {
    Config config = gpu_config(0.5);
    config.mechanism = name;
    const auto market = make_posted_price(config).value();
    market->update({{{"gres/gpu", 8}}, {}}, kNow);
    // One hour of 2 GPUs and a quarter of a rack at 0.1 for a billing-hour.
    EXPECT_NEAR(price(*market, gpus(2)), (2 * 15 + 0.25 * 4) * 0.1, 1e-9);
    EXPECT_TRUE(std::isfinite(price(*market, gpus(4)))) << "0.5 racks are just enough";
    EXPECT_TRUE(std::isinf(price(*market, gpus(5)))) << "GPUs are left, racks are not";
    market->promise(gpus(3), kNow);
    EXPECT_TRUE(std::isfinite(price(*market, gpus(1))));
    EXPECT_TRUE(std::isinf(price(*market, gpus(2))));
    market->release(gpus(3), kNow, kNow);
    EXPECT_TRUE(std::isfinite(price(*market, gpus(4))));
  }
}

TEST(Configurations, HoldersOutsideTheMarketUseVirtualResourcesToo) {
  const auto market = make_posted_price(gpu_config(0.5)).value();
  market->update({{{"gres/gpu", 8}}, {{{{"gres/gpu", 3}}, kNow + 3600}}}, kNow);
  EXPECT_TRUE(std::isfinite(price(*market, gpus(1))));
  EXPECT_TRUE(std::isinf(price(*market, gpus(2))));
}

TEST(Configurations, AnUntypedRequestIsOfTheOnlyTypeThatTheConfigurationNames) {
  Config config = gpu_config(1);
  config.configurations[0].formal[0].tres = config.configurations[0].actual[0].tres = "gres/gpu:a";
  const auto market = make_posted_price(config).value();
  market->update({{{"gres/gpu:a", 9}}, {}}, kNow);
  EXPECT_TRUE(std::isfinite(price(*market, gpus(8))));
  EXPECT_TRUE(std::isinf(price(*market, gpus(9)))) << "a rack has eight";
}

TEST(Configurations, OverheadIsPaidForAndTakesCapacity) {
  Config config;
  config.configurations = {{"core", {{"cpu", 1}}, {{"cpu", 1.25}}}};
  const auto market = make_posted_price(config).value();
  market->update({{{"cpu", 10}}, {}}, kNow);
  Request request = gpus(1);
  request.demand.tres = {{"cpu", 8}};
  EXPECT_NEAR(price(*market, request), 10 * 0.1, 1e-9);
  request.demand.tres = {{"cpu", 9}};
  EXPECT_TRUE(std::isinf(price(*market, request)));
}

// What is learned is what the past bids needed: ten actual cores at 0.5 a week ago, so that the
// first core of this week displaces one of them.
TEST(Configurations, DemandIsLearnedInActualResources) {
  Config config;
  config.configurations = {{"core", {{"cpu", 1}}, {{"cpu", 1.25}}}};
  const auto market = make_posted_price(config).value();
  market->update({{{"cpu", 10}}, {}}, kNow);
  const Time week_ago = kNow / 3600 * 3600 - 7 * 86400;
  market->learn({PastBid{week_ago, week_ago, week_ago + 7200, 7200, {{"cpu", 8}}, 10.0}}, kNow);
  Request request = gpus(1);
  request.demand.tres = {{"cpu", 4}};
  EXPECT_NEAR(price(*market, request), 5 * 0.5, 1e-9);
}

}  // namespace
}  // namespace market
