// SPDX-License-Identifier: GPL-2.0-or-later
// smarket submit --all: one price for several jobs, and all of them or none.
#include "core/market/lists.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kSettings =
    "mechanism = \"first_fit\";\nprices = { floor = \"0.6\"; cap = \"0.6\"; fixed = \"0.6\"; };\n";

struct Wanted {
  std::uint32_t cpus = 1, minutes = 1;
  std::size_t after = 0;
  Time deadline = 0;
};

/// 64 CPUs; one for an hour costs 0.60, so one for a minute 0.01.
struct Listing : World {
  explicit Listing(const char* credits = "100") : World(kSettings, 4, 16) {
    (void)books().deposit("physics", *Money::parse(credits), "", now);
    sync();
  }
  json ask(const std::vector<Wanted>& wanted, const char* budget, std::uint32_t uid = 0) {
    json wishes = json::array();
    for (const Wanted& one : wanted) {
      json job{{"account", "physics"},
               {"time_limit_s", one.minutes * 60},
               {"size", {{"tasks", one.cpus}, {"min_cpus", one.cpus}}},
               {"after", one.after}};
      if (one.deadline != 0) job["deadline"] = fmt::format("uts{}", one.deadline);
      wishes.push_back(job);
    }
    return json::parse(
        query(json{{"verb", "list"}, {"budget", budget}, {"jobs", wishes}}.dump(), uid, false));
  }
  std::uint32_t take(const json& list, std::size_t index, const Wanted& wanted) {
    Ask ask;
    ask.quote = list["jobs"][index]["quote"];
    ask.cpus = wanted.cpus;
    ask.limit_min = wanted.minutes;
    ask.runtime = 30;
    return run(ask, &last);
  }
  void pass(Time seconds = 5) { advance(now + seconds, 1); }
  std::string left() {
    return json::parse(query(R"({"verb":"balance"})"))["accounts"][0]["available"];
  }
  int running() {
    int count = 0;
    for (const auto& [id, job] : jobs) count += job.state == MARKET_JOB_RUNNING;
    return count;
  }
  Answer last;
};

// 16 × 1 + 32 × 1 + 64 × 2 = 176 CPU-minutes at 0.01.
const std::vector<Wanted> kThree{{16, 1}, {32, 1}, {64, 2}};

TEST(Lists, OnePriceIsComparedOnce) {
  Listing world;
  const json refused = world.ask(kThree, "1.75");
  EXPECT_FALSE(refused["ok"].get<bool>());
  EXPECT_THAT(refused["error"].get<std::string>(), HasSubstr("needs 1.76, budget is 1.75"));
  EXPECT_EQ(world.left(), "100.00");
  const json list = world.ask(kThree, "1.76");
  ASSERT_TRUE(list["ok"].get<bool>()) << list.dump();
  EXPECT_EQ(list["price"], "1.76");
  EXPECT_EQ(list["jobs"][0]["price"], "0.16");
  EXPECT_EQ(list["jobs"][1]["price"], "0.32");
  EXPECT_EQ(list["jobs"][2]["price"], "1.28");
  EXPECT_EQ(world.left(), "98.24");
}

TEST(Lists, NothingStartsUntilAllAreJobs) {
  Listing world;
  const json list = world.ask(kThree, "1.76");
  ASSERT_NE(world.take(list, 0, kThree[0]), 0u) << world.last.text;
  ASSERT_NE(world.take(list, 1, kThree[1]), 0u) << world.last.text;
  world.pass(10);
  EXPECT_EQ(world.running(), 0);
  ASSERT_NE(world.take(list, 2, kThree[2]), 0u) << world.last.text;
  EXPECT_THAT(world.last.text, HasSubstr("accepted for 1.28"));
  EXPECT_THAT(world.last.text, HasSubstr("job 3 of list"));
  world.pass(3);
  EXPECT_EQ(world.balance("physics").liens.to_string(), "1.76");
  world.pass(600);
  for (const auto& [id, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED) << id;
  EXPECT_EQ(world.balance("physics").posted.to_string(), "98.24");
  world.expect_balanced();
}

TEST(Lists, HalfAListIsTakenBack) {
  Listing world;
  const json list = world.ask(kThree, "1.76");
  ASSERT_NE(world.take(list, 0, kThree[0]), 0u);
  world.pass(200);  // its client died
  EXPECT_EQ(world.jobs.begin()->second.state, MARKET_JOB_CANCELLED);
  EXPECT_EQ(world.left(), "100.00");
  world.expect_balanced();
}

TEST(Lists, HalfAListIsTakenBackAfterACrashToo) {
  Listing world;
  const json list = world.ask(kThree, "1.76");
  ASSERT_NE(world.take(list, 0, kThree[0]), 0u);
  world.pass();
  world.crash();
  EXPECT_EQ(world.take(list, 1, kThree[1]), 0u) << "what was kept is forgotten";
  world.pass(200);
  EXPECT_EQ(world.jobs.begin()->second.state, MARKET_JOB_CANCELLED);
  world.expect_balanced();
}

TEST(Lists, AWholeListOutlivesACrash) {
  Listing world;
  const json list = world.ask(kThree, "1.76");
  for (std::size_t i = 0; i < kThree.size(); ++i) world.take(list, i, kThree[i]);
  world.crash();
  world.pass(600);
  for (const auto& [id, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED) << id;
  EXPECT_EQ(world.balance("physics").posted.to_string(), "98.24");
}

TEST(Lists, WhoGivesUpOwesNothing) {
  Listing world;
  const json list = world.ask(kThree, "1.76");
  ASSERT_NE(world.take(list, 0, kThree[0]), 0u);
  world.pass();
  const json query{{"verb", "list"}, {"drop", list["list"]}, {"name", list["name"]}};
  EXPECT_TRUE(json::parse(world.query(query.dump(), 1, false))["ok"].get<bool>());
  world.pass();
  EXPECT_EQ(world.jobs.begin()->second.state, MARKET_JOB_PENDING) << "it is not another's to end";
  EXPECT_TRUE(json::parse(world.query(query.dump(), 0, false))["ok"].get<bool>());
  world.pass();
  EXPECT_EQ(world.jobs.begin()->second.state, MARKET_JOB_CANCELLED);
  EXPECT_EQ(world.left(), "100.00");
}

TEST(Lists, OneThatCannotBeHadRefusesAll) {
  Listing world;
  const json list = world.ask({{16, 1}, {64, 10, 0, kStart + 300}}, "50");
  EXPECT_FALSE(list["ok"].get<bool>());
  EXPECT_THAT(list["error"].get<std::string>(), HasSubstr("job 2: "));
  EXPECT_EQ(world.left(), "100.00");
  EXPECT_TRUE(world.ask({{64, 60}}, "50")["ok"].get<bool>()) << "all nodes are free";
}

TEST(Lists, FundsMustCoverAll) {
  Listing world("1.50");
  const json list = world.ask(kThree, "9");
  EXPECT_FALSE(list["ok"].get<bool>());
  EXPECT_THAT(list["error"].get<std::string>(), HasSubstr("needs 1.76 in all, 0.26 more"));
  EXPECT_EQ(world.left(), "1.50");
}

// The first must leave the second time before its deadline: 10 minutes of 16 before kStart + 1,500.
TEST(Lists, OneAfterTheOtherLeavesTimeForIt) {
  Listing world;
  const json list = world.ask({{64, 5}, {64, 10, 1, kStart + 1500}}, "50");
  ASSERT_TRUE(list["ok"].get<bool>()) << list.dump();
  EXPECT_GE(list["jobs"][1]["start"].get<Time>(), list["jobs"][0]["completes"].get<Time>());
  EXPECT_LE(list["jobs"][1]["completes"].get<Time>(), kStart + 1500);
  EXPECT_THAT(world.ask({{1, 1, 2}}, "50")["error"].get<std::string>(), HasSubstr("try again"));
}

TEST(Lists, AListKeepsPlacesForNothingOnlySoLong) {
  Listing world;
  int asked = 0;
  for (; asked < 50 && world.ask({{64, 60}}, "50")["ok"].get<bool>(); ++asked) world.pass(40);
  EXPECT_LE(asked, 4);  // 33 seconds each, of 120 in an hour
  EXPECT_THAT(world.ask({{64, 60}}, "50")["error"].get<std::string>(), HasSubstr("became no jobs"));
  world.advance(world.now + 3600, 60);
  EXPECT_TRUE(world.ask({{64, 60}}, "50")["ok"].get<bool>());
}

TEST(Lists, HalfAListCountsAsNoneToo) {
  Listing world;
  int asked = 0;
  for (; asked < 50; ++asked) {
    const json list = world.ask({{1, 60}, {63, 60}}, "50");
    if (!list["ok"].get<bool>()) break;
    ASSERT_NE(world.take(list, 0, {1, 60}), 0u);
    world.pass(25);
    const json drop{{"verb", "list"}, {"drop", list["list"]}, {"name", list["name"]}};
    (void)world.query(drop.dump(), 0, false);
    world.pass(1);
  }
  EXPECT_LE(asked, 5);  // 25 seconds each, of 120 in an hour
}

TEST(Lists, OneThatIsOnlyTriedCountsToo) {
  Listing world;
  int asked = 0;
  for (; asked < 50; ++asked) {
    const json list = world.ask({{64, 60}}, "50");
    if (!list["ok"].get<bool>()) break;
    world.pass(30);
    Ask tried;
    tried.quote = list["jobs"][0]["quote"];
    tried.cpus = 64;
    (void)world.test_only(tried);
    world.advance(world.now + 80, 10);
  }
  EXPECT_LE(asked, 5);
}

TEST(Lists, AJobStartsWhenItWasToldAndNotBefore) {
  Listing world;
  const json list = world.ask({{64, 1, 0, kStart + 3600}, {64, 60}}, "50");
  ASSERT_TRUE(list["ok"].get<bool>()) << list.dump();
  const Time start = list["jobs"][1]["start"];
  world.foreign = {{"maintenance", start + 30, start + 600, {0, 1, 2, 3}}};
  world.tell_cluster();
  EXPECT_EQ(world.take(list, 1, {64, 60}), 0u) << world.last.text;
}

// 64 CPUs for an hour cost 38.40.
TEST(Lists, NothingMoreIsSoughtOnceTheBudgetIsSpent) {
  Listing world;
  EXPECT_THAT(world.ask({{64, 60}, {64, 60}}, "38.39")["error"].get<std::string>(),
              HasSubstr("needs more than 38.40, budget is 38.39"));
  EXPECT_EQ(world.left(), "100.00");
}

TEST(Lists, ItsPartTravelsWithTheJob) {
  const auto part = list_from("abc1:3:1800000000:held");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->name, "abc1");
  EXPECT_EQ(part->parts, 3u);
  EXPECT_EQ(part->until, 1800000000);
  EXPECT_TRUE(part->user_held);
  EXPECT_EQ(list_text(*part), "abc1:3:1800000000:held");
  for (const char* damaged : {"", "abc", "abc:3", "abc:0:5", "abc:3:5x", ":3:5"})
    EXPECT_FALSE(list_from(damaged)) << damaged;
}

}  // namespace
}  // namespace market::testing
