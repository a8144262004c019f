// SPDX-License-Identifier: GPL-2.0-or-later
// Menus of (completion, price): what they hold, who may take a row of them, how often, and what is
// paid.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;

/// Four nodes of four CPUs, sold as a whole in every other hour from the third on.
struct Shop : World {
  explicit Shop(const std::string& contracts = "")
      : World(
            "mechanism = \"contracts\"; seed = \"seed\"; prices = { floor = \"0.1\"; cap = "
            "\"10\"; };\n" +
                contracts,
            4, 4) {
    scheduler = Scheduler::kBackfill;
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
    for (const Time hour : {2, 4, 6}) {
      Ask ask;
      ask.budget = "5000";
      ask.cpus = 16;
      ask.begin = kStart + hour * 3600;
      run(ask);
    }
    step();
  }
  json menu(std::uint32_t cpus = 8, Time limit = 3600, const std::string& more = "",
            std::uint32_t uid = 0) {
    return json::parse(query(
        fmt::format(
            R"({{"verb":"menu","account":"physics","size":{{"tasks":{0},"min_cpus":{0}}},"time_limit_s":{1}{2}}})",
            cpus, limit, more),
        uid));
  }
  Ask take(const json& menu, std::size_t row, const std::string& more = "") {
    Ask ask;
    ask.cpus = 8;
    ask.runtime = 1800;
    ask.quote = fmt::format("{}:{}{}", menu["menu"].get<std::string>(), row, more);
    return ask;
  }
  std::vector<ledger::Segment> bills(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    auto runs = books().segments(filter);
    return runs ? *runs : std::vector<ledger::Segment>{};
  }
};

Money price_of(const json& row) {
  return *Money::parse(row["price"].get<std::string>());
}

TEST(Menus, CompletionsRiseAndPricesFall) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json menu = shop.menu();
  ASSERT_TRUE(menu["ok"]) << menu;
  const json& rows = menu["rows"];
  ASSERT_GE(rows.size(), 2u) << menu;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GT(rows[i]["completes"], rows[i - 1]["completes"]);
    EXPECT_LT(price_of(rows[i]), price_of(rows[i - 1]));
  }
  EXPECT_EQ(rows.back()["price"], "0.00") << "the cheapest contract is free";
  EXPECT_EQ(menu["good_until"], shop.now + 600);
}

TEST(Menus, NoRowIsBelowTheSitesFloor) {
  Shop shop("contracts = { rows = 100; };\n");
  const json rows = shop.menu()["rows"];
  for (const json& row : rows) EXPECT_GE(price_of(row), *Money::parse("0.8")) << row;
  EXPECT_EQ(rows.back()["price"], "0.80");
}

TEST(Menus, OneRowIsTheFirst) {
  Shop shop("contracts = { floor = \"none\"; };\n");
  const json all = shop.menu()["rows"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(shop.menu(8, 3600, R"(,"rows":1)")["rows"], json::array({all.front()}));
  EXPECT_EQ(shop.menu(8, 3600, R"(,"rows":2)")["rows"], all);
}

// What is told is what is paid, and the completion is kept.
TEST(Menus, ARowsPriceIsTheBill) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json menu = shop.menu();
  const std::size_t row = menu["rows"].size() / 2;
  const json& taken = menu["rows"][row - 1];
  Answer answer;
  const std::uint32_t id = shop.run(shop.take(menu, row), &answer);
  ASSERT_NE(id, 0u) << answer.text;
  EXPECT_NE(
      answer.text.find(fmt::format("row {} of menu {}", row, menu["menu"].get<std::string>())),
      std::string::npos)
      << answer.text;
  shop.advance(kStart + 8 * 3600);
  ASSERT_EQ(shop.bills(id).size(), 1u);
  EXPECT_EQ(shop.bills(id)[0].charged, price_of(taken));
  EXPECT_LE(shop.bills(id)[0].end, taken["completes"].get<Time>());
  // Which draw made the price, for who may read the seed: of the hour in which the menu was asked for.
  const std::string drawn = shop.bills(id)[0].note;
  EXPECT_TRUE(drawn.starts_with("draw contracts/") &&
              drawn.ends_with(fmt::format("/{}", kStart / 3600)))
      << drawn;
  shop.expect_balanced();
}

TEST(Menus, IsUsedOnceByItsUserForItsSizeWhileItIsGood) {
  Shop shop;
  const auto refusal = [&](Ask ask) {
    Answer answer;
    const Money before = shop.balance("physics").liens;
    EXPECT_EQ(shop.run(ask, &answer), 0u);
    EXPECT_EQ(answer.verdict, MARKET_REJECTED) << answer.text;
    EXPECT_EQ(shop.balance("physics").liens, before);
    return answer.text;
  };
  const json menu = shop.menu();
  const std::string id = menu["menu"];
  const auto with = [&](auto change) {
    Ask ask = shop.take(menu, 1);
    change(ask);
    return refusal(ask);
  };
  EXPECT_EQ(with([](Ask& ask) { ask.cpus = 9; }),
            fmt::format("market: menu {} is for cpu=8,node=1", id));
  EXPECT_NE(with([](Ask& ask) { ask.limit_min = 59; }).find("is for a time limit of 1:00:00"),
            std::string::npos);
  EXPECT_NE(with([](Ask& ask) { ask.uid = 1000; }).find("market: "), std::string::npos);
  EXPECT_NE(with([](Ask& ask) {
              ask.budget = "9";
            }).find("give one of --budget, --budget-rate, --value and --quote"),
            std::string::npos);
  EXPECT_NE(with([](Ask& ask) { ask.array = 2; }).find("not for an array"), std::string::npos);
  EXPECT_NE(with([](Ask& ask) { ask.deadline = kStart + 9000; }).find("leave out --begin"),
            std::string::npos);
  const auto named = [&](const std::string& quote) {
    return with([&](Ask& ask) { ask.quote = quote; });
  };
  EXPECT_NE(named(id + ":99").find("has rows 1 to"), std::string::npos);
  EXPECT_NE(named("nope:1").find("menu nope is not known"), std::string::npos);
  EXPECT_NE(named(id).find("is not held"), std::string::npos) << "of a menu a row is named";
  for (const std::string& bad :
       std::vector<std::string>{id + ":", id + ":0", id + ":1x", ":1", id + ":1,soon"})
    EXPECT_NE(named(bad).find("it takes MENU:ROW"), std::string::npos) << bad;

  Answer answer;
  EXPECT_NE(shop.run(shop.take(menu, menu["rows"].size()), &answer), 0u) << answer.text;
  shop.step();
  EXPECT_NE(refusal(shop.take(menu, 1)).find("is not known"), std::string::npos);

  const json next = shop.menu();
  shop.now = next["good_until"].get<Time>();
  EXPECT_NE(refusal(shop.take(next, 1)).find("was good until"), std::string::npos);
  shop.expect_balanced();
}

TEST(Menus, ANewMenuReplacesTheOldOne) {
  Shop shop;
  const json old = shop.menu(), next = shop.menu();
  EXPECT_NE(old["menu"], next["menu"]);
  Answer answer;
  EXPECT_EQ(shop.run(shop.take(old, 1), &answer), 0u);
  EXPECT_NE(shop.run(shop.take(next, next["rows"].size()), &answer), 0u) << answer.text;
}

// sbatch --test-only, or a refusal of Slurm's, uses nothing up.
TEST(Menus, ASubmissionThatBecomesNoJobGivesItBack) {
  Shop shop;
  const json menu = shop.menu();
  const std::size_t last = menu["rows"].size();
  EXPECT_EQ(shop.test_only(shop.take(menu, last)).verdict, MARKET_ACCEPTED);
  EXPECT_EQ(shop.submit(shop.take(menu, last)).verdict, MARKET_AGAIN);
  shop.step();
  EXPECT_NE(shop.run(shop.take(menu, last)), 0u);
  shop.advance(kStart + 9 * 3600);
  shop.expect_balanced();
}

TEST(Menus, ALaterCompletionIsOfferedWhereTheRowsIsLost) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json menu = shop.menu(16);
  const json& first = menu["rows"][0];
  shop.now = first["start"].get<Time>() + 60;
  shop.step();
  Ask ask = shop.take(menu, 1);
  ask.cpus = 16;
  Answer answer;
  EXPECT_EQ(shop.run(ask, &answer), 0u);
  ASSERT_NE(answer.text.find("add ,later to take it"), std::string::npos) << answer.text;
  ask.quote += ",later";
  const std::uint32_t id = shop.run(ask, &answer);
  ASSERT_NE(id, 0u) << answer.text;
  shop.advance(kStart + 9 * 3600);
  ASSERT_EQ(shop.bills(id).size(), 1u);
  EXPECT_EQ(shop.bills(id)[0].state, "COMPLETED");
  shop.expect_balanced();
}

// Nobody gets other prices by asking again, as somebody else, or for another length.
TEST(Menus, AreTheSameForAllWhoAsk) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json first = shop.menu()["rows"];
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shop.menu()["rows"], first);
  shop.now += 30;
  const json later = shop.menu()["rows"];
  ASSERT_FALSE(later.empty());
  // The same start and the same time beyond the limit cost the same for each hour.
  const json shorter = shop.menu(8, 1800)["rows"];
  EXPECT_EQ(price_of(shorter.back()), price_of(later.back()));
}

TEST(Menus, AreNotKnownAfterARestart) {
  Shop shop;
  const json menu = shop.menu();
  shop.crash();
  shop.restart_market();
  shop.step();
  Answer answer;
  EXPECT_EQ(shop.run(shop.take(menu, 1), &answer), 0u);
  EXPECT_NE(answer.text.find("is not known: ask again with smarket menu"), std::string::npos)
      << answer.text;
}

// What is worth something picks a row; it never changes a price.
TEST(Menus, AWorthPicksTheRowThatLeavesMost) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json plain = shop.menu();
  const json valued = shop.menu(8, 3600, R"(,"value":"300:2:8")");
  ASSERT_TRUE(valued["ok"]) << valued;
  ASSERT_EQ(valued["rows"].size(), plain["rows"].size());
  Money most;
  std::size_t best = 0;
  for (std::size_t i = 0; i < valued["rows"].size(); ++i) {
    const json& row = valued["rows"][i];
    EXPECT_EQ(row["price"], plain["rows"][i]["price"]);
    const Money worth = *Money::parse(row["worth"].get<std::string>());
    if (worth >= price_of(row) && (best == 0 || worth - price_of(row) > most)) {
      best = i + 1;
      most = worth - price_of(row);
    }
  }
  ASSERT_NE(best, 0u);
  EXPECT_EQ(valued["best"], best) << valued;
}

// The price is held, but not that the start is for sale: what others bought since, and what the site
// keeps for itself, is not.
TEST(Menus, ARowIsGoneWhereItsStartIsSoldOut) {
  World world(
      "mechanism = \"first_fit\"; prices = { fixed = \"0.1\"; };\n"
      "planning = { spare = \"0.5\"; slot = \"1:00\"; };\n",
      4, 4);
  world.scheduler = Scheduler::kBackfill;
  (void)world.books().deposit("physics", *Money::parse("100000"), "", world.now);
  world.sync();
  world.step();
  const json menu = json::parse(world.query(
      R"({"verb":"menu","account":"physics","size":{"tasks":4,"min_cpus":4},"time_limit_s":3600})"));
  ASSERT_TRUE(menu["ok"]) << menu;
  Ask ask;
  ask.cpus = 8;
  ask.budget = "100";
  Answer answer;
  ASSERT_NE(world.run(ask, &answer), 0u) << answer.text;  // half of the CPUs: all that is for sale
  world.step();
  ask.budget = "";
  ask.cpus = 4;
  ask.quote = menu["menu"].get<std::string>() + ":1";
  EXPECT_EQ(world.run(ask, &answer), 0u) << answer.text;
  EXPECT_NE(answer.text.find("is now done by"), std::string::npos) << answer.text;
}

TEST(Menus, AreOfTheRuleThatMadeThem) {
  Shop shop;
  const json menu = shop.menu();
  shop.configure("mechanism = \"tycoon\";\n", false);
  shop.step();
  Answer answer;
  EXPECT_EQ(shop.run(shop.take(menu, 1), &answer), 0u);
  EXPECT_NE(answer.text.find("is of contracts/3, and now tycoon"), std::string::npos)
      << answer.text;
}

// A job of a second ends before a pass has seen it.
TEST(Menus, AreUsedByAJobThatNoPassSaw) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json menu = shop.menu();
  const std::uint32_t id = shop.run(shop.take(menu, menu["rows"].size()));
  ASSERT_NE(id, 0u);
  FakeJob& job = shop.job(id);
  market_job_t ended{};
  ended.job_id = id;
  ended.array_task_id = UINT32_MAX;
  ended.state = MARKET_JOB_COMPLETED;
  ended.submit = shop.now;
  ended.start = shop.now;
  ended.end = shop.now + 1;
  ended.time_limit_min = 60;
  ended.user = "root";
  ended.account = "physics";
  ended.partition = "main";
  ended.note = job.note.c_str();
  ASSERT_TRUE(shop.market().job_ended(ended, shop.now + 1));
  Answer answer;
  EXPECT_EQ(shop.run(shop.take(menu, 1), &answer), 0u);
  EXPECT_NE(answer.text.find("is not known"), std::string::npos) << answer.text;
}

TEST(Menus, TheNoteKeepsTheRow) {
  Shop shop;
  const json menu = shop.menu();
  const std::string name = menu["menu"].get<std::string>() + ":1";
  Ask ask = shop.take(menu, 1);
  const std::uint32_t id = shop.run(ask);
  ASSERT_NE(id, 0u);
  shop.step();
  EXPECT_NE(shop.job(id).note.find("\"quote\":\"" + name + "\""), std::string::npos)
      << shop.job(id).note;
}

// A QOS multiplies the price and not what the replica is worth: what is learned is the same.
TEST(Menus, TeachTheSameInEveryQos) {
  std::vector<double> learned;
  for (const char* factor : {"1", "2", "0.5"}) {
    Shop shop(
        fmt::format("contracts = {{ floor = \"none\"; rows = 100; }};\n"
                    "qos = ( {{ name = \"high\"; factor = \"{}\"; }} );\n",
                    factor));
    const json menu = shop.menu(8, 3600, R"(,"qos":"high")");
    ASSERT_TRUE(menu["ok"]) << menu;
    Ask ask = shop.take(menu, menu["rows"].size());
    ask.qos = "high";
    Answer answer;
    ASSERT_NE(shop.run(ask, &answer), 0u) << answer.text;
    shop.step();
    shop.sync();
    learned.push_back(shop.books().past_bids("cluster", 0, shop.now + 1)->back().value);
  }
  // Half a micro-credit of rounding, times two.
  EXPECT_NEAR(learned[1], learned[0], 1.01e-6);
  EXPECT_NEAR(learned[2], learned[0], 1.01e-6);
}

TEST(Menus, AnAuctionHasNone) {
  World world("mechanism = \"tycoon\";\n");
  (void)world.books().deposit("physics", *Money::parse("100"), "", world.now);
  world.sync();
  world.step();
  const json answer = json::parse(world.query(
      R"({"verb":"menu","account":"physics","size":{"tasks":1,"min_cpus":1},"time_limit_s":3600})"));
  EXPECT_FALSE(answer["ok"]);
  EXPECT_NE(answer["error"].get<std::string>().find("promises no completion"), std::string::npos);
}

// What they could learn from a price that was taken would fall from epoch to epoch; so it is the
// replica that the row was made for.
TEST(Menus, AFreeRowTeachesWhatItsReplicaIsWorth) {
  Shop shop("contracts = { floor = \"none\"; rows = 100; };\n");
  const json menu = shop.menu();
  const std::uint32_t id = shop.run(shop.take(menu, menu["rows"].size()));
  ASSERT_NE(id, 0u);
  shop.step();
  shop.sync();
  const auto bids = shop.books().past_bids("cluster", 0, shop.now + 1);
  ASSERT_TRUE(bids);
  ASSERT_FALSE(bids->empty());
  EXPECT_GT(bids->back().value, 0);
}

}  // namespace
}  // namespace market::testing
