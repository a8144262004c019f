// SPDX-License-Identifier: GPL-2.0-or-later
// The mechanisms as the façade asks them, on markets small enough to be worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "core/mechanism/abacus_auction.h"
#include "core/mechanism/contract_prices.h"
#include "core/mechanism/dva_auction.h"
#include "core/mechanism/queue_order.h"
#include "core/mechanism/table.h"
#include "core/mechanism/tycoon_auction.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;  // a multiple of 60

class Bids {
 public:
  void add(double budget, std::int64_t cpus, Time limit, Time deadline = kNow + 86400) {
    Bid& bid = bids_.emplace_back();
    bid.request.demand.tres = {{"cpu", cpus}};
    bid.request.duration = limit;
    bid.request.deadline = deadline;
    const auto number = static_cast<Time>(bids_.size());
    bid.account = std::to_string(number);
    live.push_back(
        {static_cast<std::uint64_t>(number), &bid, kNow + number, budget, false, 0, {}, {}});
  }
  std::vector<Standing> stand(Auction& auction, const std::vector<NodeRoom>& nodes = {}) const {
    return auction.auction(live, nodes, kNow);
  }
  Bid& bid(std::size_t number) { return bids_[number]; }
  std::vector<LiveBid> live;

 private:
  std::deque<Bid> bids_;
};

Capacity of_cpus(std::int64_t cpus) {
  return {{{"cpu", cpus}, {"node", 1}}, {}};
}

// A run is charged by the rule of its terms: what it owes must stand in its name.
TEST(AbacusAuction, TheNameOfTheRuleTellsTheWeight) {
  MarketSettings settings;
  EXPECT_EQ(AbacusAuction(settings).rule(), "abacus/2");
  settings.abacus.weight = AbacusWeight::kStart;
  EXPECT_EQ(AbacusAuction(settings).rule(), "abacus/2-start");
  EXPECT_TRUE(AbacusAuction(settings).completion_owes_all());
}

TEST(QueueOrder, RanksByItsRule) {
  Bids bids;
  bids.add(0, 1, 300, kNow + 5000);
  bids.add(0, 1, 100, kNow + 9000);
  bids.add(0, 1, 200, kNow + 4000);
  const auto priorities = [&](QueueRule rule) {
    QueueOrder order(rule, "seed");
    EXPECT_FALSE(order.priced());
    std::vector<double> result;
    for (const Standing& standing : bids.stand(order)) {
      result.push_back(std::round(standing.priority * 3));
      EXPECT_EQ(standing.rate, 0);
    }
    return result;
  };
  EXPECT_EQ(priorities(QueueRule::kFifo), (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(priorities(QueueRule::kEasy), (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(priorities(QueueRule::kEarliestDeadline), (std::vector<double>{2, 1, 3}));
  EXPECT_EQ(priorities(QueueRule::kEarliestFinish), (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(priorities(QueueRule::kRandom), priorities(QueueRule::kRandom));
}

// Job numbers are known beforehand, the places they draw only to who knows the seed; each of the
// six orders of three jobs comes.
TEST(QueueOrder, DrawsItsLotsFromTheSeed) {
  Bids bids;
  for (int i = 0; i < 3; ++i) bids.add(0, 1, 100, kNow + 5000);
  std::set<std::vector<double>> orders;
  for (int seed = 0; seed < 100; ++seed) {
    QueueOrder order(QueueRule::kRandom, std::to_string(seed));
    std::vector<double> result;
    for (const Standing& standing : bids.stand(order)) result.push_back(standing.priority);
    orders.insert(result);
  }
  EXPECT_EQ(orders.size(), 6u);
}

// Bids of 0.1 and 0.3 credits/s share 40 CPUs as 10 and 30; each uses 10.
TEST(TycoonAuction, SharesAndChargesByEquationsOneAndTwo) {
  TycoonAuction auction{Config{}};
  auction.update(of_cpus(40), kNow);
  Bids bids;
  bids.add(10, 10, 100);
  bids.add(30, 10, 100);
  bids.add(0, 10, 100);
  const auto standings = bids.stand(auction);
  EXPECT_NEAR(standings[0].share, 0.25, 1e-12);
  EXPECT_NEAR(standings[1].share, 0.75, 1e-12);
  EXPECT_NEAR(standings[0].rate, 0.1, 1e-12);
  EXPECT_NEAR(standings[1].rate, 0.1, 1e-12);
  EXPECT_NEAR(standings[0].priority, 1, 1e-12);
  EXPECT_EQ(standings[2].priority, 0);
  EXPECT_EQ(auction.owes({bids.live[0].bid, 10, 4.5, 45, true}), 4.5);
  EXPECT_FALSE(auction.completion_owes_all());
}

// One resource, α = 1/2 in equation (1): shares as the roots of the budgets, 1 : √3; the first is
// 40 / (1 + √3) CPUs of the 20 asked for.
TEST(AbacusAuction, BudgetsBecomeShares) {
  Config config;
  config.abacus.order = AbacusOrder::kShare;
  AbacusAuction auction(config);
  auction.update(of_cpus(40), kNow);
  Bids bids;
  bids.add(10, 20, 1000);
  bids.add(30, 20, 1000);
  const double share = 1 / (1 + std::sqrt(3.0));
  for (int again = 0; again < 2; ++again) {
    const auto standings = bids.stand(auction);
    EXPECT_NEAR(standings[0].share, share, 1e-6);
    EXPECT_NEAR(standings[0].priority, 2 * share, 1e-6);
    EXPECT_NEAR(standings[1].priority, 1, 1e-6);
    EXPECT_NEAR(standings[0].rate, 0.01, 1e-12);
  }
}

// A third of the time limit owes a third of the budget, whether it completed or not; the paper's rule
// is all of it.
TEST(AbacusAuction, EveryEndOfItsOwnOwesTheSame) {
  Config config;
  AbacusAuction by_time(config);
  config.abacus.weight = AbacusWeight::kStart;
  AbacusAuction by_start(config);
  Bids bids;
  bids.add(60, 20, 60);
  for (const bool completed : {false, true}) {
    EXPECT_NEAR(by_time.owes({bids.live[0].bid, 60, 3, 3, completed}), 3, 1e-12);
    EXPECT_NEAR(by_time.owes({bids.live[0].bid, 60, 60, 75, completed}), 60, 1e-12);
    EXPECT_EQ(by_start.owes({bids.live[0].bid, 60, 3, 3, completed}), 60);
  }
  EXPECT_FALSE(by_time.completion_owes_all());
  EXPECT_TRUE(by_start.completion_owes_all());
}

// A user's share is of all his bids together: one of 100 or ten of 10 are the same against one of 100,
// and so are those of which some run.
TEST(AbacusAuction, SplittingABudgetChangesNoShare) {
  for (const double alpha : {0.0, 0.5, 1.0}) {
    Config config;
    config.abacus.alpha = alpha;
    for (const int parts : {1, 10, 300}) {
      AbacusAuction auction(config);
      auction.update(of_cpus(40), kNow);
      Bids bids;
      bids.add(100, 1, 1000);
      bids.bid(0).uid = 1;
      for (int part = 0; part < parts; ++part) {
        bids.add(300.0 / parts, 1, 1000);
        bids.bid(bids.live.size() - 1).uid = 2;
      }
      const auto standings = bids.stand(auction);
      const double share = 1 / (1 + std::pow(3.0, alpha));
      EXPECT_NEAR(standings[0].share, share, 1e-6);
      for (std::size_t i = 1; i < standings.size(); ++i)
        EXPECT_NEAR(standings[i].share, 1 - share, 1e-6);
    }
  }
}

// A bid that never starts does not carry others that offer nothing: of two users with 1 credit for each
// job one has another bid of 10,000, which Slurm cannot start. His share is .99, his starts are half.
TEST(AbacusAuction, ADecoyCarriesNobody) {
  constexpr int repeats = 100, starts = 20;
  double carried = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Config config;
    config.seed = "decoy " + std::to_string(repeat);
    AbacusAuction auction(config);
    auction.update(of_cpus(40), kNow);
    std::uint64_t number = 10;
    for (int start = 0; start < starts; ++start) {
      Bids bids;
      bids.add(1, 1, 60);
      bids.add(1, 1, 60);
      bids.add(10000, 1, 60);
      bids.bid(0).uid = bids.bid(2).uid = 1;
      bids.bid(1).uid = 2;
      bids.live[0].id = ++number;
      bids.live[1].id = ++number;
      const auto standings = bids.stand(auction);
      const std::size_t next = standings[0].priority > standings[1].priority ? 0 : 1;
      auction.started(bids.live[next].id);
      carried += next == 0 ? 1.0 / repeats / starts : 0;
    }
  }
  EXPECT_LT(carried, 0.5);
}

// Nor do others that offer nothing carry a bid: of two users with 1 credit for each job one has nine more of a
// ten-thousandth. He has half of the starts, not ten of eleven, within three sigmas of 1,000.
TEST(AbacusAuction, BidsOfNothingCarryNobody) {
  constexpr int starts = 1000;
  Config config;
  config.seed = "nothing";
  AbacusAuction auction(config);
  auction.update(of_cpus(40), kNow);
  Bids bids;
  for (int i = 0; i < 11; ++i) bids.add(i < 2 ? 1 : 1e-4, 1, 60);
  for (std::size_t i = 0; i < 11; ++i) bids.bid(i).uid = i == 1 ? 2 : 1;
  double carried = 0;
  for (int start = 0; start < starts; ++start) {
    const auto standings = bids.stand(auction);
    const std::size_t next = standings[0].priority > standings[1].priority ? 0 : 1;
    auction.started(bids.live[next].id);
    bids.live[next].id += 100;
    carried += next == 0 ? 1 : 0;
  }
  EXPECT_NEAR(carried, starts / 2.0, 3 * std::sqrt(starts / 4.0));
}

// Bids that wait are in the order of their lots, each has its place in it; what runs or bids nothing
// has none. Who asks about a bid, and bids that cannot start, change nothing.
TEST(AbacusAuction, LotsAreAnOrder) {
  Config config;
  config.seed = "lots";
  AbacusAuction auction(config);
  auction.update(of_cpus(40), kNow);
  Bids bids;
  for (int i = 0; i < 6; ++i) {
    bids.add(i == 5 ? 0 : 10 + i, 4, 600);
    bids.bid(static_cast<std::size_t>(i)).uid = static_cast<std::uint32_t>(i % 2);
  }
  bids.live[4].running = true;
  const auto before = bids.stand(auction);
  std::set<std::uint32_t> turns;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(before[i].turns, 4u);
    EXPECT_NEAR(before[i].priority, 1 - before[i].turn / 5.0, 1e-12);
    turns.insert(before[i].turn);
  }
  EXPECT_EQ(turns, (std::set<std::uint32_t>{1, 2, 3, 4}));
  // Of one user the larger budget comes first.
  EXPECT_LT(before[2].turn, before[0].turn);
  EXPECT_LT(before[3].turn, before[1].turn);
  EXPECT_EQ(before[4].priority, 1);
  EXPECT_EQ(before[5].priority, 0);
  bids.add(1000, 4, 600);
  bids.live.back().id = 0;
  bids.stand(auction);
  bids.live.pop_back();
  const auto after = bids.stand(auction);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(after[i].turn, before[i].turn);
}

// Bids of 0.008 and 0.004 credits/s for 4 CPUs on nodes of 4 that ask 0.0004: the first pays the
// second's bid, the second, with no other bid and no other node left, the ask.
TEST(DvaAuction, PaysTheRunnerUp) {
  Config config;
  config.floor_price = 0.36;
  DvaAuction auction(config);
  Bids bids;
  bids.add(4, 4, 1000);
  bids.add(8, 4, 1000);
  bids.add(0.1, 4, 1000);  // below the ask
  const std::vector<NodeRoom> nodes = {{"n1", {{"cpu", 4}}, {{"cpu", 4}}},
                                       {"n2", {{"cpu", 4}}, {{"cpu", 4}}}};
  const auto standings = bids.stand(auction, nodes);
  EXPECT_NEAR(standings[1].rate, 0.004, 1e-12);
  EXPECT_EQ(standings[1].nodes, std::vector<std::uint32_t>{0});
  EXPECT_NEAR(standings[0].rate, 0.0004, 1e-12);  // the highest bid below it is 0.0001
  EXPECT_EQ(standings[0].nodes, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(standings[2].nodes.empty());
  EXPECT_NEAR(standings[2].rate, 0.0001, 1e-12);
  EXPECT_GT(standings[1].priority, standings[0].priority);
  EXPECT_GT(standings[0].priority, standings[2].priority);
  bids.live[0].running = true;
  bids.live[0].rate = 0.003;
  EXPECT_EQ(bids.stand(auction, nodes)[0].rate, 0.003);
  bids.live[0].rate = 0;  // won for nothing
  EXPECT_EQ(bids.stand(auction, nodes)[0].rate, 0);
}

TEST(DvaAuction, AsksWhatTheOwnersAsk) {
  Config config;
  config.floor_price = 0.36;
  DvaAuction auction(config);
  Bids bids;
  bids.add(8, 4, 1000);
  bids.add(0.3, 4, 1000);  // 0.0003 a second: below the site's 0.0004, not below 0.0002
  const std::vector<NodeRoom> nodes = {{"n1", {{"cpu", 4}}, {{"cpu", 4}}, {}},
                                       {"n2", {{"cpu", 4}}, {{"cpu", 4}}, NodeAsk{0.72}},
                                       {"n3", {{"cpu", 4}}, {{"cpu", 4}}, NodeAsk{0.18}}};
  auto standings = bids.stand(auction, nodes);
  EXPECT_EQ(standings[0].nodes, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(standings[1].nodes.empty());
  ASSERT_EQ(standings[0].payments.size(), 1u);
  EXPECT_NEAR(standings[0].payments[0], standings[0].rate, 1e-12);
  EXPECT_GE(standings[0].rate, 4 * 0.18 / 3600);
  bids.live[0].budget = 0.1;  // now it is below every ask
  standings = bids.stand(auction, nodes);
  EXPECT_EQ(standings[1].nodes, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(standings[0].nodes.empty());
}

TEST(ContractMenuPrices, FallWithTimeAndAreFreeOnAnIdleCluster) {
  Config config;
  config.contracts.floor = ContractFloor::kNone;
  ContractMenuPrices prices(config);
  prices.update(of_cpus(16), kNow);
  Request request;
  request.demand.tres = {{"cpu", 8}};
  request.earliest = kNow;
  request.duration = 3600;
  request.deadline = kNow + 86400;
  for (const double credits : prices.prices(request, kNow).credits) EXPECT_EQ(credits, 0);

  Request sold = request;
  sold.demand.tres = {{"cpu", 16}};
  for (int hour = 1; hour <= 6; ++hour) prices.promise(sold, kNow + hour * Time{3600});
  const PriceList list = prices.prices(request, kNow);
  EXPECT_TRUE(std::is_sorted(list.credits.rbegin(), list.credits.rend()));
  EXPECT_EQ(list.credits.back(), 0);
  for (const double credits : list.credits) EXPECT_GE(credits, 0);

  for (int hour = 1; hour <= 6; ++hour) {
    const Time start = kNow + hour * Time{3600};
    prices.release(sold, start, start);
  }
  for (const double credits : prices.prices(request, kNow).credits) EXPECT_EQ(credits, 0);
}

TEST(Table, EveryNameMakesAMechanismOfThatName) {
  const auto names = mechanism_names();
  EXPECT_EQ(names.front(), "era");
  EXPECT_EQ(names.size(), 12u);
  for (const std::string& name : names) {
    Config config;
    config.mechanism = name;
    EXPECT_EQ((*make_mechanism(config))->rule(), name + (name == "contracts" ? "/3"
                                                         : name == "abacus"  ? "/2"
                                                                             : "/1"));
  }
  EXPECT_FALSE(add_mechanism("era", nullptr));
}

}  // namespace
}  // namespace market
