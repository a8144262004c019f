// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs without a bid are paid for from pots: taken in, charged, closed, through crashes and games.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pot_world.h"

namespace market::testing {
namespace {

// 16 CPUs, all of them alone: 10 credits over an hour are 10/3600 a second; of the next periods of the
// same run under "start" never less, and the bid falls with the pot. For 600 s that is 1.6667.
TEST(Pots, ARunIsChargedToThePot) {
  PotWorld world;
  ASSERT_TRUE(world.fund("10", "1:00:00").value("ok", false));
  const std::uint32_t id = world.start(16, 30, 600);
  world.run_until_settled(world.now + 700);
  EXPECT_NEAR(world.charged(id).credits(), 10.0 * 600 / 3600, 0.02);
  EXPECT_EQ(Money::from_credits(world.pot())->micro(), 10'000'000 - world.charged(id).micro());
  world.expect_balanced();
}

TEST(Pots, WithoutAPotOrWithABudgetOfNothingAJobIsOutside) {
  PotWorld world;
  Ask ask;
  EXPECT_EQ(world.submit(ask).verdict, MARKET_NO_BID);
  ASSERT_TRUE(world.fund("10", "1:00:00").value("ok", false));
  EXPECT_EQ(world.submit(ask).verdict, MARKET_ACCEPTED);
  ask.budget = "0";
  EXPECT_EQ(world.submit(ask).verdict, MARKET_NO_BID);
  ask.budget = "";
  ask.uid = kDaemon;
  EXPECT_EQ(world.submit(ask).verdict, MARKET_NO_BID);
}

TEST(Pots, AShareIsToldInWords) {
  PotWorld world;
  world.fund("10", "1:00:00");
  world.fund("40", "1:00:00", kDaemon);
  world.start(16, 60, kHour, kDaemon);
  world.step();
  world.step();
  const std::uint32_t id = world.start(1, 60, 60);
  world.step();
  EXPECT_NE(world.why(id).find("you get about 20 % of the CPUs now; it is the 1st of 1 waiting"),
            std::string::npos)
      << world.why(id);
  const auto prices =
      world.send({{"verb", "prices"}, {"partition", "main"}}, kRoot, false).at("goods").at(0);
  EXPECT_EQ(prices.at("capacity"), 16);
  EXPECT_EQ(prices.at("pots"), 2);
  EXPECT_NEAR(prices.at("spent_rate").get<double>(), 40.0 / 3600, 1e-6);
  EXPECT_NEAR(prices.at("price").get<double>(), 40.0 / 16, 1e-3);
}

// Two runs of 8 CPUs each, one killed slurmctld after 300 s: each pays half of its pot's bid of 10/7200.
TEST(Pots, ACrashChangesNoBill) {
  PotWorld world;
  world.fund("10", "2:00:00");
  world.fund("10", "2:00:00", kDaemon);
  const std::uint32_t one = world.start(8, 60, 900);
  const std::uint32_t other = world.start(8, 60, 900, kDaemon);
  world.advance(world.now + 300);
  world.crash();
  world.run_until_settled(world.now + 1200);
  // Each is allotted half and holds half: the whole bid.
  EXPECT_NEAR(world.charged(one).credits(), 10.0 / 7200 * 900, 0.1);
  EXPECT_NEAR(world.charged(other).credits(), 10.0 / 7200 * 900, 0.1);
  EXPECT_EQ(Money::from_credits(world.pot("daemon"))->micro(),
            10'000'000 - world.charged(other).micro());
  world.expect_balanced();
}

TEST(Pots, AReconfigureChangesNoBill) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const std::uint32_t id = world.start(16, 30, 600);
  world.advance(world.now + 200);
  world.configure(pot_settings("fund_max = \"0.5\";"), false);
  world.run_until_settled(world.now + 600);
  EXPECT_NEAR(world.charged(id).credits(), 10.0 * 600 / 3600, 0.02);
  world.expect_balanced();
}

// A run between two passes, or whose only pass came in the second of its start: 2 s of 10 credits an hour.
TEST(Pots, AShortRunPaysItsSeconds) {
  for (const char* enforce : {"start", "suspend", "requeue"}) {
    for (const bool is_seen : {false, true}) {
      for (const Time seconds : {0, 2}) {
        PotWorld world(pot_settings(fmt::format("fund_max = \"1\"; enforce = \"{}\";", enforce)));
        world.fund("10", "1:00:00");
        const std::uint32_t id = world.start(16, 30, 600);
        world.schedule();
        if (is_seen) world.step();
        ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING) << enforce;
        world.now = world.job(id).start + seconds;
        world.end(world.job(id), MARKET_JOB_CANCELLED);
        world.run_until_settled(world.now + 60);
        EXPECT_NEAR(world.charged(id).credits(), 10.0 / 3600 * static_cast<double>(seconds), 1e-5)
            << enforce << is_seen << seconds;
        EXPECT_EQ(Money::from_credits(world.pot())->micro(),
                  10'000'000 - world.charged(id).micro());
        world.expect_balanced();
      }
    }
  }
}

// Of a run that no pass saw nothing is set aside: from an empty pot it owes nothing.
TEST(Pots, ARunThatNobodySawOwesAnEmptyPotNothing) {
  for (const char* enforce : {"start", "suspend", "requeue"}) {
    PotWorld world(pot_settings(fmt::format("fund_max = \"1\"; enforce = \"{}\";", enforce)));
    world.fund("10", "1:00:00");
    const std::uint32_t id = world.start(16, 30, 600);
    world.schedule();
    ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING) << enforce;
    ASSERT_TRUE(world.change({{"action", "close"}}).value("ok", false));
    ASSERT_EQ(world.pot(), 0);
    world.now += 2;
    world.end(world.job(id), MARKET_JOB_CANCELLED);
    world.run_until_settled(world.now + 60);
    EXPECT_EQ(world.charged(id), Money()) << enforce;
    world.expect_balanced();
  }
}

// What is set aside for a run stays when the pot is closed, and what is left returns to the account.
TEST(Pots, AClosedPotPaysItsRuns) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const std::uint32_t id = world.start(16, 30, 600);
  world.advance(world.now + 100);
  ASSERT_TRUE(world.change({{"action", "close"}}).value("ok", false));
  EXPECT_NEAR(world.pot(), 10.0 * 1800 / 3600, 0.01);  // its first rate until its time limit
  world.run_until_settled(world.now + 700);
  EXPECT_NEAR(world.charged(id).credits(), 10.0 * 600 / 3600, 0.02);
  ASSERT_TRUE(world.change({{"action", "close"}}).value("ok", false));
  EXPECT_EQ(world.pot(), 0);
  EXPECT_EQ(world.balance("physics").posted + world.charged_in_all(), *Money::parse("1000"));
  world.expect_balanced();
}

// One runs, one waits behind it, one is held since its pot is empty and jobs without a bid are refused. Then
// another rule comes, under which nobody has a pot.
struct Abandoned : PotWorld {
  Abandoned() : PotWorld(pot_settings("fund_max = \"1\";", "unbid = \"refuse\";")) {
    fund("10", "1:00:00");
    fund("10", "1:00:00", kDaemon);
    running = start(16, 60, 1200);
    advance(now + 60);
    waiting = start(16, 60, 600);
    held = start(16, 60, 600, kDaemon);
    change({{"action", "close"}}, kDaemon);
    advance(now + 60);
    EXPECT_EQ(job(running).state, MARKET_JOB_RUNNING);
    EXPECT_TRUE(job(held).held) << why(held, kDaemon);
  }
  void change_to(const std::string& mechanism, const std::string& unbid, bool by_crash) {
    configure(fmt::format("mechanism = \"{}\"; unbid = \"{}\"; prices = {{ floor = \"0.05\"; }};\n"
                          "planning = {{ auction_period = \"0:10\"; }};\n",
                          mechanism, unbid),
              by_crash);
    advance(now + 30);
  }
  std::uint32_t running = 0, waiting = 0, held = 0;
};

TEST(Pots, WhereThereAreNoneAnyMoreTheirJobsGoOnWithoutABid) {
  for (const char* next : {"era", "contracts", "dva", "abacus", "fifo", "tycoon"}) {
    for (const bool by_crash : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", next, by_crash));
      Abandoned world;
      world.change_to(next, "best_effort", by_crash);
      for (const std::uint32_t id : {world.waiting, world.held}) {
        EXPECT_FALSE(world.job(id).held) << id;
        EXPECT_EQ(world.job(id).note, "") << id;
        EXPECT_EQ(world.job(id).site_factor, 0u) << id;
      }
      world.run_until_settled(world.now + 3 * kHour);
      for (const std::uint32_t id : {world.running, world.waiting, world.held})
        EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED) << id;
      EXPECT_GT(world.charged(world.running), Money());
      EXPECT_EQ(world.charged_in_all(), world.charged(world.running));
      world.expect_balanced();
    }
  }
}

TEST(Pots, WhereJobsNeedABidTheyWaitForOne) {
  Abandoned world;
  world.change_to("era", "refuse", false);
  world.advance(world.now + 120);
  EXPECT_TRUE(world.job(world.waiting).held);
  EXPECT_TRUE(world.job(world.held).held);
  EXPECT_NE(world.job(world.held).note, "");
  world.advance(world.now + 3 * kHour);
  EXPECT_EQ(world.job(world.held).state, MARKET_JOB_PENDING);
  const auto answer = world.send(
      {{"verb", "rebid"}, {"job", std::to_string(world.held)}, {"budget", "20"}}, kDaemon, false);
  EXPECT_TRUE(answer.value("ok", false)) << answer;
  world.run_until_settled(world.now + 3 * kHour);
  EXPECT_EQ(world.job(world.held).state, MARKET_JOB_COMPLETED);
  EXPECT_GT(world.charged(world.held), Money());
  world.expect_balanced();
}

TEST(Pots, AnOperatorsHoldStaysWhereThereAreNoPotsAnyMore) {
  Abandoned world;
  FakeJob& job = world.job(world.waiting);
  job.held = job.held_by_site = true;
  world.change_to("era", "best_effort", false);
  EXPECT_TRUE(job.held);
  EXPECT_EQ(job.note, "");
}

TEST(Pots, AnOwnersHoldStaysWhereThereAreNoPotsAnyMore) {
  Abandoned world;
  world.job(world.waiting).hold_by_owner();
  world.change_to("era", "best_effort", false);
  EXPECT_TRUE(world.job(world.waiting).held);
  EXPECT_EQ(world.job(world.waiting).note, "");
  EXPECT_FALSE(world.job(world.held).held);
}

TEST(Pots, OneUserMayHaveAPartOfTheAccount) {
  PotWorld world(pot_settings("fund_max = \"0.1\";"));
  EXPECT_TRUE(world.fund("60", "1:00:00").value("ok", false));
  EXPECT_TRUE(world.fund("40", "1:00:00").value("ok", false));
  const auto more = world.fund("0.01", "1:00:00");
  EXPECT_FALSE(more.value("ok", true));
  EXPECT_NE(more.value("error", "").find("tycoon.fund_max"), std::string::npos) << more;
  EXPECT_TRUE(world.fund("50", "1:00:00", kDaemon).value("ok", false));
  // Nor under another name.
  world.change({{"action", "fund"}, {"credits", "50"}, {"user", "ghost"}, {"account", "physics"}});
  EXPECT_EQ(world.pot("ghost"), -1);
}

TEST(Pots, StrangersCloseNothing) {
  PotWorld world;
  world.fund("10", "1:00:00");
  EXPECT_FALSE(
      world.change({{"action", "close"}, {"user", "root"}}, kDaemon, false).value("ok", true));
  EXPECT_TRUE(
      world.change({{"action", "close"}, {"user", "root"}}, kDaemon, true).value("ok", false));
}

// Two requests of 60 at once, where one user may have 100.
TEST(PotGames, FundingAtOnceIsCountedTogether) {
  PotWorld world(pot_settings("fund_max = \"0.1\";"));
  const auto ask = [&world](const std::string& token) {
    return world.send({{"verb", "fund"},
                       {"token", token},
                       {"hosts", "main"},
                       {"action", "fund"},
                       {"credits", "60"},
                       {"account", "physics"}},
                      kRoot, false);
  };
  EXPECT_TRUE(ask("one").value("waits", false));
  const auto other = ask("two");
  EXPECT_NE(other.value("error", "").find("tycoon.fund_max"), std::string::npos) << other;
  world.sync();
  EXPECT_EQ(world.pot(), 60);
}

// Two requests of 400 each fit into 1000, before the books have answered the first: a third does not.
TEST(Pots, FundingUnderWayIsCountedOnce) {
  PotWorld world;
  const auto ask = [&world](const std::string& token) {
    return world.send({{"verb", "fund"},
                       {"token", token},
                       {"hosts", "main"},
                       {"action", "fund"},
                       {"credits", "400"},
                       {"account", "physics"}},
                      kRoot, false);
  };
  EXPECT_TRUE(ask("one").value("waits", false));
  EXPECT_TRUE(ask("two").value("waits", false));
  EXPECT_NE(ask("three").value("error", "").find("available 200"), std::string::npos);
  world.sync();
  EXPECT_EQ(world.pot(), 800);
}

// A game: the token of one's own request, asked again with another's name.
TEST(PotGames, AnotherQuestionUnderAWrittenTokenTellsNothing) {
  PotWorld world;
  world.fund("10", "1:00:00");
  ASSERT_TRUE(world.fund("5", "1:00:00", kDaemon).value("ok", false));
  const auto answer = world.send({{"verb", "fund"},
                                  {"token", fmt::format("token{}", world.tokens)},
                                  {"hosts", "main"},
                                  {"action", "close"},
                                  {"user", "root"}},
                                 kDaemon, false);
  EXPECT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_EQ(answer.value("text", "none"), "");
}

TEST(PotGames, WhoClosesChangesNoInterval) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const auto answer =
      world.change({{"action", "close"}, {"user", "root"}, {"interval", "0:10"}}, kDaemon, true);
  EXPECT_NE(answer.value("error", "").find("--interval"), std::string::npos) << answer;
  EXPECT_EQ(world.books().pots()->front().interval, kHour);
}

// A game: where runs can be stopped, 10 credits over 10 s win the start, which is 1 a second for min_run (300
// s); then the interval is ten years. All of the pot is spent after 10 s.
TEST(PotGames, AnIntervalSwitchedAtTheStartBuysNoMinRun) {
  PotWorld world(pot_settings("fund_max = \"1\"; enforce = \"suspend\";"));
  ASSERT_TRUE(world.fund("10", "0:10").value("ok", false));
  const std::uint32_t id = world.start(16, 60, 200);
  world.step();
  world.set_interval("3000-0");
  world.run_until_settled(world.now + 400);
  EXPECT_NEAR(world.charged(id).credits(), 10, 0.01);
  world.expect_balanced();
}

// A game: 10 credits over 10 s win the start, and before the first charge the interval is ten years. The run
// pays what won it: what the pot holds until the time limit.
TEST(PotGames, AnIntervalSwitchedBeforeTheChargeGainsNothing) {
  PotWorld honest, trick;
  honest.fund("10", "1:00:00");
  trick.fund("10", "0:10");
  const std::uint32_t fair = honest.start(16, 60, kHour - 60);
  const std::uint32_t sly = trick.start(16, 60, kHour - 60);
  honest.step();
  trick.step();
  trick.set_interval("3000-0");
  honest.run_until_settled(honest.now + kHour);
  trick.run_until_settled(trick.now + kHour);
  EXPECT_GE(trick.charged(sly).credits(), honest.charged(fair).credits() - 0.05);
}

// A game: the pot is closed as soon as the job runs, before any pass has seen that.
TEST(PotGames, APotClosedAtTheStartStillPays) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const std::uint32_t id = world.start(16, 60, kHour - 60);
  world.step();
  world.change({{"action", "close"}});
  world.run_until_settled(world.now + kHour);
  EXPECT_NEAR(world.charged(id).credits(), 10.0 * (3600 - 60) / 3600, 0.05);
  world.expect_balanced();
}

// A game: a tiny bid of an unstartable job. B's job that is held, or depends on another one, changes
// neither what A pays nor what A is allotted.
TEST(PotGames, AJobThatCannotStartBidsNothing) {
  PotWorld world;
  world.fund("10", "1:00:00");
  world.fund("500", "0:10", kDaemon);
  Ask held;
  held.uid = kDaemon;
  held.held = true;
  world.run(held);
  const std::uint32_t id = world.start(16, 30, 600);
  world.run_until_settled(world.now + 700);
  EXPECT_NEAR(world.charged(id).credits(), 10.0 * 600 / 3600, 0.02);
}

// Two colleagues with 5 credits each hold together what one with 10 holds, and pay together the same.
TEST(PotGames, SplittingOverUsersGainsNothing) {
  PotWorld one, two;
  one.fund("10", "2:00:00");
  two.fund("5", "2:00:00");
  two.fund("5", "2:00:00", kDaemon);
  const std::uint32_t whole = one.start(8, 60, 900);
  const std::uint32_t half = two.start(4, 60, 900), rest = two.start(4, 60, 900, kDaemon);
  one.run_until_settled(one.now + 1000);
  two.run_until_settled(two.now + 1000);
  EXPECT_NEAR(two.charged(half).credits() + two.charged(rest).credits(),
              one.charged(whole).credits(), 0.02);
}

// However many jobs start at once, their pot never goes below nothing.
TEST(PotGames, ManyStartsAtOnceNeverOverdrawThePot) {
  PotWorld world;
  world.fund("1", "0:10");
  for (int i = 0; i < 16; ++i) world.start(1, 60, kHour - 60);
  world.run_until_settled(world.now + kHour + 100);
  EXPECT_GE(world.pot(), 0);
  EXPECT_EQ(Money::from_credits(world.pot())->micro() + world.charged_in_all().micro(), 1'000'000);
  world.expect_balanced();
}

}  // namespace
}  // namespace market::testing
