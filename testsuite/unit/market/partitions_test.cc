// SPDX-License-Identifier: GPL-2.0-or-later
// sbatch -p a,b: the cheapest posted start of all partitions that the user may use.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Two nodes of 4 CPUs in each partition; a CPU-hour costs 2 in main, 1 in side; dear is a partition
// on side's nodes at three times its price, talk holds an auction, none is in no market.
struct Partitions : World {
  Partitions()
      : World(
            "prices = { floor = \"1\"; cap = \"4\"; fixed = \"1\"; };\n"
            "mechanism = \"first_fit\"; qos = ( { name = \"high\"; factor = \"2\"; } );\n"
            "markets = (\n"
            "  { name = \"one\"; partitions = [ \"main\" ]; prices = { fixed = \"2\"; }; "
            "    qos = ( { name = \"high\"; factor = \"0.25\"; } ); },\n"
            "  { name = \"two\"; partitions = [ \"side\", \"dear\" ];\n"
            "    rates = ( { partition = \"dear\"; factor = \"3\"; } ); },\n"
            "  { name = \"three\"; partitions = [ \"talk\" ]; mechanism = \"tycoon\"; } );\n",
            8, 4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    partitions = {
        {"main", {0, 1}}, {"side", {2, 3}}, {"dear", {2, 3}}, {"talk", {4, 5}}, {"none", {6, 7}}};
    tell_cluster();
    sync();
    step();
  }
  Ask ask(const char* names, const char* budget = "50", std::uint32_t cpus = 4) {
    Ask ask;
    ask.partition = names;
    ask.budget = budget;
    ask.cpus = cpus;
    return ask;
  }
  Answer answer(const char* names, const char* budget = "50", std::uint32_t cpus = 4) {
    return test_only(ask(names, budget, cpus));
  }
};

TEST(Partitions, TheCheapestOneIsTakenInWhateverOrder) {
  Partitions world;
  for (const char* names : {"main,side", "side,main", "dear,main,side", ",side,,main,side,"}) {
    const Answer answer = world.answer(names);
    EXPECT_THAT(answer.text, HasSubstr("accepted for 4.00 ")) << names;
    EXPECT_EQ(answer.partition, "side") << names;
  }
  EXPECT_EQ(world.answer("main,dear").partition, "main");
  EXPECT_EQ(world.answer("main").partition, "");
}

TEST(Partitions, TheJobGoesThereAndIsBilledThere) {
  Partitions world;
  const std::uint32_t id = world.run(world.ask("main,side"));
  EXPECT_EQ(world.job(id).partition, "side");
  world.advance(kStart + 2 * 3600, 60);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  const auto runs = world.books().segments(ledger::SegmentFilter{});
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().partition, "side");
  EXPECT_EQ(runs->front().charged.to_string(), "4.00");
  world.expect_balanced();
}

// What is tried for the others leaves nothing booked: 8 CPUs fit into side, then 8 into main.
TEST(Partitions, NothingStaysBookedInTheOthers) {
  Partitions world;
  Ask ask = world.ask("main,side", "50", 8);
  ask.deadline = world.now + 4000;  // so that all start at once
  EXPECT_EQ(world.submit(ask).partition, "side");
  EXPECT_EQ(world.submit(ask).partition, "main");
  EXPECT_EQ(world.submit(ask).verdict, MARKET_REJECTED);
}

TEST(Partitions, OneThatCannotTakeTheBidIsPassedOver) {
  Partitions world;
  world.partitions["side"] = {2};  // 4 CPUs
  world.partitions["dear"] = {2};
  world.tell_cluster();
  const Answer large = world.answer("side,main", "50", 8);
  EXPECT_EQ(large.partition, "main");
  EXPECT_THAT(large.text, HasSubstr("accepted for 16.00 "));
  EXPECT_EQ(world.answer("side,main", "50", 4).partition, "side");
}

TEST(Partitions, ArraysGoWhereAllTasksTogetherCostLeast) {
  Partitions world;
  Ask ask = world.ask("main,side", "50", 4);
  ask.array = 2;
  const Answer both = world.test_only(ask);
  EXPECT_EQ(both.partition, "side");
  EXPECT_THAT(both.text, HasSubstr("2 tasks accepted for 8.00"));
}

TEST(Partitions, OnlyPostedPricesCanBeCompared) {
  Partitions world;
  for (const char* names : {"main,talk", "talk,main"}) {
    const Answer answer = world.answer(names);
    EXPECT_EQ(answer.verdict, MARKET_REJECTED);
    EXPECT_THAT(answer.text, HasSubstr("talk holds an auction: name it alone or leave it out"));
  }
  EXPECT_THAT(world.answer("main,none").text, HasSubstr("none takes no bids: name it alone"));
  EXPECT_THAT(world.answer("main,nowhere").text, HasSubstr("there is no partition nowhere"));
  EXPECT_THAT(world.answer("talk,talk").text, HasSubstr("you pay at most"));  // one alone
}

TEST(Partitions, TheRefusalIsOfTheCheapestWithItsAlternatives) {
  Partitions world;
  for (const char* names : {"main,side", "side,main"}) {
    const Answer answer = world.answer(names, "3");
    EXPECT_EQ(answer.verdict, MARKET_REJECTED);
    EXPECT_THAT(answer.text, HasSubstr("needs 4.00, budget is 3.00. Would pass: --budget=4.00"));
  }
}

TEST(Partitions, WhenNoneCanTakeItTheFirstSaysWhy) {
  Partitions world;
  EXPECT_THAT(world.answer("main,side", "50", 100).text, HasSubstr("market: "));
  EXPECT_EQ(world.answer("main,side", "50", 100).verdict, MARKET_REJECTED);
}

// A value takes what leaves most of it: both start at once, so the cheaper.
TEST(Partitions, AValueTakesWhatLeavesMostOfIt) {
  Partitions world;
  Ask ask = world.ask("main,side");
  ask.budget.clear();
  ask.value = "50:2:00:00:4:00:00";
  const Answer answer = world.test_only(ask);
  EXPECT_EQ(answer.partition, "side") << answer.text;
}

// In `high` main costs a quarter, 2.00, and side the double, 8.00.
TEST(Partitions, TheQosOfEachMarketCounts) {
  Partitions world;
  Ask ask = world.ask("side,main");
  ask.qos = "high";
  const Answer answer = world.test_only(ask);
  EXPECT_EQ(answer.partition, "main");
  EXPECT_THAT(answer.text, HasSubstr("accepted for 2.00 "));
}

// What Slurm tells of each partition: into `side` it would not let the job, and in `dear` the user's
// association has another default QOS.
TEST(Partitions, WhatSlurmWillRefuseIsPassedOver) {
  Partitions world;
  market_submission_t submission{};
  submission.partition = "side,main,dear";
  submission.account = "physics";
  submission.budget = "50";
  submission.time_limit_min = 60;
  market_way_t ways[2] = {{"main", nullptr, {}}, {"dear", nullptr, {}}};
  for (market_way_t& way : ways) way.size.tasks = way.size.min_cpus = 4;
  submission.size = ways[0].size;
  submission.ways = ways;
  submission.way_count = 2;
  EXPECT_EQ(world.market().submit(submission, world.now).partition, "main");  // 8 against 12
  ways[1].size.tasks = ways[1].size.min_cpus = 1;                             // 3.00
  EXPECT_EQ(world.market().submit(submission, world.now).partition, "dear");
  ways[1].qos = "high";  // 6.00
  ways[0].qos = "high";  // 2.00
  EXPECT_EQ(world.market().submit(submission, world.now).partition, "main");
}

TEST(Partitions, AChangeNamesOne) {
  Partitions world;
  Ask ask = world.ask("main");
  ask.begin = world.now + 3600;
  const std::uint32_t id = world.run(ask);
  world.step();
  market_change_t change{};
  change.partition = "main,side";
  EXPECT_EQ(world.change(id, 0, change), MARKET_REJECTED);
}

TEST(Partitions, AQuoteShowsEach) {
  Partitions world;
  const Json answer = Json::parse(world.query(
      R"({"verb":"quote","time_limit_s":3600,"size":{"tasks":4},"partition":"main,side,nowhere"})"));
  EXPECT_EQ(answer["ok"], true);
  ASSERT_EQ(answer["partitions"].size(), 3u);
  EXPECT_EQ(answer["partitions"][0]["rows"][0]["price"], "8.00");
  EXPECT_EQ(answer["partitions"][1]["partition"], "side");
  EXPECT_EQ(answer["partitions"][1]["rows"][0]["price"], "4.00");
  EXPECT_EQ(answer["partitions"][2]["ok"], false);
  EXPECT_THAT(answer["partitions"][2]["error"].get<std::string>(),
              HasSubstr("there is no partition nowhere"));
}

}  // namespace
}  // namespace market::testing
