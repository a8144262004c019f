// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_sizes.h"

#include <gtest/gtest.h>

#include <numeric>

namespace market {
namespace {

// 300 nodes of 16 CPUs for one price, on the first `full` of which one CPU is free. 960 CPU-seconds take
// 960 s there and 60 s elsewhere; 100 s are allowed.
std::vector<NodeOffer> offers_behind(std::size_t full) {
  const Goods goods{{"cpu"}, {1}};
  std::vector<NodeRoom> nodes;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::int64_t free = i < full ? 1 : 16;
    nodes.push_back({"n", {{"cpu", 16}}, {{"cpu", free}}});
  }
  std::vector<std::uint32_t> by_ask(nodes.size());
  std::iota(by_ask.begin(), by_ask.end(), 0u);
  DvaRooms rooms(goods, nodes, 0.01, by_ask);
  SizedDemand sized{.work = {960}, .least = {1}, .most = {16}, .steps = {1}};
  sized.mem = 1;  // there is no such good
  sized.longest = 100;
  DvaRooms::Wanted wanted;
  wanted.demand = sized.least;
  wanted.units = 1;
  wanted.most = 1;
  return sized_offers(sized, wanted, &rooms);
}

// Each look is a LOVRA under slurmctld's lock: at 64 nodes, and where none of them will do at 256.
TEST(DvaSizes, LooksAtABoundedNumberOfNodes) {
  EXPECT_EQ(offers_behind(0).size(), 64u);
  EXPECT_EQ(offers_behind(63).size(), 1u);
  EXPECT_EQ(offers_behind(64).size(), 192u);
  ASSERT_EQ(offers_behind(255).size(), 1u);
  EXPECT_EQ(offers_behind(255).front().node, 255u);
  EXPECT_TRUE(offers_behind(256).empty());
}

}  // namespace
}  // namespace market
