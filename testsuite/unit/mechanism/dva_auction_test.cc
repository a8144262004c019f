// SPDX-License-Identifier: GPL-2.0-or-later
// The façade's double-sided Vickrey auction against its definition, and its index of free room
// against a scan.
#include "core/mechanism/dva_auction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/mechanism/room_index.h"
#include "testsuite/unit/mechanism/dva_plain.h"

namespace market {
namespace {

// Many times with the same auction, whose order of nodes outlives a pass.
RC_GTEST_PROP(DvaAuctionProperty, AwardsAndPaysAsTheDefinitionSays, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  DvaWorld world =
      random_dva_world(1 + random.below(60), 1 + random.below(200), random.uniform(), &random);
  DvaAuction auction(world.config);
  for (int pass = 0; pass < 4; ++pass) {
    const auto expected = PlainDva(world).auction();
    const auto found = auction.auction(world.live, world.nodes, 0);
    RC_ASSERT(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      RC_ASSERT(found[i].nodes == expected[i].nodes);
      RC_ASSERT(found[i].payments == expected[i].payments);
      RC_ASSERT(found[i].rate == expected[i].rate);
      RC_ASSERT(found[i].priority == expected[i].priority);
      RC_ASSERT(found[i].share == expected[i].share);
    }
    NodeRoom& changed = world.nodes[random.below(world.nodes.size())];
    if (pass == 0) changed.ask = random.uniform(0, 0.02);
    if (pass == 1) changed.free = {};
    if (pass == 2) world.nodes.pop_back();
    if (world.nodes.empty()) break;
  }
}

// 4 CPUs at 0.36 credits an hour cost 0.4 credits in 1,000 s: that buys a node, a hair less does
// not. A good that the job does not want, and of which the node has none, is no obstacle.
TEST(DvaAuction, TheAskItselfIsEnough) {
  DvaWorld world;
  world.config.floor_price = 0.36;
  world.config.weights = {{"cpu", 1}, {"gres/gpu", 10}};
  world.nodes = {{"n1", {{"cpu", 8}}, {{"cpu", 8}}}};
  world.add_bid(0.4, 1000, {{"cpu", 4}});
  world.add_bid(0.3999999, 1000, {{"cpu", 4}});
  const auto standings = DvaAuction(world.config).auction(world.live, world.nodes, 0);
  EXPECT_EQ(standings[0].nodes, std::vector<std::uint32_t>{0});
  EXPECT_NEAR(standings[0].rate, 0.0004, 1e-12);
  EXPECT_TRUE(standings[1].nodes.empty());
}

RC_GTEST_PROP(RoomIndexProperty, FindsWhatAScanFindsWhileRoomIsTaken, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const std::size_t places = random.below(700), goods = random.below(4);
  const double unit = std::pow(10, random.uniform(-3, 50));
  std::vector<double> free;
  for (std::size_t i = 0; i < places * goods; ++i) {
    free.push_back(unit * (static_cast<double>(random.below(8)) - 1));
  }
  RoomIndex index(free, places, goods);
  for (int query = 0; query < 40; ++query) {
    std::vector<double> demand;
    for (std::size_t j = 0; j < goods; ++j) {
      demand.push_back(unit * static_cast<double>(random.below(7)) / 3);
    }
    const std::size_t end = random.below(places + 1), least = 1 + random.below(6),
                      most = least + random.below(3);
    std::vector<std::uint32_t> expected;
    for (std::size_t place = 0; place < end && expected.size() < most; ++place) {
      bool fits = true;
      for (std::size_t j = 0; j < goods; ++j) {
        fits = fits && demand[j] <= free[place * goods + j] + RoomIndex::kRounding;
      }
      if (fits) expected.push_back(static_cast<std::uint32_t>(place));
    }
    if (expected.size() < least) expected.clear();
    RC_ASSERT(index.first(demand, end, least, most) == expected);
    for (const std::uint32_t place : expected) {
      index.take(place, demand);
      for (std::size_t j = 0; j < goods; ++j) free[place * goods + j] -= demand[j];
    }
  }
}

// Three thirds of a node are a node: what rounding leaves over does not keep the last one out.
TEST(RoomIndex, ForgivesRounding) {
  RoomIndex index({1, 0.5}, 2, 1);
  const std::vector<double> third = {1.0 / 3};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(index.first(third, 2, 1, 1), std::vector<std::uint32_t>{0});
    index.take(0, third);
  }
  EXPECT_EQ(index.first(third, 2, 1, 1), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(index.first(third, 1, 1, 1).empty());
}

}  // namespace
}  // namespace market
