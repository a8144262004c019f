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
    if (pass == 0) changed.ask = NodeAsk{random.uniform(0, 0.02)};
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

constexpr double kSecond = 1.0 / 3600;  // of an hour

// Nodes of 4 CPUs that ask 100, 200 an hour; bids of 2 CPUs a second.
DvaWorld two_nodes() {
  DvaWorld world;
  world.config.weights = {{"cpu", 1}};
  world.nodes = {{"n1", {{"cpu", 4}}, {{"cpu", 4}}, NodeAsk{200}},
                 {"n2", {{"cpu", 4}}, {{"cpu", 4}}, NodeAsk{100}}};
  return world;
}

// 3,000 an hour for a node of 4 CPUs, beside a bid of 2,990 that would take it. Is that of another
// account, the award keeps it from n2, and 2,990 is paid; n2's owner gets n1's 800 of that.
TEST(DvaAuction, ARivalIsPaidForAndNotToTheOwner) {
  DvaWorld world = two_nodes();
  world.add_bid(3000 * kSecond, 1, {{"cpu", 4}}).account = "physics";
  world.add_bid(2990 * kSecond, 1, {{"cpu", 4}}).account = "lab-2";
  const Standing winner = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
  ASSERT_EQ(winner.nodes, std::vector<std::uint32_t>{1});
  EXPECT_NEAR(winner.rate, 2990 * kSecond, 1e-9);
  ASSERT_EQ(winner.payments.size(), 1u);
  EXPECT_NEAR(winner.payments[0], 800 * kSecond, 1e-9);
}

// Nobody pays by a bid that is of his own account, could not start, may not run there, asks for less
// than n2 costs, finds room beside the award, or was never on n2's side: the price is n1's 800.
TEST(DvaAuction, WhoIsNoRivalIsNotPaidFor) {
  const std::vector<char> only_n1 = {1, 0};
  const auto rate_beside = [&](auto change) {
    DvaWorld world = two_nodes();
    world.add_bid(3000 * kSecond, 1, {{"cpu", 4}}).account = "physics";
    world.add_bid(2990 * kSecond, 1, {{"cpu", 4}}).account = "lab-2";
    change(world);
    const Standing winner = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
    EXPECT_EQ(winner.nodes, std::vector<std::uint32_t>{1});
    return winner.rate / kSecond;
  };
  EXPECT_NEAR(rate_beside([](DvaWorld&) {}), 2990, 1e-6);
  EXPECT_NEAR(rate_beside([](DvaWorld& world) { world.bids[1].account = "physics"; }), 800, 1e-6);
  EXPECT_NEAR(rate_beside([](DvaWorld& world) { world.live[1].last = true; }), 800, 1e-6);
  EXPECT_NEAR(rate_beside([](DvaWorld& world) { world.live[1].running = true; }), 800, 1e-6);
  EXPECT_NEAR(rate_beside([&](DvaWorld& world) { world.live[1].able = &only_n1; }), 800, 1e-6);
  EXPECT_NEAR(rate_beside([](DvaWorld& world) { world.live[1].budget = 399 * kSecond; }), 800,
              1e-6);
  EXPECT_NEAR(rate_beside([](DvaWorld& world) {
                world.bids[1].request.demand.tres = {{"cpu", 5}};  // on no node at all: on two
              }),
              2990, 1e-6);
  // 2 CPUs of 4 leave room for 2 more, on n2 itself.
  EXPECT_NEAR(
      rate_beside([](DvaWorld& world) {
        world.bids[0].request.demand.tres = world.bids[1].request.demand.tres = {{"cpu", 2}};
      }),
      400, 1e-6);
}

// The same owner's second node is the first one's runner-up: who owns both sets the price, up to the bid.
TEST(DvaAuction, AnOwnerOfTwoNodesSetsItsOwnSecondPrice) {
  for (const auto& [second, paid] : {std::pair(100.0, 400.0), {200.0, 800.0}, {740.0, 2960.0}}) {
    DvaWorld world = two_nodes();
    world.nodes[0].ask = NodeAsk{second};
    world.add_bid(3000 * kSecond, 1, {{"cpu", 4}});
    const Standing winner = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
    EXPECT_NEAR(winner.payments.at(0) / kSecond, paid, 1e-6) << second;
  }
}

// One node, two bidders: what the first one pays is what the second one bids.
TEST(DvaAuction, OfTwoBiddersTheSecondOnesBidIsSeen) {
  for (const double other : {500.0, 1234.0, 2999.0}) {
    DvaWorld world = two_nodes();
    world.nodes.erase(world.nodes.begin());
    world.add_bid(3000 * kSecond, 1, {{"cpu", 4}}).account = "physics";
    world.add_bid(other * kSecond, 1, {{"cpu", 4}}).account = "chem";
    EXPECT_NEAR(DvaAuction(world.config).auction(world.live, world.nodes, 0)[0].rate / kSecond,
                other, 1e-6);
  }
}

// 10 an hour for two nodes of which one asks 1 and the other 9: a node may cost more than its part,
// and both get what they ask. A third at 9.5 is the runner-up: 2 × 9.5 is above 10, so that of 19 − 10
// above their asks nothing is left. With 12 an hour 2 of these 9 are: 8.5 · 2/9 and 0.5 · 2/9.
TEST(DvaAuction, TwoNodesAreWithinTheBudgetTogether) {
  DvaWorld world;
  world.config.weights = {{"cpu", 1}};
  for (const double ask : {9.5, 1.0, 9.0})
    world.nodes.push_back({"n", {{"cpu", 1}}, {{"cpu", 1}}, NodeAsk{ask}});
  world.add_bid(10 * kSecond, 1, {{"cpu", 2}}, 2);
  Standing standing = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
  ASSERT_EQ(standing.nodes, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_NEAR(standing.rate / kSecond, 10, 1e-9);
  EXPECT_NEAR(standing.payments[0] / kSecond, 1, 1e-9);
  EXPECT_NEAR(standing.payments[1] / kSecond, 9, 1e-9);
  world.live[0].budget = 12 * kSecond;
  standing = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
  EXPECT_NEAR(standing.rate / kSecond, 12, 1e-9);
  EXPECT_NEAR(standing.payments[0] / kSecond, 1 + 8.5 * 2 / 9, 1e-9);
  EXPECT_NEAR(standing.payments[1] / kSecond, 9 + 0.5 * 2 / 9, 1e-9);
  world.live[0].budget = 9.99 * kSecond;
  EXPECT_TRUE(DvaAuction(world.config).auction(world.live, world.nodes, 0)[0].nodes.empty());
}

// Under skip a second price above the budget leaves the pair out: n2 and n3 come to 18.5 with
// nobody behind them, which 20 covers; 12 does not.
TEST(DvaAuction, SkipLeavesOutWhatTheBudgetDoesNotCover) {
  DvaWorld world;
  world.config.weights = {{"cpu", 1}};
  world.config.over_budget = OverBudget::kSkip;
  for (const double ask : {9.5, 1.0, 9.0})
    world.nodes.push_back({"n", {{"cpu", 1}}, {{"cpu", 1}}, NodeAsk{ask}});
  world.add_bid(18.6 * kSecond, 1, {{"cpu", 2}}, 2);
  Standing standing = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
  EXPECT_EQ(standing.nodes, (std::vector<std::uint32_t>{2, 0}));
  EXPECT_NEAR(standing.rate / kSecond, 18.5, 1e-9);
  world.live[0].budget = 19 * kSecond;
  standing = DvaAuction(world.config).auction(world.live, world.nodes, 0)[0];
  EXPECT_EQ(standing.nodes, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_NEAR(standing.rate / kSecond, 19, 1e-9);
  world.live[0].budget = 12 * kSecond;
  EXPECT_TRUE(DvaAuction(world.config).auction(world.live, world.nodes, 0)[0].nodes.empty());
}

// Bids of one rate are equal whatever their time limits, and the earlier one chooses first.
TEST(DvaAuction, BidsOfOneRateAreEqual) {
  DvaWorld world = two_nodes();
  for (const Time limit : {60, 600, 7}) {
    Bid& bid = world.add_bid(3.5 * kSecond * static_cast<double>(limit), limit, {{"cpu", 4}});
    bid.account = std::string(1, static_cast<char>('a' + limit % 26));
    world.live.back().bid_rate = 450 * kSecond;
  }
  const auto standings = DvaAuction(world.config).auction(world.live, world.nodes, 0);
  EXPECT_EQ(standings[1].priority, standings[2].priority);
  EXPECT_EQ(standings[0].priority, standings[1].priority + 0.5);
  EXPECT_EQ(standings[0].rate, 450 * kSecond);
}

// n1 asks 1 a CPU-hour and 0.5 a GB, n2 2 a CPU-hour and nothing for memory: memory decides.
TEST(DvaAuction, ATresMayHaveAPriceOfItsOwn) {
  DvaWorld world;
  world.config.weights = {{"cpu", 1}};
  const Tres all = {{"cpu", 8}, {"mem", 65536}};
  world.nodes = {{"n1", all, all, NodeAsk{1, {{"mem", 0.5}}}}, {"n2", all, all, NodeAsk{2}}};
  world.add_bid(100 * kSecond, 1, {{"cpu", 4}, {"mem", 4096}}).account = "a";
  world.add_bid(99 * kSecond, 1, {{"cpu", 4}, {"mem", 16384}}).account = "a";
  const auto standings = DvaAuction(world.config).auction(world.live, world.nodes, 0);
  EXPECT_EQ(standings[0].nodes, std::vector<std::uint32_t>{0});  // 4 + 2, before 8
  EXPECT_NEAR(standings[0].rate / kSecond, 8, 1e-9);
  EXPECT_EQ(standings[1].nodes, std::vector<std::uint32_t>{1});  // 8, before 4 + 8
  EXPECT_NEAR(standings[1].rate / kSecond, 12, 1e-9);
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
