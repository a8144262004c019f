// SPDX-License-Identifier: GPL-2.0-or-later
// What `qos` in market.conf does to posted prices, and who tries to have a dear QOS at a cheap one's
// price. All prices: 1 credit a CPU-hour, times 2 in `high` and a half in `low`.
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

constexpr const char* kSettings =
    "mechanism = \"first_fit\"; prices = { floor = \"1\"; cap = \"1\"; fixed = \"1\"; };\n"
    "qos = ( { name = \"High\"; factor = \"2\"; }, { name = \"low\"; factor = \"0.5\"; },\n"
    "  { name = \"same\"; factor = \"1\"; } );\n";

// Four nodes of 4 CPUs.
struct Qos : World {
  explicit Qos(const std::string& settings = kSettings) : World(settings, 4, 4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    sync();
  }
  /// 4 CPUs for an hour in a minute's time, so that passes see it wait.
  Ask ask(const char* name, const char* budget = "50") {
    Ask ask;
    ask.qos = name;
    ask.budget = budget;
    ask.cpus = 4;
    ask.begin = now + 1800;
    return ask;
  }
  std::string said(const char* name) { return test_only(ask(name)).text; }
  Json why(std::uint32_t id) {
    return Json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
  }
  void look() {
    step();
    sync();
  }
  /// Slurm has the job in this QOS now; `owner_asked`: its owner's scontrol update did it.
  market_verdict move(std::uint32_t id, const char* name, bool owner_asked = true) {
    market_verdict verdict = MARKET_NO_BID;
    if (owner_asked) {
      market_change_t change{};
      change.qos = name;
      verdict = this->change(id, job(id).uid, change);
      if (verdict == MARKET_REJECTED) return verdict;
    }
    job(id).qos = name;
    return verdict;
  }
  ledger::Segment bill(std::uint32_t id) {
    const auto runs = books().segments(ledger::SegmentFilter{});
    for (const ledger::Segment& run : *runs) {
      if (run.key.job_id == id) return run;
    }
    return {};
  }
  std::vector<PastBid> learned() {
    return *books().past_bids("cluster", kStart - 3600, now + 3600);
  }
};

TEST(Qos, AFactorMultipliesThePostedPrice) {
  Qos world;
  EXPECT_THAT(world.said("high"), HasSubstr("accepted for 8.00 "));
  EXPECT_THAT(world.said("low"), HasSubstr("accepted for 2.00 "));
  EXPECT_THAT(world.said("same"), HasSubstr("accepted for 4.00 "));
  EXPECT_THAT(world.said(""), HasSubstr("accepted for 4.00 "));
  EXPECT_THAT(world.said("unnamed"), HasSubstr("accepted for 4.00 "));
}

// Slurm takes names without regard to case.
TEST(Qos, ANameInOtherLettersIsTheSame) {
  Qos world;
  EXPECT_THAT(world.said("HIGH"), HasSubstr("accepted for 8.00 "));
  EXPECT_THAT(world.said("hIgh"), HasSubstr("accepted for 8.00 "));
}

TEST(Qos, ItMultipliesBesideTheRateOfThePartition) {
  Qos world(std::string(kSettings) + "rates = ( { partition = \"main\"; factor = \"1.5\"; } );\n");
  EXPECT_THAT(world.said("high"), HasSubstr("accepted for 12.00 "));
}

TEST(Qos, TheRefusalNamesTheMultipliedPrice) {
  Qos world;
  EXPECT_THAT(world.submit(world.ask("high", "7")).text,
              HasSubstr("needs 8.00, budget is 7.00. Would pass: --budget=8.00"));
}

TEST(Qos, BidsInAnAuctionKnowNone) {
  Qos world(std::string("mechanism = \"tycoon\"; ") +
            "qos = ( { name = \"high\"; factor = \"2\"; } );");
  const Answer high = world.submit(world.ask("high", "9"));
  EXPECT_THAT(high.text, HasSubstr("you pay at most 9.00"));
  EXPECT_THAT(high.note, Not(HasSubstr("markup")));
}

TEST(Qos, QuoteWhyAndBillShowIt) {
  Qos world;
  const char* const question =
      R"({{"verb":"quote","time_limit_s":3600,"size":{{"tasks":4}},"qos":"{}"}})";
  const Json high = Json::parse(world.query(fmt::format(fmt::runtime(question), "HIGH")));
  EXPECT_EQ(high["rows"][0]["price"], "8.00");
  EXPECT_EQ(high["billing"], 4);
  EXPECT_EQ(high["markup"], "QOS high × 2");
  const Json same = Json::parse(world.query(fmt::format(fmt::runtime(question), "same")));
  EXPECT_EQ(same["rows"][0]["price"], "4.00");
  EXPECT_FALSE(same.contains("markup"));

  const std::uint32_t id = world.run(world.ask("high"));
  world.look();
  EXPECT_THAT(world.why(id)["text"].get<std::string>(),
              HasSubstr("price 8.00 = 4 billing-hours × 2 (first_fit/1, QOS high × 2)"));
  world.crash();  // the note tells it again
  world.look();
  EXPECT_EQ(world.why(id)["markup"], "QOS high × 2");
  world.advance(kStart + 3 * 3600, 60);
  EXPECT_EQ(world.bill(id).charged.to_string(), "8.00");
  EXPECT_EQ(world.bill(id).billing, 4);
  EXPECT_EQ(world.bill(id).note, "QOS high × 2");
  world.expect_balanced();
}

TEST(Qos, AQuoteWithoutANameIsOfTheAskersDefault) {
  Qos world;
  market_submission_t asker{};
  asker.qos = "low";
  asker.query = R"({"verb":"quote","time_limit_s":3600,"size":{"tasks":4}})";
  const Json answer = Json::parse(world.market().submit(asker, world.now).text);
  EXPECT_EQ(answer["rows"][0]["price"], "2.00");
}

// Whoever submits in a cheap QOS and moves to a dear one pays for the dear one.
TEST(Qos, AnOwnersChangeBuysAgainAtTheTermsOfTheNew) {
  Qos world;
  const std::uint32_t id = world.run(world.ask("low"));
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "2.00");
  EXPECT_EQ(world.move(id, "HIGH"), MARKET_ACCEPTED);
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "8.00");
  EXPECT_EQ(world.why(id)["markup"], "QOS high × 2");
  EXPECT_EQ(world.move(id, "low"), MARKET_ACCEPTED);
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "2.00");
}

TEST(Qos, AnOwnersChangeThatItsBudgetDoesNotCoverIsRefusedOrHolds) {
  Qos world;
  const std::uint32_t id = world.run(world.ask("low", "7"));
  world.look();
  EXPECT_EQ(world.move(id, "high"), MARKET_REJECTED);
  EXPECT_EQ(world.job(id).qos, "low");
  // Slurm did it although the market was not asked in time.
  market_change_t unnamed{};
  ASSERT_EQ(world.change(id, 0, unnamed), MARKET_ACCEPTED);
  world.job(id).qos = "high";
  world.look();
  EXPECT_TRUE(world.job(id).held);
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_EQ(world.why(id)["needs"], "8.00");
}

TEST(Qos, AnOwnersChangeBeforeAnyPassSawTheJobBuysAgain) {
  Qos world;
  const std::uint32_t id = world.run(world.ask("low"));
  (void)world.move(id, "high");
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "8.00");
}

// The job starts in the moment between the change and the pass that would see it.
TEST(Qos, AnOwnersChangeJustBeforeTheStartIsPaid) {
  Qos world;
  Ask now = world.ask("low");
  now.begin = 0;
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.run(now);
  world.look();
  (void)world.move(id, "high");
  world.scheduler = Scheduler::kEager;
  world.schedule();
  ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  world.advance(world.now + 2 * 3600, 60);
  EXPECT_EQ(world.bill(id).charged.to_string(), "8.00");
  EXPECT_EQ(world.bill(id).note, "QOS high × 2");
}

// A default that the submission did not show, a site's plugin, or an operator.
TEST(Qos, WhatSlurmMakesOfItKeepsThePriceTold) {
  Qos world;
  const std::uint32_t early = world.run(world.ask("low"));
  (void)world.move(early, "high", false);
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "2.00");
  EXPECT_EQ(world.why(early)["markup"], "QOS low × 0.5");
  (void)world.move(early, "same", false);
  world.look();
  EXPECT_EQ(world.balance("physics").liens.to_string(), "2.00");
  world.advance(kStart + 3 * 3600, 60);
  EXPECT_EQ(world.bill(early).charged.to_string(), "2.00");
}

// A QOS of the same factor is no other price: the place and the price stay.
TEST(Qos, AChangeToOneOfTheSameFactorChangesNothing) {
  Qos world;
  const std::uint32_t id = world.run(world.ask(""));
  world.look();
  const Json before = world.why(id);
  EXPECT_EQ(world.move(id, "same"), MARKET_ACCEPTED);
  world.look();
  EXPECT_EQ(world.why(id), before);
}

// Another list is for bids to come.
TEST(Qos, AReconfigureChangesNoPriceThatWasTold) {
  Qos world;
  const std::uint32_t id = world.run(world.ask("high"));
  world.look();
  std::string dearer = kSettings;
  dearer.replace(dearer.find("\"2\""), 3, "\"3\"");
  world.configure(dearer, false);
  world.look();
  EXPECT_THAT(world.said("high"), HasSubstr("accepted for 12.00 "));
  EXPECT_EQ(world.why(id)["price"], "8.00");
  EXPECT_EQ(world.why(id)["markup"], "QOS high × 2");
}

// 16 credits for 4 CPUs for an hour are 4 a billing-hour; in `high` that buys what 2 buy elsewhere.
TEST(Qos, PricesLearnTheValueAtPricesThatNoQosMultiplies) {
  Qos world;
  const std::uint32_t high = world.run(world.ask("high", "16"));
  world.look();
  ASSERT_EQ(world.learned().size(), 1u);
  EXPECT_EQ(world.learned()[0].value, 8);
  world.jobs.erase(high);
  Ask refused = world.ask("low", "1");  // needs 2.00
  ASSERT_EQ(world.run(refused), 0u);
  world.sync();
  ASSERT_EQ(world.learned().size(), 2u);
  EXPECT_EQ(world.learned()[1].value, 2);
}

// 900 credits buy in `low` what 1,800 buy elsewhere; who lacks them teaches nothing.
TEST(Qos, ACheapQosTeachesWhatItsAccountCouldBuy) {
  Qos world;
  Ask ask = world.ask("low", "900");
  ask.cpus = 16;
  ask.begin = 0;
  ask.deadline = world.now + 3600;  // so near that there is one start
  ask.limit_min = 59;
  const std::uint32_t full = world.run(ask);
  ASSERT_NE(full, 0u);
  ASSERT_EQ(world.run(ask), 0u);  // full: refused for want of a place
  world.look();
  ASSERT_EQ(world.learned().size(), 2u);
  for (const PastBid& bid : world.learned()) EXPECT_EQ(bid.value, 1800);
  ask.budget = "1001";  // more than the account has
  ASSERT_EQ(world.run(ask), 0u);
  world.sync();
  EXPECT_EQ(world.learned()[1].value, 1800);
}

TEST(Qos, CheckWarnsOfOneThatTheListLeavesOut) {
  Qos world;
  world.qos = {"normal", "High", "low", "same"};
  world.qos_enforced = true;
  world.tell_cluster();
  const auto warnings = [&world] {
    return Json::parse(world.query(R"({"verb":"status"})"))["warnings"].dump();
  };
  EXPECT_THAT(warnings(), HasSubstr("qos does not name normal: prices are multiplied by 1"));
  EXPECT_THAT(warnings(), Not(HasSubstr("AccountingStorageEnforce")));
  world.qos_enforced = false;
  world.tell_cluster();
  EXPECT_THAT(warnings(), HasSubstr("anybody may name QOS low, whose factor is 0.5"));
  world.configure("mechanism = \"first_fit\";", false);
  EXPECT_THAT(warnings(), Not(HasSubstr("qos")));
}

}  // namespace
}  // namespace market::testing
