// SPDX-License-Identifier: GPL-2.0-or-later
// Classes of jobs from the submission to the bill: who may use which, what units of work say, what is
// learned of each, and what a late run owes under every shape, also after a crash.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kClasses =
    R"(contracts = { floor = "site"; rows = 100; classes = (
         { name = "fast"; shape = "hard_deadline"; accounts = ["Physics"]; },
         { name = "slow"; shape = "hard_deadline"; accounts = ["biology"]; },
         { name = "curve"; shape = "sigmoid"; accounts = ["physics"]; },
         { name = "nightly"; shape = "recurrent"; value = "4"; seconds_per_work = "60"; unit = "GB";
           accounts = ["physics"]; } ); };
)";

std::string settings_with(const std::string& contracts) {
  return "mechanism = \"contracts\"; seed = \"seed\"; prices = { floor = \"0.1\"; cap = \"10\"; "
         "};\n" +
         contracts;
}

/// Four nodes of four CPUs; as a whole they are sold in every other hour from the third on.
struct Shop : World {
  explicit Shop(const std::string& contracts = kClasses) : World(settings_with(contracts), 4, 4) {
    scheduler = Scheduler::kBackfill;
    (void)books().add_account("biology", "", now);
    (void)books().set_members("biology", {"root"}, {});
    for (const char* account : {"physics", "biology"})
      (void)books().deposit(account, *Money::parse("1000000"), "", now);
    sync();
  }
  void sell() {
    for (const Time hour : {2, 4, 6}) {
      Ask ask = bid();
      ask.budget = "5000";
      ask.cpus = 16;
      ask.begin = kStart + hour * kHour;
      run(ask);
    }
    step();
  }
  /// 60 bids of the past in each of "fast" and "slow": an hour of 4 CPUs, due 2,000 s and 20,000 s
  /// beyond the limit in the mean; then `more`, credits of one bid in "fast" and one in "slow".
  void teach(double more = 0) {
    SeededRandom random(5);
    std::vector<ledger::Operation> operations;
    const auto add = [&](const char* name, double slack, double value) {
      ledger::RecordBid record;
      record.id = fmt::format("past:{}", operations.size());
      const Time then = kStart - 2 * kHour;
      record.bid = {then,  then,         then + kHour + static_cast<Time>(slack),
                    kHour, {{"cpu", 4}}, value};
      record.bid.job_class = name;
      record.cluster = "cluster";
      record.partition = "main";
      record.account = "physics";
      record.accepted = true;
      operations.emplace_back(record);
    };
    for (int i = 0; i < 60; ++i) {
      add("fast", 2000 + 300 * random.normal(), random.uniform(4, 36));
      add("slow", 20'000 + 3000 * random.normal(), random.uniform(4, 36));
    }
    if (more > 0) {
      add("fast", 2000, more);
      add("slow", 2000, more);
    }
    (void)books().apply(operations, now);
    crash();
  }
  static Ask bid() {
    Ask ask;
    ask.cpus = 8;
    ask.runtime = 1800;
    return ask;
  }
  json menu(const std::string& more, const char* account = "physics") {
    return json::parse(query(fmt::format(
        R"({{"verb":"menu","account":"{}","size":{{"tasks":8,"min_cpus":8}},"time_limit_s":3600{}}})",
        account, more)));
  }
  std::string said(const Ask& ask) {
    Answer answer;
    EXPECT_EQ(run(ask, &answer), 0u) << answer.text;
    EXPECT_EQ(answer.verdict, MARKET_REJECTED);
    return answer.text;
  }
  std::vector<ledger::Segment> bills(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    auto runs = books().segments(filter);
    return runs ? *runs : std::vector<ledger::Segment>{};
  }
};

TEST(Classes, AreNamedOrFollowFromTheBid) {
  Shop shop;
  const auto class_of = [&](Ask ask) {
    Answer answer;
    EXPECT_NE(shop.run(ask, &answer), 0u) << answer.text;
    return read_note(answer.note)->job_class;
  };
  Ask ask = shop.bid();
  ask.budget = "100";
  EXPECT_EQ(class_of(ask), "fast");
  ask.account = "biology";
  EXPECT_EQ(class_of(ask), "slow");
  ask.account = "physics";
  ask.job_class = "fast";
  EXPECT_EQ(class_of(ask), "fast");
  ask.budget = "";
  ask.value = "100:2-00:4-00";
  ask.job_class = "";
  EXPECT_EQ(class_of(ask), "curve");
  ask.value = "";
  ask.work = "300";
  EXPECT_EQ(class_of(ask), "nightly");
}

TEST(Classes, WhatIsWrongIsSaidInALine) {
  Shop shop;
  const auto with = [&](auto change) {
    Ask ask = shop.bid();
    ask.budget = "100";
    change(ask);
    return shop.said(ask);
  };
  EXPECT_THAT(with([](Ask& ask) { ask.job_class = "slow"; }),
              HasSubstr("--class=slow: it is not open; open to account physics in partition main: "
                        "fast, curve, nightly"));
  EXPECT_THAT(with([](Ask& ask) { ask.job_class = "nope"; }),
              HasSubstr("--class=nope: there is no such class"));
  EXPECT_THAT(with([](Ask& ask) { ask.job_class = "curve"; }),
              HasSubstr("--class=curve: its bids are given with --value, not with --budget"));
  EXPECT_THAT(with([](Ask& ask) { ask.work = "300"; }), HasSubstr("--work is a bid of its own"));
  EXPECT_THAT(with([](Ask& ask) {
                ask.budget = "";
                ask.job_class = "fast";
              }),
              HasSubstr("--class is a part of a bid"));
  for (const char* wrong : {"0", "-3", "x", "1e9"})
    EXPECT_THAT(with([wrong](Ask& ask) {
                  ask.budget = "";
                  ask.work = wrong;
                }),
                HasSubstr("units of work above 0"));
  EXPECT_THAT(with([](Ask& ask) {
                ask.budget = "";
                ask.work = "300";
                ask.deadline = kStart + 9 * kHour;
              }),
              HasSubstr("leave out --deadline"));
  EXPECT_THAT(
      with([](Ask& ask) {
        ask.budget = "";
        ask.value = "100:2-00:4-00";
        ask.account = "biology";
      }),
      HasSubstr("no class of jobs whose bids are given with --value is open to account biology"));
  Shop plain("contracts = { rows = 100; };\n");
  Ask ask = plain.bid();
  ask.budget = "100";
  ask.job_class = "fast";
  EXPECT_THAT(plain.said(ask), HasSubstr("--class: the market of partition main has no classes"));
  ask.budget = ask.job_class = "";
  ask.work = "300";
  EXPECT_THAT(plain.said(ask), HasSubstr("--work: the market of partition main has no classes"));
}

// 8 CPUs for an hour at 4 credits are 32.00, due 300 × 60 s after the bid; 65 units are an hour, the
// slack and four minutes.
TEST(Classes, WorkSaysWhatAJobIsWorthAndByWhen) {
  Shop shop;
  Ask ask = shop.bid();
  ask.work = "300";
  Answer answer;
  const std::uint32_t id = shop.run(ask, &answer);
  ASSERT_NE(id, 0u) << answer.text;
  const Note note = *read_note(answer.note);
  EXPECT_EQ(note.budget, "32.00");
  EXPECT_EQ(note.work, "300");
  EXPECT_LE(note.end, kStart + 300 * 60);
  ask.work = "65";
  EXPECT_NE(shop.run(ask, &answer), 0u) << answer.text;
  ask.work = "60";
  EXPECT_THAT(shop.said(ask), HasSubstr("is too near"));
  shop.step();
  shop.sync();
  const auto bids = shop.books().past_bids("cluster", 0, shop.now + 1);
  ASSERT_EQ(bids->size(), 2u) << "of the two jobs";
  EXPECT_EQ(bids->front().job_class, "nightly");
  EXPECT_EQ(bids->front().work, 300);
  shop.crash();
  shop.advance(kStart + 4 * kHour, 60);
  ASSERT_EQ(shop.bills(id).size(), 1u);
  shop.expect_balanced();
}

TEST(Classes, AMenuIsOfOneClass) {
  Shop shop;
  shop.sell();
  const json menu = shop.menu(R"(,"class":"curve")");
  ASSERT_TRUE(menu["ok"]) << menu;
  EXPECT_EQ(menu["class"], "curve");
  Ask ask = shop.bid();
  ask.quote = menu["menu"].get<std::string>() + ":1";
  ask.job_class = "fast";
  EXPECT_THAT(shop.said(ask), HasSubstr("is for class curve"));
  ask.job_class = "";
  Answer answer;
  ASSERT_NE(shop.run(ask, &answer), 0u) << answer.text;
  EXPECT_EQ(read_note(answer.note)->job_class, "curve");
  EXPECT_THAT(shop.menu(R"(,"class":"slow")")["error"].get<std::string>(), HasSubstr("not open"));
  const json nightly = shop.menu(R"(,"work":"400")");
  ASSERT_TRUE(nightly["ok"]) << nightly;
  EXPECT_EQ(nightly["class"], "nightly");
  EXPECT_EQ(nightly["rows"][0]["worth"], "32.00");
}

json prices_of(const json& menu) {
  json prices = json::array();
  for (const json& row : menu["rows"]) prices.push_back({row["completes"], row["price"]});
  return prices;
}

TEST(Classes, MenusDifferByWhatEachLearnedAndNoAbsurdBidChangesThem) {
  json fast[2], slow[2];
  for (const int absurd : {0, 1}) {
    Shop shop;
    shop.teach(absurd == 0 ? 0 : 4e6);  // 10^6 for each of its four billing-hours
    shop.sell();
    fast[absurd] = prices_of(shop.menu(""));
    slow[absurd] = prices_of(shop.menu("", "biology"));
    const json classes = json::parse(shop.query(R"({"verb":"classes"})"))["classes"];
    EXPECT_EQ(classes[0]["samples"], 60) << classes;
    EXPECT_EQ(classes[1]["samples"], 60) << classes;
  }
  EXPECT_NE(fast[0], slow[0]);
  EXPECT_EQ(fast[0], fast[1]);
  EXPECT_EQ(slow[0], slow[1]);
}

TEST(Classes, AreShownWithoutAnythingOfASingleBid) {
  Shop shop;
  shop.teach();
  json classes = json::parse(shop.query(R"({"verb":"classes"})", 1234, false))["classes"];
  ASSERT_EQ(classes.size(), 4u);
  EXPECT_EQ(classes[0]["class"], "fast");
  EXPECT_EQ(classes[0]["shape"], "hard_deadline");
  EXPECT_FALSE(classes[0]["prior"]);
  EXPECT_EQ(classes[0]["spread"][1]["of"], "slack");
  EXPECT_NEAR(classes[0]["spread"][1]["mean"].get<double>(), 2000, 100);
  EXPECT_TRUE(classes[2]["prior"]);
  EXPECT_TRUE(classes[2]["spread"].empty());
  EXPECT_EQ(classes[3]["unit"], "GB");
}

// A class that is not open to another account is no way into that account's queue.
TEST(Classes, AChangeToAnAccountWithoutTheClassIsRefused) {
  Shop shop;
  Ask ask = shop.bid();
  ask.budget = "";
  ask.value = "100:2-00:4-00";
  ask.held = true;
  const std::uint32_t id = shop.run(ask);
  ASSERT_NE(id, 0u);
  shop.step();
  market_change_t change{};
  change.account = "biology";
  EXPECT_EQ(shop.change(id, 0, change), MARKET_REJECTED);
}

// A row is taken in each shape; its job starts late, after a crash. It owes what its note says.
TEST(Classes, ALateRunOwesByItsReplicaInEveryShapeAlsoAfterACrash) {
  for (const char* name : {"fast", "curve", "nightly"}) {
    SCOPED_TRACE(name);
    Shop shop;
    shop.sell();
    const json menu = shop.menu(fmt::format(R"(,"class":"{}")", name));
    ASSERT_TRUE(menu["ok"]) << menu;
    Ask ask = shop.bid();
    ask.quote = menu["menu"].get<std::string>() + ":1";
    shop.scheduler = Scheduler::kNone;
    Answer answer;
    const std::uint32_t id = shop.run(ask, &answer);
    ASSERT_NE(id, 0u) << answer.text;
    shop.step();
    const Note note = *read_note(shop.job(id).note);
    ASSERT_TRUE(note.ex_post);
    for (auto& [other, job] : shop.jobs) {
      if (other != id) job.held = job.held_by_site = true;
    }
    shop.advance(note.start + 20 * 60, 60);
    shop.crash();
    shop.scheduler = Scheduler::kBackfill;
    shop.advance(note.start + 3 * kHour, 60);
    const auto bills = shop.bills(id);
    ASSERT_EQ(bills.size(), 1u);
    const Time late = bills[0].start - note.ex_post->start;
    ASSERT_GT(late, 60);
    const double share = note.ex_post->share(static_cast<double>(late));
    EXPECT_NEAR(bills[0].charged.credits(), note.price.credits() * share, 1e-6);
    EXPECT_LT(bills[0].charged, note.price);
    EXPECT_TRUE(bills[0].note.starts_with(fmt::format("ex post × {:.3f}, draw contracts/", share)))
        << bills[0].note;
  }
}

}  // namespace
}  // namespace market::testing
