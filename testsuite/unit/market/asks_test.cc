// SPDX-License-Identifier: GPL-2.0-or-later
// What owners of nodes ask: who may, how it comes into force, and what their nodes bring.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr const char* kOwners =
    R"(owners = ( { nodes = "n1"; account = "lab-1"; ask = "400"; }, { nodes = "n2"; account = "lab-2"; ask = "300"; },
           { nodes = "n3"; account = "lab-3"; ask = "200"; }, { nodes = "n4"; account = "lab-4"; ask = "100"; } );
)";

std::string settings(const std::string& dva = "") {
  return fmt::format("mechanism = \"dva\"; prices = {{ floor = \"0.05\"; }}; dva = {{ {} }};\n{}",
                     dva, kOwners);
}

struct Condo : World {
  explicit Condo(const std::string& dva = "") : World(settings(dva), 4, 4) {
    for (const char* owner : {"lab-1", "lab-2", "lab-3", "lab-4"})
      (void)books().add_account(owner, "", now);
    (void)books().set_members("lab-4", {"root"}, {});
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
  }
  nlohmann::json send(const nlohmann::json& question, bool is_operator = true,
                      std::uint32_t uid = 0) {
    return nlohmann::json::parse(query(question.dump(), uid, is_operator));
  }
  /// As smarket does: the same token until the answer is one.
  nlohmann::json ask(const std::string& nodes, const std::string& price, bool is_operator = true,
                     std::uint32_t uid = 0, const std::string& tres = "") {
    const nlohmann::json question = {{"verb", "ask"},
                                     {"nodes", nodes},
                                     {"price", price},
                                     {"tres", tres},
                                     {"token", fmt::format("token{}", ++tokens)}};
    last_question = question;
    nlohmann::json answer = send(question, is_operator, uid);
    if (!answer.value("waits", false)) return answer;
    sync();
    return send(question, is_operator, uid);
  }
  std::string why_not(const nlohmann::json& answer) {
    EXPECT_FALSE(answer.value("ok", true)) << answer;
    return answer.value("error", "");
  }
  /// What the nodes brought since the start.
  nlohmann::json owners(bool is_operator = true, std::uint32_t uid = 0) {
    const nlohmann::json question = {{"verb", "owners"}, {"since", kStart - 1}};
    const nlohmann::json ticket = send(question, is_operator, uid);
    sync();
    return send({{"verb", "owners"}, {"ticket", ticket.at("ticket")}}, is_operator, uid);
  }
  double earned_by(const std::string& lab) { return balance(lab).posted.credits(); }

  int tokens = 0;
  nlohmann::json last_question;
};

// Two CPUs of n3 ask 400 an hour, of n4 after its ask 500: the job runs on n3 and pays 500.
TEST(Asks, TheNextAwardGoesByTheNewPrice) {
  Condo condo;
  EXPECT_TRUE(condo.ask("n4", "250").value("ok", false));
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.advance(kStart + 20, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(id).required, "n3");
  EXPECT_NEAR(condo.earned_by("lab-3"), 500.0 * 3 / 3600, 1e-6);
  condo.expect_balanced();
}

// What runs, and what waits for the start of its run on an award, keeps its price.
TEST(Asks, RunsKeepTheirs) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 36);
  condo.advance(kStart + 10, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_TRUE(condo.ask("n4", "2000").value("ok", false));
  condo.advance(kStart + 60, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(condo.earned_by("lab-4"), 4, 1e-6);  // 400 an hour, by n3
}

TEST(Asks, AnAwardKeepsThePriceItWasMadeAt) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 36);
  condo.step();  // awarded; Slurm starts it
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_TRUE(condo.ask("n4", "2000").value("ok", false));
  condo.now += 1;
  condo.advance(kStart + 60, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(condo.earned_by("lab-4"), 4, 1e-6);
}

TEST(Asks, WhoAsksTooMuchIsNotAwarded) {
  Condo condo;
  EXPECT_TRUE(condo.ask("n[1-4]", "5000").value("ok", false));
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.advance(kStart + 100);
  EXPECT_TRUE(condo.job(id).held);
  EXPECT_EQ(condo.job(id).state_desc, "Price");
  const std::string why = condo.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
  EXPECT_NE(why.find("ask 10000.00 an hour at least, it bids 3000.00"), std::string::npos) << why;
  EXPECT_TRUE(condo.ask("n2", "1").value("ok", false));
  condo.advance(kStart + 150);
  EXPECT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(id).required, "n2");
}

// Members of the owner's account may where Slurm keeps no associations; else its coordinators alone.
TEST(Asks, OnlyManagersMay) {
  Condo condo;
  EXPECT_TRUE(condo.ask("n4", "1", false).value("ok", false));
  EXPECT_EQ(condo.why_not(condo.ask("n3", "1", false)),
            "n3: only managers of account lab-3 may ask a price for it");
  EXPECT_EQ(condo.why_not(condo.ask("n4", "2", false, 99)),
            "n4: only managers of account lab-4 may ask a price for it");
  condo.associations = true;
  condo.tell_cluster();
  EXPECT_NE(condo.why_not(condo.ask("n4", "2", false)), "");
  EXPECT_TRUE(condo.ask("n4", "2").value("ok", false));
}

TEST(Asks, WhatCannotBeAskedIsRefused) {
  Condo condo(R"(ask_min = "0.5"; ask_max = "5000"; ask_every = "1:00";)");
  EXPECT_EQ(condo.why_not(condo.ask("n9", "1")), "there is no node n9, or it comes twice");
  EXPECT_EQ(condo.why_not(condo.ask("n[3-4],n4", "1")), "there is no node n4, or it comes twice");
  EXPECT_EQ(condo.why_not(condo.ask("n4", "0.4")),
            "PRICE 0.40: from 0.50 to 5000.00 for a billing unit and an hour");
  EXPECT_EQ(condo.why_not(condo.ask("n4", "5001")),
            "PRICE 5001.00: from 0.50 to 5000.00 for a billing unit and an hour");
  EXPECT_NE(condo.why_not(condo.ask("n4", "much")).find("PRICE much: "), std::string::npos);
  EXPECT_NE(condo.why_not(condo.ask("n[4-", "1")).find("NODES: "), std::string::npos);
  EXPECT_NE(condo.why_not(condo.ask("n4", "1", true, 0, "node:1")).find("--tres=node:1: "),
            std::string::npos);
  EXPECT_EQ(condo.why_not(condo.ask("n4", "1", true, 0, "cpu:0.1")),
            "--tres=cpu:0.10: from 0.50 to 5000.00 an hour");
  EXPECT_TRUE(condo.ask("n4", "1").value("ok", false));
  condo.now += 15;
  EXPECT_EQ(condo.why_not(condo.ask("n4", "2")),
            "n4: its price may change every 1 minute (dva.ask_every); again in 0:00:45");
  condo.now += 45;
  EXPECT_TRUE(condo.ask("n4", "2").value("ok", false));
}

// The client may lose the answer: the same token is one request, also after slurmctld was killed.
TEST(Asks, ARequestIsOneThroughACrash) {
  Condo condo(R"(ask_every = "1:00:00";)");
  EXPECT_TRUE(condo.ask("n4", "250").value("ok", false));
  const nlohmann::json question = condo.last_question;
  condo.crash();
  condo.advance(condo.now + 20);
  EXPECT_TRUE(condo.send(question).contains("text")) << condo.send(question);
  const auto asks = condo.books().asks("cluster");
  ASSERT_TRUE(asks && asks->size() == 1);
  EXPECT_EQ(asks->front().ask.price, 250);
  EXPECT_EQ(condo.books().earnings({"cluster", 0, kStart + 9999, true, {}})->asks.size(), 1u);
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.advance(condo.now + 30);
  EXPECT_EQ(condo.job(id).required, "n3");
}

// A node that changed hands asks what market.conf says of its new owner; bounds hold for old asks.
TEST(Asks, GoWithTheOwner) {
  Condo condo;
  EXPECT_TRUE(condo.ask("n4", "250").value("ok", false));
  condo.configure(
      R"(mechanism = "dva"; prices = { floor = "0.05"; };
owners = ( { nodes = "n4"; account = "lab-1"; ask = "7"; } );)",
      false);
  condo.advance(condo.now + 10);
  EXPECT_EQ(condo.owners()["owners"][0]["ask"], "7.00");
}

// 3 s at 400 an hour for two CPUs of n4 that ask 200: 0.333333 earned of 0.166667 asked for; of its
// 4 CPUs 6 seconds are used.
TEST(Asks, OwnersSeeWhatTheirNodesBring) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 3);
  condo.advance(kStart + 99, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  const nlohmann::json rows = condo.owners()["owners"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3]["node"], "n4");
  EXPECT_EQ(rows[3]["owner"], "lab-4");
  EXPECT_EQ(rows[3]["ask"], "100.00");
  EXPECT_EQ(rows[3]["asked_for"], "0.166667");
  EXPECT_EQ(rows[3]["earned"], "0.333333");
  EXPECT_NEAR(rows[3]["income_to_expectation"].get<double>(), 2, 1e-4);
  EXPECT_NEAR(rows[3]["use"].get<double>(), 6.0 / (4 * 100), 1e-9);
  EXPECT_EQ(rows[0]["runs"], 0);
  EXPECT_EQ(rows[0]["income_to_expectation"], 1.0);
  // A member sees the own account's, and what the others ask.
  const nlohmann::json own = condo.owners(false)["owners"];
  EXPECT_EQ(own[3]["earned"], "0.333333");
  EXPECT_EQ(own[0]["ask"], "400.00");
  EXPECT_FALSE(own[0].contains("earned"));
  // What is refunded they give back.
  ASSERT_TRUE(
      condo.books().refund("cluster", id, *Money::parse("0.111111"), 86400, false, "", condo.now));
  EXPECT_EQ(condo.owners()["owners"][3]["earned"], "0.222222");
}

// n4's GPU asks 300 beside 2 CPUs for 200: n3 with 200 for a GPU that costs by nothing but CPUs.
TEST(Asks, ATresMayHaveAPrice) {
  Condo condo;
  condo.node_gres = {{2, "gpu:1"}, {3, "gpu:1"}};
  condo.tell_cluster();
  EXPECT_TRUE(condo.ask("n4", "100", true, 0, "gres/gpu:300").value("ok", false));
  Ask ask;
  ask.budget = "50";
  ask.cpus = 2;
  ask.limit_min = 1;
  ask.runtime = 36;
  ask.gres = "gres:gpu:1";
  const std::uint32_t dear = condo.run(ask);
  condo.advance(kStart + 60, 1);
  ASSERT_EQ(condo.job(dear).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(condo.job(dear).required, "n3");       // 400 before 500
  EXPECT_NEAR(condo.earned_by("lab-3"), 5, 1e-6);  // by n4's 500
  EXPECT_EQ(condo.owners()["owners"][3]["tres"], "gres/gpu:300.00");
}

// A run that Slurm puts elsewhere pays what its nodes ask, and they get that.
TEST(Asks, ElsewhereANodeGetsItsOwnAskAtMost) {
  Condo condo;
  const std::uint32_t id = condo.bid("50", 2, 1, 36);
  condo.job(id).never_starts = true;
  condo.advance(kStart + 20);
  ASSERT_EQ(condo.job(id).required, "n4");
  condo.job(id).required = "n1";  // by an operator's hand, between two passes
  condo.job(id).never_starts = false;
  condo.schedule();
  condo.advance(kStart + 90, 1);
  ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(condo.earned_by("lab-1"), 800.0 * 36 / 3600, 1e-6);
  EXPECT_EQ(condo.earned_by("lab-4"), 0);
  condo.expect_balanced();
}

// A rival of another account that the award keeps off n4 raises the price to its own bid of 2,400;
// what is above n3's 800 is the site's. 36 s: 24, of which lab-4 gets 8.
TEST(Asks, WhatARivalAddsIsTheSites) {
  for (const bool crash : {false, true}) {
    Condo condo;
    (void)condo.books().add_account("games", "", condo.now);
    (void)condo.books().set_members("games", {"root"}, {});
    (void)condo.books().deposit("games", *Money::parse("1000"), "", condo.now);
    condo.sync();
    const std::uint32_t id = condo.bid("50", 4, 1, 36);
    Ask ask;
    ask.budget = "40";
    ask.account = "games";
    ask.cpus = 4;
    ask.limit_min = 1;
    ask.runtime = 3;
    ask.required = "n4";
    (void)condo.run(ask);
    condo.advance(kStart + 20, 1);
    if (crash) condo.crash();
    condo.advance(kStart + 200, 1);
    ASSERT_EQ(condo.job(id).state, MARKET_JOB_COMPLETED);
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    EXPECT_NEAR(condo.books().segments(filter)->front().charged.credits(), 24, 1e-6);
    EXPECT_NEAR(condo.earned_by("lab-4"), 8 + 400.0 * 3 / 3600, 2e-6);
  }
}

}  // namespace
}  // namespace market::testing
