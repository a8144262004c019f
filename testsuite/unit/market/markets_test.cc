// SPDX-License-Identifier: GPL-2.0-or-later
// Several markets in one cluster: each has its own rule, prices and plan; nodes, accounts and jobs
// are one for all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/mechanism/table.h"
#include "core/util/seeded_random.h"
#include "two_markets.h"

namespace market::testing {
namespace {

using Json = nlohmann::json;

TEST(Markets, EachPartitionSellsByItsOwnRule) {
  TwoMarkets world(kFixed, kTycoon);
  // 4 CPUs for an hour at 1.00.
  EXPECT_NE(world.why("main", "9").find("accepted for 4.00"), std::string::npos);
  EXPECT_NE(world.why("side", "9").find("you pay at most 9.00"), std::string::npos);
  const std::uint32_t posted = world.run(world.ask("main", "9"));
  const std::uint32_t auctioned = world.run(world.ask("side", "9"));
  world.advance(kStart + 900);
  EXPECT_EQ(world.job(posted).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.job(auctioned).state, MARKET_JOB_COMPLETED);
  std::map<std::uint32_t, ledger::Segment> bills;
  const auto segments = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& run : *segments) bills[run.key.job_id] = run;
  EXPECT_EQ(bills[posted].mechanism, "first_fit/1");
  EXPECT_EQ(bills[posted].charged.to_string(), "4.00");
  EXPECT_EQ(bills[auctioned].mechanism, "tycoon/1");
  EXPECT_EQ(bills[auctioned].partition, "side");
  // Tycoon alone: what is left of 9.00 is bid over what is left of 3,600 s, and the run pays for the
  // 4 of 16 CPUs of its market that it uses: B' = -B / (T - t) / 4, B = 9 (1 - t / T)^(1/4).
  const auto seconds = static_cast<double>(bills[auctioned].elapsed);
  EXPECT_NEAR(bills[auctioned].charged.credits(), 9.0 * (1 - std::pow(1 - seconds / 3600, 0.25)),
              0.002);
  world.expect_balanced();
}

TEST(Markets, TheyAreShownWithTheirPriceLevels) {
  TwoMarkets world("mechanism = \"first_fit\"; prices = { fixed = \"2\"; };", kTycoon);
  const std::uint32_t run = world.run(world.ask("side", "9"));
  world.advance(kStart + 30);
  ASSERT_EQ(world.job(run).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.told(R"({"verb":"status"})")["rule"], "first: first_fit/1, second: tycoon/1");
  const Json markets = world.told(R"({"verb":"markets"})")["markets"];
  ASSERT_EQ(markets.size(), 2u);
  EXPECT_EQ(markets[0]["name"], "first");
  EXPECT_NEAR(markets[0]["now"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(markets[0]["cheapest"].get<double>(), 2, 1e-9);
  EXPECT_EQ(markets[0]["live"], 0);
  EXPECT_EQ(markets[1]["rule"], "tycoon/1");
  EXPECT_EQ(markets[1]["partitions"], Json::array({"side"}));
  EXPECT_EQ(markets[1]["live"], 1);
  // 9.00 over an hour, of which 4 of 16 CPUs are paid.
  EXPECT_NEAR(markets[1]["spent_per_hour"].get<double>(), 9.0 / 4, 0.05);
}

// Capacity, sales and lessons of one market move no price of the other.
TEST(Markets, WhatOneSellsMovesNoPriceOfTheOther) {
  TwoMarkets world(kEra, kEra);
  const std::string before = world.prices("main");
  const std::string side_before = world.prices("side");
  EXPECT_EQ(before, side_before);  // the same capacity and nothing sold
  for (int i = 0; i < 60; ++i) {
    world.now += 60;
    for (int k = 0; k < 17; ++k) world.run(world.ask("side", "400"));
    world.step();
    world.sync();
  }
  world.now = kStart + 2 * 3600;
  world.advance(world.now + 120, 60);
  EXPECT_NE(world.prices("side"), side_before);
  TwoMarkets quiet(kEra, kEra);
  quiet.now = kStart + 2 * 3600;
  quiet.advance(quiet.now + 120, 60);
  EXPECT_EQ(world.prices("main"), quiet.prices("main"));
}

// Weights 1 and rates 1, 1.5 and 2: 4 CPUs for an hour at 1.00 cost 4, 6 and 8.
TEST(Markets, ARateMultipliesThePostedPricesOfItsPartition) {
  World world(
      "mechanism = \"first_fit\"; prices = { floor = \"1\"; cap = \"4\"; fixed = \"1\"; };\n"
      "rates = ( { partition = \"large\"; factor = \"1.5\"; }, "
      "{ partition = \"huge\"; factor = \"2\"; } );\n");
  (void)world.books().deposit("physics", *Money::parse("100"), "", world.now);
  world.partitions = {{"main", {0, 1, 2, 3}}, {"large", {0, 1, 2, 3}}, {"huge", {0, 1, 2, 3}}};
  world.tell_cluster();
  world.sync();
  const std::pair<const char*, const char*> costs[] = {
      {"main", "4.00"}, {"large", "6.00"}, {"huge", "8.00"}};
  for (const auto& [partition, price] : costs) {
    Ask ask;
    ask.partition = partition;
    ask.cpus = 4;
    ask.budget = "50";
    Answer answer;
    const std::uint32_t id = world.run(ask, &answer);
    EXPECT_NE(answer.text.find(fmt::format("accepted for {} ", price)), std::string::npos)
        << answer.text;
    world.advance(world.now + 2 * 3600, 60);
    const auto bills = world.books().segments(ledger::SegmentFilter{});
    for (const ledger::Segment& bill : *bills) {
      if (bill.key.job_id == id) {
        EXPECT_EQ(bill.charged.to_string(), price) << partition;
      }
    }
  }
}

TEST(Markets, AReconfigureOfOneKeepsThePromisesOfTheOther) {
  TwoMarkets world(kEra, kFixed);
  Ask far = world.ask("main", "50");
  far.begin = kStart + 3600;
  const std::uint32_t promised = world.run(far);
  world.advance(kStart + 60);
  const Json before = world.told(fmt::format(R"({{"verb":"why","job":"{}"}})", promised));
  const std::string prices = world.prices("main");
  world.configure(TwoMarkets::settings(kEra, kTycoon), false);
  world.step();
  const Json after = world.told(fmt::format(R"({{"verb":"why","job":"{}"}})", promised));
  EXPECT_EQ(before["start"], after["start"]);
  EXPECT_EQ(before["price"], after["price"]);
  EXPECT_EQ(before["completes"], after["completes"]);
  EXPECT_EQ(world.prices("main"), prices);
  EXPECT_NE(world.why("side", "9").find("you pay at most"), std::string::npos);
}

// scontrol update Partition=: the bid goes on at the other market's terms, or is held.
TEST(Markets, APendingBidMovesToTheOtherMarketAtItsTerms) {
  TwoMarkets world(kFixed, "mechanism = \"first_fit\"; prices = { fixed = \"2\"; };");
  const auto moved = [&world](const char* budget) {
    Ask ask = world.ask("main", budget);
    ask.begin = world.now + 3600;
    const std::uint32_t id = world.run(ask);
    world.step();
    world.sync();
    market_change_t change{};
    change.partition = "side";
    EXPECT_EQ(world.change(id, 0, change), MARKET_ACCEPTED) << budget;
    world.job(id).partition = "side";
    world.step();
    world.sync();
    return id;
  };
  const std::uint32_t rich = moved("20");
  EXPECT_EQ(world.balance("physics").liens.to_string(), "8.00");  // 4 CPUs, an hour, 2.00
  const Json why = world.told(fmt::format(R"({{"verb":"why","job":"{}"}})", rich));
  EXPECT_EQ(why["price"], "8.00");
}

TEST(Markets, ABidThatTheOtherMarketWouldNotTakeIsRefusedThere) {
  TwoMarkets world(kFixed, "mechanism = \"first_fit\"; prices = { fixed = \"2\"; };");
  Ask ask = world.ask("main", "5");
  ask.begin = world.now + 3600;
  const std::uint32_t id = world.run(ask);
  world.step();
  market_change_t change{};
  change.partition = "side";
  EXPECT_EQ(world.change(id, 0, change), MARKET_REJECTED);
}

TEST(Markets, APartitionOfNoMarketTakesNoBids) {
  TwoMarkets world(kFixed, kFixed);
  world.partitions["none"] = {0};
  world.tell_cluster();
  EXPECT_NE(world.why("none", "9").find("partition none takes no bids"), std::string::npos);
}

TEST(Markets, ANodeOfTwoMarketsIsSoldByNeither) {
  TwoMarkets world(kFixed, kFixed);
  world.partitions["side"] = {3, 4, 5, 6, 7};
  world.tell_cluster();
  for (const char* partition : {"main", "side"}) {
    EXPECT_NE(world.why(partition, "9").find("node n4 is in markets first and second"),
              std::string::npos)
        << world.why(partition, "9");
  }
  const Json status = world.told(R"({"verb":"status"})");
  EXPECT_NE(status["warnings"].dump().find("node n4 is in markets first and second"),
            std::string::npos);
  world.partitions["side"] = {4, 5, 6, 7};
  world.tell_cluster();
  EXPECT_NE(world.why("main", "9").find("accepted"), std::string::npos);
}

TEST(Markets, OneMayRefuseJobsWithoutABidAndTheOtherNot) {
  TwoMarkets world("unbid = \"refuse\";", kFixed);
  Ask none;
  none.partition = "main";
  EXPECT_EQ(world.submit(none).verdict, MARKET_REJECTED);
  none.partition = "side";
  EXPECT_EQ(world.submit(none).verdict, MARKET_NO_BID);
  none.partition = "side,main";
  EXPECT_EQ(world.submit(none).verdict, MARKET_REJECTED);
}

// Every pair of rules side by side through a day of random jobs, a reconfigure that changes the
// second one, and a crash: all that was promised runs, and the books add up.
class Pairs : public ::testing::TestWithParam<std::string> {};

TEST_P(Pairs, MoneyIsKeptAcrossBoth) {
  const std::string first = GetParam();
  for (const std::string& second : mechanism_names()) {
    const auto rule = [](const std::string& name) {
      return fmt::format("mechanism = \"{}\";", name);
    };
    TwoMarkets world(rule(first), rule(second));
    SeededRandom random(7);
    std::size_t accepted = 0;
    for (int i = 0; i < 40; ++i) {
      Ask ask = world.ask(i % 2 == 0 ? "main" : "side", "30",
                          static_cast<std::uint32_t>(1 + random.below(8)));
      ask.limit_min = static_cast<std::uint32_t>(5 + random.below(55));
      ask.runtime = ask.limit_min * Time{30};
      accepted += world.run(ask) != 0;
      world.advance(world.now + 60, 60);
      if (i == 20) world.configure(TwoMarkets::settings(rule(first), kTycoon), false);
      if (i == 30) world.crash();
    }
    world.advance(world.now + 8 * 3600, 120);
    world.cancel_kept_back();
    const auto check = world.books().check();
    EXPECT_EQ(check->sum, Money()) << first << " and " << second;
    EXPECT_TRUE(check->faults.empty()) << first << " and " << second << ": " << check->faults[0];
    EXPECT_EQ(world.balance("physics").liens, Money()) << first << " and " << second;
    EXPECT_GT(accepted, 10u) << first << " and " << second;
    for (const auto& [id, job] : world.jobs)
      EXPECT_TRUE(job.state == MARKET_JOB_COMPLETED || job.state_desc == "Price")
          << first << " and " << second << ": job " << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Pairs, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& pair) { return pair.param; });

}  // namespace
}  // namespace market::testing
