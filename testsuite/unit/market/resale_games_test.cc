// SPDX-License-Identifier: GPL-2.0-or-later
// Games with what is bought and not used, and that it costs the market no more than it must.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/market/accounts.h"
#include "resale_world.h"

namespace market::testing {
namespace {

void grace_passes(Resale& world) {
  world.advance(world.now + 400, 20);
}

// A cancels, B buys the hours for as much, waits for his grace and is requeued in the second of his start: that is
// no way out of what he bought, so both together owe it.
TEST(ResaleGames, ARequeueInTheSecondOfTheStartIsNoWayOut) {
  Resale world;
  const std::uint32_t first = world.buy();
  grace_passes(world);
  world.cancel(first);
  const std::uint32_t second = world.buy(kLater, "chemistry");
  grace_passes(world);
  world.advance(kLater - 10);
  world.advance(kLater, 1);
  while (world.job(second).state != MARKET_JOB_RUNNING) {
    ASSERT_LT(world.now, kLater + 100);
    world.now += 1;
    world.step();
  }
  world.requeue(world.job(second), MARKET_JOB_REQUEUED);
  world.job(second).begin = world.now + 121;
  world.end(world.job(second), MARKET_JOB_CANCELLED);
  world.step();
  world.sync();
  world.advance(kLater + 3 * kHour, 60);
  EXPECT_EQ(world.paid("physics"), "0.00");
  EXPECT_NEAR(credits(world.paid("chemistry").c_str()).credits(), 32, 0.1);
}

// A cancels; B buys the hours at the same price and moves them to others in the pass after his grace. A's are sold
// then, and B owes for the hours that he gave back: nobody pays twice, and nothing is lost.
TEST(ResaleGames, AMoveRightAfterTheGraceKeepsWhatThePurchaseBrought) {
  Resale world;
  const std::uint32_t first = world.buy();
  grace_passes(world);
  world.cancel(first);
  const std::uint32_t second = world.buy(kLater, "chemistry");
  const Time accepted = world.now;
  world.advance(accepted + 295);
  world.now = accepted + 305;
  market_change_t wish{};
  wish.begin = kLater + 5 * kHour;
  ASSERT_NE(world.change(second, kColleague, wish), MARKET_REJECTED);
  world.job(second).begin = wish.begin;
  world.step();
  world.sync();
  world.advance(kLater + 9 * kHour, 60);
  EXPECT_EQ(world.paid("physics"), "0.00");
  const double of_second = credits(world.paid("chemistry").c_str()).credits();
  EXPECT_GE(of_second, 32);  // the hours that he gave back, and what he ran later
}

// 60 purchases of one CPU for eight hours each, a minute apart, of hours that 64 CPUs were given back for: one row in
// the books for each, however the others cut the time.
TEST(ResaleGames, EachPurchaseIsOneRow) {
  Resale world;
  Ask all;
  all.budget = "4000";
  all.cpus = 64;
  all.limit_min = 1440;
  all.begin = kStart + 3 * kHour;
  const std::uint32_t whole = world.run(all);
  ASSERT_NE(whole, 0u);
  world.step();
  world.sync();
  grace_passes(world);
  world.cancel(whole);
  constexpr int purchases = 60;
  for (int i = 0; i < purchases; ++i) {
    Ask ask;
    ask.budget = "100";
    ask.cpus = 1;
    ask.limit_min = 480;
    ask.account = "chemistry";
    ask.uid = kColleague;
    ask.begin = kStart + 4 * kHour + 60 * i;
    ASSERT_NE(world.run(ask), 0u);
    if (i % 20 == 19) {
      world.step();
      world.sync();
    }
  }
  grace_passes(world);
  world.sync();
  const auto rests = world.books().open_rests("cluster");
  ASSERT_EQ(rests->rests.size(), 1u);
  EXPECT_EQ(rests->rests[0].resold.size(), static_cast<std::size_t>(purchases));
  // 64 CPUs for 24 hours less 60 for 8 hours, at 0.50 above the floor.
  EXPECT_EQ(world.set_aside(), credits("528").to_string());
}

// Two hours, of which the first is dear: who buys both may not cut to the first within his grace and have it at the
// mean of the two.
TEST(ResaleGames, ADearHourIsNotHadAtTheMean) {
  Resale world("0.6");
  const std::uint32_t id = world.buy();
  world.reprice("0.9");
  EXPECT_EQ(world.set_aside(), "38.40");
  world.limit(id, 30);
  // Half of the time at what it costs now, 32 CPU-hours at 0.90, not half of what the whole was bought for.
  EXPECT_EQ(world.set_aside(), "28.80");
}

// A's hours are bought by B, who cuts his time limit to half of it: A's are sold whole, once, and B owes for the half that
// nobody buys: 19.20 for what he keeps, and 16.00, the rest's part above the floor.
TEST(ResaleGames, ACutCountsItsPurchaseOnce) {
  for (const bool in_the_pass_of_the_grace : {false, true}) {
    Resale world;
    const std::uint32_t first = world.buy();
    grace_passes(world);
    world.cancel(first);
    EXPECT_EQ(world.set_aside(), "32.00");
    Ask ask;
    ask.budget = "40";
    ask.cpus = 64;
    ask.begin = kLater;
    ask.account = "chemistry";
    ask.uid = kColleague;
    const std::uint32_t second = world.run(ask);
    ASSERT_NE(second, 0u);
    world.step();
    const Time accepted = world.now;
    if (in_the_pass_of_the_grace) {
      world.advance(accepted + 295);
      world.now = accepted + 305;
    } else {
      grace_passes(world);
      EXPECT_EQ(world.set_aside(), "0.00");
    }
    market_change_t wish{};
    wish.time_limit_min = 30;
    ASSERT_NE(world.change(second, kColleague, wish), MARKET_REJECTED);
    world.job(second).limit_min = 30;
    world.job(second).runtime = 1800;
    world.step();
    world.sync();
    EXPECT_EQ(world.set_aside("physics"), "0.00");
    EXPECT_EQ(world.set_aside("chemistry"), "35.20");
    world.advance(kOver, 60);
    EXPECT_EQ(world.paid("physics"), "0.00");
    EXPECT_EQ(world.paid("chemistry"), "35.20");
    world.expect_all_settled();
  }
}

// 32 rests of two CPUs each, and 64 purchases of one: each brings its own part of one rest, so all of them together leave
// nothing to owe, whatever their order.
TEST(ResaleGames, ManyRestsAndManyPurchases) {
  Resale world;
  std::vector<std::uint32_t> given_back;
  for (int i = 0; i < 32; ++i) given_back.push_back(world.buy(kLater, "physics", 2));
  grace_passes(world);
  for (const std::uint32_t id : given_back) world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.step();
  world.sync();
  EXPECT_EQ(world.set_aside(), "32.00");
  for (int i = 0; i < 64; ++i) world.buy(kLater, "chemistry", 1);
  grace_passes(world);
  EXPECT_EQ(world.set_aside(), "0.00");
  EXPECT_EQ(world.set_aside("chemistry"), "38.40");
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid("physics"), "0.00");
  EXPECT_EQ(world.paid("chemistry"), "38.40");
  world.expect_all_settled();
}

// Each live job may need eight more entries, and each rest one; a million may wait for the disk.
TEST(ResaleGames, RestsHaveRoomAmongWhatWaitsForTheDisk) {
  const Accounts accounts(
      "cluster", [](LogLevel, const std::string&) {}, [] {}, false);
  EXPECT_TRUE(accounts.has_room_for(0, 1'000'000));
  EXPECT_FALSE(accounts.has_room_for(0, 1'000'001));
  EXPECT_TRUE(accounts.has_room_for(1000, 992'000));
  EXPECT_FALSE(accounts.has_room_for(1000, 992'001));
}

// Who cancels within his grace and bids again for the same hours, again and again, would keep them for nothing. The
// grace is that of his first bid: after five minutes he owes 32 of the 38.40, whatever he does.
TEST(ResaleGames, ACancelAndANewBidDoNotRenewTheGrace) {
  Resale world;
  for (int i = 0; i < 10; ++i) {
    const std::uint32_t id = world.buy(kLater + i);  // not quite the same bid
    world.advance(world.now + 240, 20);
    world.cancel(id);
  }
  world.advance(kOver + 600, 60);
  EXPECT_GE(credits(world.paid().c_str()), credits("32"));
  world.expect_all_settled();
}

// The same hours go from one member of an account to the other.
TEST(ResaleGames, AColleagueDoesNotRenewTheGrace) {
  Resale world;
  for (int i = 0; i < 6; ++i) {
    Ask ask;
    ask.budget = "40";
    ask.cpus = 64;
    ask.begin = kLater;
    ask.uid = i % 2 == 0 ? kUser : kColleague;
    const std::uint32_t id = world.run(ask);
    ASSERT_NE(id, 0u);
    world.advance(world.now + 240, 20);
    world.cancel(id);
  }
  world.advance(kOver, 60);
  EXPECT_GE(credits(world.paid().c_str()), credits("32"));
}

// A slip and its correction cost nothing, and neither does a slip in other hours.
TEST(ResaleGames, ASlipAndItsCorrectionAreFree) {
  Resale world;
  const std::uint32_t wrong = world.buy(kLater, "physics", 32);
  world.advance(world.now + 60, 20);
  world.cancel(wrong);
  const std::uint32_t right = world.buy();
  world.advance(world.now + 60, 20);
  world.cancel(right);
  grace_passes(world);
  const std::uint32_t other = world.buy(kLater + 3 * kHour);
  world.advance(world.now + 240, 20);
  world.cancel(other);
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "0.00");
  world.expect_all_settled();
}

// A held quote that is used and then cancelled counts as one that lapsed: the next comes an hour later.
TEST(ResaleGames, AHeldQuoteIsNotHeldAgainByWayOfAJob) {
  Resale world;
  const std::string hold =
      R"({"verb":"quote","hold":true,"account":"physics","time_limit_s":3600,"size":{"tasks":64,"min_cpus":64}})";
  const auto held = nlohmann::json::parse(world.query(hold, kUser, false));
  Ask ask;
  ask.quote = held["quote"];
  ask.cpus = 64;
  const std::uint32_t id = world.run(ask);
  ASSERT_NE(id, 0u);
  world.step();
  world.sync();
  world.cancel(id);
  const auto again = nlohmann::json::parse(world.query(hold, kUser, false));
  EXPECT_FALSE(again["ok"].get<bool>()) << again.dump();
}

}  // namespace
}  // namespace market::testing
