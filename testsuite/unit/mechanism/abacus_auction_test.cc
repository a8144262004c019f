// SPDX-License-Identifier: GPL-2.0-or-later
// What bids in abacus may say of themselves: utilities, arrays that are one bid, service levels.
#include "core/mechanism/abacus_auction.h"

#include <gtest/gtest.h>

#include <deque>

namespace market {
namespace {

constexpr Time kNow = 1800000000;

Capacity of(Tres tres) {
  Capacity capacity;
  capacity.total = std::move(tres);
  return capacity;
}

struct Bids {
  Bid& add(std::uint32_t uid, double budget, Tres tres, Time limit = 60) {
    Bid& bid = bids.emplace_back();
    bid.uid = uid;
    bid.request.demand.tres = std::move(tres);
    bid.request.duration = limit;
    LiveBid one;
    one.id = live.size() + 1;
    one.bid = &bid;
    one.made = kNow;
    one.budget = budget;
    live.push_back(one);
    return bid;
  }
  std::deque<Bid> bids;
  std::vector<LiveBid> live;
};

double share_of(const Standing& standing, std::string_view tres) {
  for (const auto& [name, share] : *standing.shares) {
    if (name == tres) return share;
  }
  return -1;
}

// Worked out from equations (1) and (4) of the paper apart from this code: 100 and 200 with 3 : 2, 150 with 2 : 4,
// linear, alpha 0.5.
TEST(AbacusUtility, NamedWeightsDecideTheShares) {
  AbacusAuction auction{MarketSettings{}};
  auction.update(of({{"cpu", 16}, {"gres/map", 16}}), kNow);
  Bids bids;
  bids.add(1, 100, {{"cpu", 1}, {"gres/map", 1}}).utility = *parse_utility("cpu:3,gres/map:2");
  bids.add(2, 200, {{"cpu", 1}, {"gres/map", 1}}).utility = *parse_utility("cpu:3,gres/map:2");
  bids.add(3, 150, {{"cpu", 1}, {"gres/map", 1}}).utility = *parse_utility("cpu:2,gres/map:4");
  const double wanted[3][2] = {{.3121, .2391}, {.4345, .3474}, {.2533, .4135}};
  const auto standings = auction.auction(bids.live, {}, kNow);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(share_of(standings[i], "cpu"), wanted[i][0], 1e-3);
    EXPECT_NEAR(share_of(standings[i], "gres/map"), wanted[i][1], 1e-3);
  }
}

// What it asks for and does not weigh has a share all the same, so that it starts sometime.
TEST(AbacusUtility, WhatIsAskedForIsNeverWithoutAShare) {
  for (const char* text : {"cpu:1", "cpu:1,log", "cpu:1,mem:0"}) {
    AbacusAuction auction{MarketSettings{}};
    auction.update(of({{"cpu", 16}, {"mem", 1000}}), kNow);
    Bids bids;
    bids.add(1, 100, {{"cpu", 1}, {"mem", 100}}).utility = *parse_utility(text);
    bids.add(2, 100, {{"cpu", 1}, {"mem", 100}});
    const auto standings = auction.auction(bids.live, {}, kNow);
    EXPECT_GT(share_of(standings[0], "mem"), 0) << text;
    EXPECT_LT(share_of(standings[0], "mem"), 0.4) << text;
    EXPECT_NE(standings[0].turn, 0u) << text;
  }
}

// A user with a linear and a logarithmic bid has both utilities: alone he has all.
TEST(AbacusUtility, UtilitiesOfBothKindsAddUp) {
  AbacusAuction auction{MarketSettings{}};
  auction.update(of({{"cpu", 16}, {"mem", 1000}}), kNow);
  Bids bids;
  bids.add(1, 100, {{"cpu", 1}, {"mem", 100}}).utility = *parse_utility("cpu:3,mem:2");
  bids.add(1, 100, {{"cpu", 1}, {"mem", 100}}).utility = *parse_utility("cpu:1,mem:1,log");
  bids.add(2, 200, {{"cpu", 1}, {"mem", 100}});
  const auto standings = auction.auction(bids.live, {}, kNow);
  EXPECT_EQ(share_of(standings[0], "cpu"), share_of(standings[1], "cpu"));
  EXPECT_NEAR(share_of(standings[0], "cpu") + share_of(standings[2], "cpu"), 1, 1e-9);
  EXPECT_NEAR(share_of(standings[0], "mem") + share_of(standings[2], "mem"), 1, 1e-9);
}

// 300 tasks of one CPU on 16: as many tokens as are free, and one ahead of them (5 % of 16 is less than one).
TEST(AbacusArrays, TokensAreWhatCouldStartAndOneMore) {
  AbacusAuction auction{MarketSettings{}};
  auction.update(of({{"cpu", 16}}), kNow);
  for (const std::uint32_t running : {0u, 5u, 16u}) {
    Bids bids;
    bids.add(1, 300, {{"cpu", 1}}).array_tasks = 300;
    bids.live[0].waiting = 300 - running;
    for (std::uint32_t i = 0; i < running; ++i) {
      bids.add(1, 1, {{"cpu", 1}});
      bids.live.back().running = bids.live.back().in_array = true;
    }
    const auto standings = auction.auction(bids.live, {}, kNow);
    EXPECT_EQ(standings[0].tokens, 16 - running + 1);
    EXPECT_EQ(standings[0].turns, 1u);
    EXPECT_NEAR(standings[0].rate, 1.0 / 60, 1e-12);
  }
}

// Behind a job that finds no room an array without another token gets what is free, and one that has some before
// it no more than that.
TEST(AbacusArrays, AnArrayDoesNotPassAJobThatWaitsForRoom) {
  int before = 0;
  for (int seed = 0; seed < 40; ++seed) {
    MarketSettings settings;
    settings.seed = "room " + std::to_string(seed);
    AbacusAuction auction(settings);
    auction.update(of({{"cpu", 16}}), kNow);
    Bids bids;
    bids.add(1, 300, {{"cpu", 1}}).array_tasks = 300;
    bids.live[0].waiting = 300;
    bids.add(2, 300, {{"cpu", 16}});
    bids.add(3, 1, {{"cpu", 1}});
    bids.live[2].running = true;
    const auto standings = auction.auction(bids.live, {}, kNow);
    const bool is_first = standings[0].turn < standings[1].turn;
    before += is_first ? 1 : 0;
    EXPECT_LE(standings[0].tokens, is_first ? 16u : 15u);
    EXPECT_GT(standings[0].tokens, 0u);
  }
  EXPECT_GT(before, 0);
}

// One bid for 300 tasks has the share and the odds of 300 bids of a third of a credit.
TEST(AbacusArrays, OneBidIsAsMuchAsItsTasks) {
  std::array<double, 2> starts{};
  for (const bool is_array : {false, true}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      MarketSettings settings;
      settings.seed = "tasks " + std::to_string(repeat);
      AbacusAuction auction(settings);
      auction.update(of({{"cpu", 1}}), kNow);
      Bids bids;
      bids.add(1, 1, {{"cpu", 1}});
      if (is_array) {
        bids.add(2, 3, {{"cpu", 1}}).array_tasks = 30;
        bids.live.back().waiting = 30;
      }
      for (int i = 0; i < 30 && !is_array; ++i) bids.add(2, 0.1, {{"cpu", 1}});
      for (int start = 0; start < 20; ++start) {
        const auto standings = auction.auction(bids.live, {}, kNow);
        std::size_t first = 0;
        for (std::size_t i = 0; i < standings.size(); ++i) {
          if (standings[i].turn == 1) first = i;
        }
        starts[is_array ? 1 : 0] += first == 0 ? 0 : 1.0 / 20;
        auction.started(bids.live[first].id);
        if (!is_array || first == 0) bids.live[first].id += 1000;
      }
    }
  }
  EXPECT_NEAR(starts[0], starts[1], 1.5);  // of 20, about 20 × √3 / (1 + √3) = 12.7
  EXPECT_NEAR(starts[1], 12.7, 2);
}

// Who asks for twice the time that his jobs run starts half as often: of 3,000 starts a third.
TEST(AbacusGames, PaddingTheTimeLimitLoses) {
  MarketSettings settings;
  settings.seed = "padding";
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 1}}), kNow);
  Bids bids;
  bids.add(1, 1, {{"cpu", 1}}, 60);
  bids.add(2, 1, {{"cpu", 1}}, 120);
  double padded = 0;
  for (int start = 0; start < 3000; ++start) {
    const auto standings = auction.auction(bids.live, {}, kNow);
    const std::size_t first = standings[0].turn == 1 ? 0 : 1;
    padded += first == 1 ? 1 : 0;
    auction.started(bids.live[first].id);
    bids.live[first].id += 2;
  }
  EXPECT_NEAR(padded, 1000, 3 * 26);  // √(3000 × 1/3 × 2/3) = 26
}

// A limit that its owner raises for a moment starts tasks that were not drawn: each of them uses up a lot, so that of 3,000
// starts he has half all the same.
TEST(AbacusGames, TasksThatStartUndrawnUseUpLots) {
  MarketSettings settings;
  settings.seed = "throttle";
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 1}}), kNow);
  Bids bids;
  bids.add(1, 100, {{"cpu", 1}}).array_tasks = 5000;
  bids.add(2, 100, {{"cpu", 1}}).array_tasks = 5000;
  bids.live[0].waiting = bids.live[1].waiting = 5000;
  double raised = 0;
  for (int start = 0; start < 3000;) {
    const auto standings = auction.auction(bids.live, {}, kNow);
    const std::size_t first = standings[0].turn == 1 ? 0 : 1;
    const int tasks = first == 0 ? 20 : 1;
    for (int i = 0; i < tasks; ++i) auction.started(bids.live[first].id);
    raised += first == 0 ? tasks : 0;
    start += tasks;
  }
  EXPECT_NEAR(raised, 1500, 200);
}

// A job of 16 CPUs has room among 32 and does not start, whatever its nodes have against it: for two minutes its room is
// kept, then an array of 300 tasks has tokens for all that is free. A question in between changes nothing.
TEST(AbacusGames, AJobThatItsNodesKeepWaitingKeepsNoArrayBack) {
  MarketSettings settings;
  settings.seed = "kept";
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 32}}), kNow);
  Bids bids;
  bids.add(1, 1, {{"cpu", 1}}).array_tasks = 300;
  bids.live[0].waiting = 300;
  bids.add(2, 1e6, {{"cpu", 16}});
  const auto tokens = [&](Time at) { return auction.auction(bids.live, {}, at)[0].tokens; };
  EXPECT_LE(tokens(kNow), 17u);
  EXPECT_LE(tokens(kNow + 120), 17u);
  bids.add(3, 1, {{"cpu", 1}});
  bids.live[2].id = 0;
  EXPECT_LE(tokens(kNow + 120), 17u);
  bids.live.pop_back();
  EXPECT_EQ(tokens(kNow + 121), 33u);
  bids.live[1].id = 99;  // another job has its own two minutes
  EXPECT_LE(tokens(kNow + 122), 17u);
}

// The lots are in memory. Of two users alike, one of whom has had two thirds of what started before, the other
// begins beside him after a restart.
TEST(AbacusGames, ARestartGivesNobodyMoreThanBefore) {
  double ahead = 0;
  constexpr int repeats = 400;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    MarketSettings settings;
    settings.seed = "restart " + std::to_string(repeat);
    Bids bids;
    bids.add(1, 1, {{"cpu", 1}});
    bids.add(2, 1, {{"cpu", 1}});
    for (int life = 0; life < 3; ++life) {
      AbacusAuction auction(settings);
      auction.update(of({{"cpu", 1}}), kNow);
      for (int start = 0; start < 3; ++start) {
        const auto standings = auction.auction(bids.live, {}, kNow);
        const std::size_t first = standings[0].turn == 1 ? 0 : 1;
        ahead += first == 0 ? 1.0 / repeats : -1.0 / repeats;
        auction.started(bids.live[first].id);
        bids.live[first].id += 2;
      }
    }
  }
  EXPECT_NEAR(ahead, 0, 1);
}

// 64 CPUs, limits of two minutes: a needs 48/64 × 2/3 = .5, b 32/64 × 2/3 = .33, c 16/64 × 2/10 = .05. By budget for
// a needed share (160, 270, 200) b and c come first with shares √90 and √10 of their sum, .75 and .25; with a b would have
// .44, c .15, a only √80/(√80 + √90 + √10) = .414.
TEST(AbacusLevels, TheProlificPoolStartsFirst) {
  MarketSettings settings;
  settings.abacus.levels = AbacusLevels::kDeadline;
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 64}}), kNow);
  Bids bids;
  bids.add(1, 80, {{"cpu", 48}}, 120).level = kNow + 180;
  bids.add(2, 90, {{"cpu", 32}}, 120).level = kNow + 180;
  bids.add(3, 10, {{"cpu", 16}}, 120).level = kNow + 600;
  const auto standings = auction.auction(bids.live, {}, kNow);
  EXPECT_FALSE(standings[0].level->prolific);
  EXPECT_NEAR(standings[0].level->needs, 0.5, 1e-12);
  EXPECT_TRUE(standings[1].level->prolific);
  EXPECT_NEAR(standings[1].level->needs, 1.0 / 3, 1e-12);
  EXPECT_NEAR(standings[1].level->has, 0.75, 1e-4);
  EXPECT_TRUE(standings[2].level->prolific);
  EXPECT_LT(standings[0].priority, 0.5);
  EXPECT_GT(standings[1].priority, standings[2].priority);
  EXPECT_GT(standings[2].priority, 0.5);
  EXPECT_EQ(auction.rule(), "abacus/2-slo");
}

// Level first, whatever another bids without one: it needs .05 and has √10 ÷ (√10 + √1000) = .09.
TEST(AbacusLevels, ABidWithoutALevelComesBehindThem) {
  MarketSettings settings;
  settings.abacus.levels = AbacusLevels::kDeadline;
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 64}}), kNow);
  Bids bids;
  bids.add(1, 1000, {{"cpu", 64}}, 120);
  bids.add(2, 10, {{"cpu", 16}}, 120).level = kNow + 600;
  const auto standings = auction.auction(bids.live, {}, kNow);
  EXPECT_TRUE(standings[0].level->prolific);
  EXPECT_TRUE(standings[1].level->prolific);
  EXPECT_GT(standings[1].priority, standings[0].priority);
}

// A submission is told of its level among 100 bids with one, and not among 101.
TEST(AbacusLevels, AmongManyNobodyIsToldOfHisOwn) {
  MarketSettings settings;
  settings.abacus.levels = AbacusLevels::kDeadline;
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 64}}), kNow);
  Bids bids;
  for (std::uint32_t uid = 0; uid < 101; ++uid) {
    bids.add(uid, 1, {{"cpu", 1}}, 60).level = kNow + 600000;
    bids.live.back().id = uid;  // the first one asks
    if (uid >= 99) {
      EXPECT_EQ(auction.auction(bids.live, {}, kNow)[0].level.has_value(), uid == 99);
    }
  }
}

// It owes all or nothing, by when it started.
TEST(AbacusLevels, ARunOwesOnlyWhenItStartedInTime) {
  MarketSettings settings;
  settings.abacus.levels = AbacusLevels::kDeadline;
  const AbacusAuction auction(settings);
  Bids bids;
  Bid& bid = bids.add(1, 80, {{"cpu", 48}}, 120);
  bid.level = kNow + 180;
  EXPECT_EQ(auction.owes({&bid, 80, 1, 3, true, kNow + 60}), 80);
  EXPECT_EQ(auction.owes({&bid, 80, 1, 3, true, kNow + 61}), 0);
  EXPECT_EQ(auction.owes({&bid, 80, 1, 3, true, kNow + 61, 60}),
            80);  // Slurm cut its limit: done by then
  bid.level = 0;  // without one as any other
  EXPECT_EQ(auction.owes({&bid, 80, 1, 30, true, kNow + 61}), 20);
}

// Who is in no pool has as many draws as bids, whatever he takes back.
TEST(AbacusLevels, NoDrawIsHadTwice) {
  MarketSettings settings;
  settings.abacus.levels = AbacusLevels::kDeadline;
  AbacusAuction auction(settings);
  auction.update(of({{"cpu", 64}}), kNow);
  Bids bids;
  bids.add(1, 1, {{"cpu", 64}}, 120).level = kNow + 60;  // too late for it
  const double before = auction.auction(bids.live, {}, kNow)[0].priority;
  bids.live[0].id = 99;
  bids.live[0].made = kNow + 5;
  EXPECT_EQ(auction.auction(bids.live, {}, kNow + 5)[0].priority, before);
  EXPECT_LT(before, 0.5);
}

// A bid of a million without a level waits: nobody's share is less for it, and it comes behind.
TEST(AbacusLevels, WhoNeedsNothingKeepsNobodyOut) {
  for (const bool beside : {false, true}) {
    MarketSettings settings;
    settings.abacus.levels = AbacusLevels::kDeadline;
    AbacusAuction auction(settings);
    auction.update(of({{"cpu", 64}}), kNow);
    Bids bids;
    bids.add(1, 1, {{"cpu", 48}}, 120).level = kNow + 180;
    if (beside) bids.add(2, 1e6, {{"cpu", 64}}, 120);
    const auto standings = auction.auction(bids.live, {}, kNow);
    EXPECT_TRUE(standings[0].level->prolific);
    EXPECT_NEAR(standings[0].level->has, 1, 1e-9);
    if (beside) {
      EXPECT_LT(standings[1].priority, standings[0].priority);
    }
  }
}

}  // namespace
}  // namespace market
