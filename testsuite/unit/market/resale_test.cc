// SPDX-License-Identifier: GPL-2.0-or-later
// What is bought and not used: 64 CPU-hours at 0.60 cost 38.40, of which 6.40 are the floor of 0.10.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "resale_world.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

TEST(Resale, CancelledAndBoughtByNobody) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  EXPECT_EQ(world.set_aside(), "38.40");
  world.cancel(id);
  EXPECT_EQ(world.set_aside(), "32.00");
  EXPECT_EQ(world.paid(), "0.00");
  const auto bill = read_note(world.job(id).note);
  ASSERT_TRUE(bill);
  EXPECT_EQ(bill->rest, credits("32"));
  EXPECT_EQ(bill->rest_until, kLater + kHour);
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "32.00");
  world.expect_all_settled();
}

TEST(Resale, CancelledAndBoughtByAnother) {
  const std::pair<const char*, const char*> cases[] = {
      {"0.1", "32.00"}, {"0.4", "12.80"}, {"0.6", "0.00"}, {"0.9", "0.00"}};
  for (const auto& [price, owed] : cases) {
    SCOPED_TRACE(price);
    Resale world;
    const std::uint32_t id = world.buy();
    world.advance(kStart + 400);
    world.reprice(price);
    world.cancel(id);
    Ask other;
    other.budget = "60";
    other.cpus = 64;
    other.begin = kLater;
    other.account = "chemistry";
    other.uid = kColleague;
    ASSERT_NE(world.run(other), 0u);
    world.advance(kOver + 400, 60);
    EXPECT_EQ(world.paid(), owed);
    EXPECT_EQ(world.paid("chemistry"),
              credits(price).scaled(64, 1).to_string());  // what he pays is no less for it
    world.expect_all_settled();
  }
}

TEST(Resale, WithinTheGraceOnlyWhatRanIsOwed) {
  Resale world;
  const std::uint32_t slip = world.buy();
  world.advance(kStart + 290);
  world.cancel(slip);
  EXPECT_EQ(world.set_aside(), "0.00");
  const std::uint32_t id = world.buy(0);
  world.advance(world.now + 30, 1);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  world.now = world.job(id).start + 225;
  world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "2.40");  // 225 of 3600 seconds
  world.expect_all_settled();
}

TEST(Resale, DoneAfterHalfTheTime) {
  for (const auto& [price, at_once, at_last] :
       {std::tuple("0.6", "19.20", "35.20"), std::tuple("0.1", "3.20", "3.20")}) {
    SCOPED_TRACE(price);
    Resale world(price);
    const std::uint32_t id = world.buy(0);
    world.advance(kStart + 30, 1);
    world.now = world.job(id).start + 1800;
    world.end(world.job(id), MARKET_JOB_COMPLETED);
    world.step();
    world.sync();
    EXPECT_EQ(world.paid(), at_once);
    world.advance(kStart + kHour + 400, 60);
    EXPECT_EQ(world.paid(), at_last);
    world.expect_all_settled();
  }
}

TEST(Resale, ReservedAndUsedCanBeSet) {
  for (const auto& [charge, owed] : {std::pair("reserved", "38.40"), std::pair("used", "19.20")}) {
    Resale world("0.6", fmt::format("charge = \"{}\";\n", charge));
    const std::uint32_t slip = world.buy();
    world.advance(kStart + 400);
    world.cancel(slip);
    EXPECT_EQ(world.set_aside(), "0.00");
    const std::uint32_t id = world.buy(0);
    world.advance(world.now + 30, 1);
    world.now = world.job(id).start + 1800;
    world.end(world.job(id), MARKET_JOB_COMPLETED);
    world.advance(kOver, 60);
    EXPECT_EQ(world.paid(), owed);
    world.expect_all_settled();
  }
}

// Nobody's own price falls by giving back and buying again.
TEST(Resale, BoughtAgainCheapItCostsTheSame) {
  for (const char* account : {"physics", "chemistry"}) {
    Resale world;
    const std::uint32_t id = world.buy();
    world.advance(kStart + 400);
    world.reprice("0.4");
    world.cancel(id);
    world.buy(kLater, account);
    world.advance(kOver + 400, 60);
    EXPECT_EQ(
        (credits("2000") - world.balance("physics").posted - world.balance("chemistry").posted)
            .to_string(),
        "38.40")
        << account;
    world.expect_all_settled();
  }
}

// A colleague who buys the hours and takes them back for nothing brings nothing; one who takes them
// back too late pays for them.
TEST(Resale, APurchaseTakenBackBringsNothing) {
  Resale free;
  std::uint32_t id = free.buy();
  free.advance(kStart + 400);
  free.reprice("0.4");
  free.cancel(id);
  id = free.buy(kLater, "chemistry");
  free.advance(free.now + 290);
  free.cancel(id);
  free.advance(kOver, 60);
  EXPECT_EQ(free.paid(), "32.00");
  EXPECT_EQ(free.paid("chemistry"), "0.00");

  Resale late;
  id = late.buy();
  late.advance(kStart + 400);
  late.reprice("0.4");
  late.cancel(id);
  id = late.buy(kLater, "chemistry");
  late.advance(late.now + 400);
  late.cancel(id);
  late.advance(kOver, 60);
  EXPECT_EQ(late.paid(), "12.80");
  EXPECT_EQ(late.paid("chemistry"), "19.20");
  late.expect_all_settled();
}

// The last that was given back is sold first, and no more of it than was given back.
TEST(Resale, LastInFirstOut) {
  Resale world;
  const std::uint32_t first = world.buy(kLater, "physics", 32);
  const std::uint32_t last = world.buy(kLater, "chemistry", 32);
  world.advance(kStart + 400);
  world.cancel(first);
  world.advance(world.now + 60);
  world.cancel(last);
  EXPECT_EQ(world.set_aside(), "16.00");
  EXPECT_EQ(world.set_aside("chemistry"), "16.00");
  world.buy(kLater, "physics", 32);  // at 0.60
  world.advance(world.now + 400);
  EXPECT_EQ(world.set_aside("chemistry"), "0.00");
  EXPECT_EQ(world.set_aside(), "35.20");  // 19.20 and 16.00
  world.advance(kOver + 400, 60);
  EXPECT_EQ(world.paid("chemistry"), "0.00");
  EXPECT_EQ(world.paid(), "35.20");
  world.expect_all_settled();
}

TEST(Resale, ShorterThenLongerCostsTheSame) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  world.limit(id, 30);
  EXPECT_EQ(world.set_aside(), "35.20");  // half of the price, and 16.00 for the rest
  EXPECT_EQ(read_note(world.job(id).note)->price, credits("19.2"));
  world.limit(id, 60);
  EXPECT_EQ(world.set_aside(), "38.40");
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "38.40");
  world.expect_all_settled();
}

TEST(Resale, ShorterWithinTheGraceIsFree) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 100);
  world.limit(id, 30);
  EXPECT_EQ(world.set_aside(), "19.20");
  world.advance(kStart + 400);  // counted from the acceptance, whatever was changed since
  world.cancel(id);
  EXPECT_EQ(world.set_aside(), "16.00");
}

TEST(Resale, AHeldJobLosesItsHoursAndPaysForThem) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  world.job(id).hold_by_owner();
  world.advance(kLater + 60, 60);
  EXPECT_EQ(world.set_aside(), "32.00");
  world.crash();
  world.advance(world.now + 60);
  EXPECT_EQ(world.set_aside(), "32.00") << "once, also when everything is forgotten";
  world.cancel(id);
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "32.00");
  world.expect_all_settled();
}

// Held for half of its hour and let go: 1.5 hours are paid.
TEST(Resale, AHeldJobThatIsLetGoBuysAgain) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  world.job(id).hold_by_owner();
  world.advance(kLater + 1800, 60);
  world.job(id).held = false;
  world.job(id).state_desc.clear();
  world.advance(kLater + 4 * kHour, 60);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  // The second purchase begins within a minute or two after the release, and brings what remains.
  const Time held = world.job(id).start - kLater;
  const double owed = 38.40 + 32.00 * static_cast<double>(held) / 3600;
  EXPECT_NEAR(credits(world.paid().c_str()).credits(), owed, 1e-4);
  world.expect_all_settled();
}

TEST(Resale, ARequeuedRunOwesWhatNobodyBuys) {
  Resale world;
  const std::uint32_t id = world.buy(0);
  world.advance(kStart + 30, 1);
  world.now = world.job(id).start + 1800;
  world.requeue(world.job(id), MARKET_JOB_REQUEUED);
  world.advance(world.now + 3 * kHour, 60);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  // 1.5 hours are 57.60, and the minute or so between the runs 0.50 above the floor.
  EXPECT_GE(credits(world.paid().c_str()), credits("57.6"));
  EXPECT_LT(credits(world.paid().c_str()), credits("60"));
  world.expect_all_settled();
}

TEST(Resale, AnOperatorsCancelIsFree) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  world.job(id).by_operator = true;
  world.cancel(id);
  EXPECT_EQ(world.set_aside(), "0.00");
  world.expect_all_settled();
}

TEST(Resale, ItOutlivesAKill) {
  for (const bool is_written : {true, false}) {
    SCOPED_TRACE(is_written);
    Resale world;
    const std::uint32_t id = world.buy();
    world.advance(kStart + 400);
    world.reprice("0.4");
    if (is_written) {
      world.cancel(id);
    } else {  // the end is in Slurm's state, and not in the books
      world.end(world.job(id), MARKET_JOB_CANCELLED);
    }
    world.crash();
    world.advance(world.now + 120);
    EXPECT_EQ(world.set_aside(), "32.00");
    const std::uint32_t other = world.buy(kLater, "chemistry");
    world.advance(world.now + 400);
    EXPECT_EQ(world.set_aside(), "12.80");
    world.crash();
    world.advance(world.now + 120);
    EXPECT_EQ(world.set_aside(), "12.80") << "a purchase counts once";
    world.advance(kOver + 400, 60);
    EXPECT_EQ(world.paid(), "12.80");
    EXPECT_EQ(world.job(other).state, MARKET_JOB_COMPLETED);
    world.expect_all_settled();
  }
}

// slurmctld was killed before it had saved the cancel: the job is back, and so is its place.
TEST(Resale, AForgottenCancelOwesNothing) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  const FakeJob before = world.job(id);
  world.cancel(id);
  EXPECT_EQ(world.set_aside(), "32.00");
  world.job(id) = before;
  world.crash();
  world.advance(world.now + 120);
  EXPECT_EQ(world.set_aside(), "38.40");
  world.cancel(id);
  EXPECT_EQ(world.set_aside(), "32.00");
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "32.00");
  world.expect_all_settled();
}

TEST(Resale, ItOutlivesAChangeOfRule) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  world.cancel(id);
  world.configure("mechanism = \"tycoon\";\nprices = { floor = \"0.1\"; };\n", false);
  world.advance(kOver, 60);
  EXPECT_EQ(world.paid(), "32.00");
  world.expect_all_settled();
}

// Waiting for the resale, the credits cannot be spent.
TEST(Resale, WhatWaitsIsSetAside) {
  Resale world;
  (void)world.books().withdraw("physics", credits("950"), "", world.now);
  world.sync();
  const std::uint32_t id = world.buy();  // 38.40 of 50
  world.advance(kStart + 400);
  world.cancel(id);
  Ask ask;
  ask.budget = "40";
  ask.cpus = 32;
  ask.begin = kLater + 2 * kHour;
  const Answer answer = world.submit(ask);
  EXPECT_EQ(answer.verdict, MARKET_REJECTED);
  EXPECT_THAT(answer.text, HasSubstr("needs 19.20, available 18.00 on physics"));
}

// A move to hours elsewhere needs the funds of both, and is refused without them.
TEST(Resale, AMoveNeedsTheFundsOfBoth) {
  Resale world;
  (void)world.books().withdraw("physics", credits("950"), "", world.now);
  world.sync();
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  market_change_t wish{};
  wish.begin = kLater + 5 * kHour;
  EXPECT_EQ(world.change(id, kUser, wish), MARKET_REJECTED);
}

TEST(Resale, ACancelledBidIsUnlearned) {
  Resale world;
  const std::uint32_t id = world.buy();
  world.advance(kStart + 400);
  EXPECT_EQ(world.books().past_bids("cluster", 0, kOver)->size(), 1u);
  world.cancel(id);
  EXPECT_TRUE(world.books().past_bids("cluster", 0, kOver)->empty());
}

}  // namespace
}  // namespace market::testing
