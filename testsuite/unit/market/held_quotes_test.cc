// SPDX-License-Identifier: GPL-2.0-or-later
// smarket quote --hold and sbatch --quote=9c1e: price and place are kept for a while, with a lien.
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

constexpr Time kHold = 600;  // planning.quote_hold unless it is set
constexpr std::uint32_t kUser = 0, kOther = 1;

std::string priced(const char* price) {
  return fmt::format(
      "mechanism = \"first_fit\";\nprices = {{ floor = \"0.1\"; fixed = \"{}\"; }};\n", price);
}

/// Four nodes of four cores; one CPU-hour costs 0.60.
struct Holding : World {
  Holding() : World(priced("0.6"), 4, 4) {
    (void)books().deposit("physics", *Money::parse("100"), "", now);
    sync();
  }
  json hold(std::uint32_t cpus = 16, std::uint32_t uid = kUser) {
    return json::parse(query(
        fmt::format(
            R"({{"verb":"quote","hold":true,"account":"physics","time_limit_s":3600,"size":{{"tasks":{0},"min_cpus":{0}}}}})",
            cpus),
        uid, false));
  }
  Answer take(const std::string& quote, std::uint32_t cpus = 16, std::uint32_t uid = kUser) {
    Answer answer;
    run(wish(quote, cpus, uid), &answer);
    step();
    sync();
    return answer;
  }
  static Ask wish(const std::string& quote, std::uint32_t cpus, std::uint32_t uid) {
    Ask ask;
    ask.quote = quote;
    ask.cpus = cpus;
    ask.uid = uid;
    return ask;
  }
  std::string left() {
    return json::parse(query(R"({"verb":"balance"})"))["accounts"][0]["available"];
  }
};

TEST(HeldQuotes, APriceIsKeptAndTaken) {
  Holding world;
  const json held = world.hold();
  ASSERT_TRUE(held["ok"].get<bool>()) << held.dump();
  EXPECT_EQ(held["price"], "9.60");  // 16 CPU-hours at 0.60
  EXPECT_EQ(held["available"], "90.40");
  EXPECT_EQ(held["good_until"].get<Time>(), world.now + kHold);
  world.configure(priced("0.9"), false);
  world.advance(world.now + 60);
  const Answer answer = world.take(held["quote"]);
  EXPECT_EQ(answer.verdict, MARKET_ACCEPTED) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("accepted for 9.60"));
  EXPECT_THAT(answer.text, HasSubstr("quote " + held["quote"].get<std::string>()));
  world.advance(world.now + 60);
  EXPECT_EQ(world.balance("physics").liens.to_string(), "9.60");
  EXPECT_EQ(world.take(held["quote"]).verdict, MARKET_REJECTED) << "it is used once";
}

TEST(HeldQuotes, ThePlaceIsKept) {
  Holding world;
  world.scheduler = Scheduler::kNone;  // what Slurm starts by itself is nobody's promise
  const json held = world.hold();
  const Time start = held["start"].get<Time>();
  EXPECT_GE(start, held["good_until"].get<Time>());
  Ask other;
  other.budget = "90";
  other.cpus = 16;
  other.uid = kOther;
  const std::uint32_t behind = world.run(other);
  ASSERT_NE(behind, 0u);
  world.advance(world.now + 30);
  const auto planned = [&world](std::uint32_t id) { return read_note(world.job(id).note)->start; };
  EXPECT_GE(planned(behind), start + 3600);
  EXPECT_EQ(world.take(held["quote"]).verdict, MARKET_ACCEPTED);
  EXPECT_LE(planned(world.jobs.rbegin()->first), start);
}

TEST(HeldQuotes, ItLapsesByItselfAndTheNextComesAnHourLater) {
  Holding world;
  const json held = world.hold();
  EXPECT_THAT(world.hold()["error"].get<std::string>(), HasSubstr("is held for you until"));
  world.advance(kStart + kHold + 10);
  EXPECT_EQ(world.left(), "100.00");
  EXPECT_EQ(world.take(held["quote"]).verdict, MARKET_REJECTED);
  EXPECT_THAT(world.hold()["error"].get<std::string>(), HasSubstr("the next can be held"));
  world.advance(kStart + kHold + 3590, 60);
  EXPECT_FALSE(world.hold()["ok"].get<bool>());
  world.advance(kStart + kHold + 3610, 60);
  EXPECT_TRUE(world.hold()["ok"].get<bool>());
}

TEST(HeldQuotes, ItIsForWhoAskedAndForWhatWasAsked) {
  Holding world;
  const std::string quote = world.hold()["quote"];
  EXPECT_THAT(world.take(quote, 8).text, HasSubstr("is for"));
  EXPECT_THAT(world.take(quote, 16, kOther).text, HasSubstr("is not held"));
  EXPECT_EQ(world.left(), "90.40");
  EXPECT_EQ(world.take(quote).verdict, MARKET_ACCEPTED) << "what was refused used nothing";
}

TEST(HeldQuotes, ASubmissionThatBecomesNoJobGivesItBack) {
  Holding world;
  const std::string quote = world.hold()["quote"];
  EXPECT_EQ(world.test_only(Holding::wish(quote, 16, kUser)).verdict, MARKET_ACCEPTED);
  world.advance(world.now + 30);
  EXPECT_EQ(world.left(), "90.40");
  EXPECT_EQ(world.take(quote).verdict, MARKET_ACCEPTED);
}

TEST(HeldQuotes, ItNeedsFunds) {
  Holding world;
  (void)world.books().withdraw("physics", *Money::parse("95"), "", world.now);
  world.sync();
  EXPECT_THAT(world.hold()["error"].get<std::string>(), HasSubstr("needs 9.60, available 5.00"));
  EXPECT_EQ(world.left(), "5.00");
}

TEST(HeldQuotes, OthersRulesAreNotHeld) {
  Holding world;
  const std::string quote = world.hold()["quote"];
  world.configure("mechanism = \"on_demand\";\nprices = { fixed = \"0.6\"; };\n", false);
  world.step();
  EXPECT_THAT(world.take(quote).text, HasSubstr("makes the prices"));
  world.advance(kStart + kHold + 10);
  EXPECT_EQ(world.left(), "100.00");
}

// smarket show plan: what should run now, and what comes next.
TEST(Plan, TellsWhatShouldRunNow) {
  Holding world;
  Ask now_running;
  now_running.budget = "90";
  now_running.cpus = 4;
  const std::uint32_t first = world.run(now_running);
  Ask later = now_running;
  later.begin = kStart + 1800;
  const std::uint32_t second = world.run(later);
  world.advance(kStart + 60);
  const json plan = json::parse(world.query(R"({"verb":"plan"})"));
  ASSERT_TRUE(plan["ok"].get<bool>()) << plan.dump();
  ASSERT_EQ(plan["jobs"].size(), 1u);
  EXPECT_EQ(plan["jobs"][0]["job"], first);
  EXPECT_EQ(plan["jobs"][0]["state"], "running");
  EXPECT_EQ(plan["jobs"][0]["tres"]["cpu"], 4);
  EXPECT_EQ(plan["total"]["cpu"], 4);
  EXPECT_EQ(plan["next"]["job"], second);
  EXPECT_EQ(plan["next"]["what"], "starts");
  EXPECT_EQ(plan["next"]["time"].get<Time>(), kStart + 1800);
  EXPECT_FALSE(json::parse(world.query(R"({"verb":"plan"})", kOther, false))["ok"].get<bool>());
}

}  // namespace
}  // namespace market::testing
