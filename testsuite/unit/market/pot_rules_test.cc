// SPDX-License-Identifier: GPL-2.0-or-later
// Who may have which pot, what a repeated or lost request does, goods, refusals, owners of nodes.
#include "pot_world.h"

namespace market::testing {
namespace {

nlohmann::json fund_request(const std::string& credits, const std::string& token,
                            const std::string& tres = "") {
  return {{"verb", "fund"},     {"token", token},       {"hosts", "main"}, {"action", "fund"},
          {"credits", credits}, {"account", "physics"}, {"tres", tres}};
}

// The answer was lost with slurmctld: the client comes again with its token, and all that one user may
// have is in the pot already.
TEST(PotRequests, ARequestThatWasWrittenBeforeARestartMovesNothingAgain) {
  PotWorld world(pot_settings("fund_max = \"0.1\";"));
  const auto request = fund_request("100", "once");
  EXPECT_TRUE(world.send(request, kRoot, false).value("waits", false));
  world.sync();
  world.crash();
  const auto answer = world.send(request, kRoot, false);
  EXPECT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_FALSE(answer.contains("waits")) << answer;
  EXPECT_EQ(world.pot(), 100);
  EXPECT_FALSE(world.send(fund_request("1", "another"), kRoot, false).value("ok", true));
  // Of somebody else it is no request of his.
  EXPECT_FALSE(world.send(request, kDaemon, false).contains("text"));
}

TEST(PotRequests, ACloseOrAnIntervalOfBeforeARestartIsNotDoneAgain) {
  PotWorld world;
  world.fund("10", "1:00:00");
  nlohmann::json request{{"verb", "fund"},
                         {"token", "speed"},
                         {"hosts", "main"},
                         {"action", "interval"},
                         {"interval", "0:30"}};
  EXPECT_TRUE(world.send(request, kRoot, false).value("waits", false));
  world.sync();
  world.crash();
  EXPECT_FALSE(world.send(request, kRoot, false).contains("waits"));
  request = {{"verb", "fund"}, {"token", "end"}, {"hosts", "main"}, {"action", "close"}};
  EXPECT_TRUE(world.send(request, kRoot, false).value("waits", false));
  world.sync();
  world.fund("7", "1:00:00");
  world.crash();
  EXPECT_FALSE(world.send(request, kRoot, false).contains("waits"));
  EXPECT_EQ(world.pot(), 7);
}

// Removed from the account a user has no new run out of his pot; his runs are paid, and what is left goes
// back to the account, which he may see to himself.
TEST(PotRights, WhoLeavesTheAccountStartsNothingMore) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const std::uint32_t runs = world.start(8, 60, 900);
  world.step();
  ASSERT_EQ(world.job(runs).state, MARKET_JOB_RUNNING);
  world.scheduler = Scheduler::kNone;
  const std::uint32_t waits = world.start(4, 60, 300);
  world.step();
  (void)world.books().set_members("physics", {}, {"root"});
  world.sync();
  world.now += 20;
  world.step();
  EXPECT_TRUE(world.job(waits).held);
  world.scheduler = Scheduler::kEager;
  world.run_until_settled(world.now + 1000);
  EXPECT_EQ(world.job(waits).state, MARKET_JOB_PENDING);
  EXPECT_GT(world.charged(runs).micro(), 0);
  EXPECT_FALSE(world.fund("1", "1:00:00").value("ok", true));
  ASSERT_TRUE(world.change({{"action", "close"}}).value("ok", false));
  EXPECT_EQ(world.balance("physics").posted + world.charged_in_all(), *Money::parse("1000"));
  EXPECT_EQ(world.pot(), 0);
}

// slurmctld is killed between the end of a run and its bill: the bill is that of its note, once.
TEST(PotRules, ABillThatWasLostIsMadeAgain) {
  PotWorld world;
  world.fund("10", "1:00:00");
  const std::uint32_t id = world.start(16, 30, 600);
  world.advance(world.now + 590);
  world.now += 20;
  world.step();  // it ends, and nothing is written any more
  ASSERT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.charged(id), Money());
  world.crash();
  world.run_until_settled(world.now + 30);
  const Money charged = world.charged(id);
  EXPECT_NEAR(charged.credits(), 10.0 * 610 / 3600, 0.03);
  EXPECT_NE(world.job(id).note.find(charged.to_string().substr(0, 6)), std::string::npos)
      << world.job(id).note;
  world.crash();
  world.run_until_settled(world.now + 30);
  EXPECT_EQ(world.charged(id), charged);
  EXPECT_EQ(Money::from_credits(world.pot())->micro(), 10'000'000 - charged.micro());
  world.expect_balanced();
}

// Of two goods too: each pot pays its part of the bill that is made again.
TEST(PotRules, ABillThatWasLostFallsOnTheSamePots) {
  PotWorld world(pot_settings(
      "fund_max = \"1\";",
      "prices = { weights = ( { tres = \"cpu\"; weight = \"1\"; }, { tres = \"gres/gpu\"; weight = "
      "\"10\"; } ); };"));
  for (std::uint32_t node = 0; node < 4; ++node) world.node_gres[node] = "gpu:2";
  world.tell_cluster();
  for (const char* tres : {"cpu", "gres/gpu"})
    world.change({{"action", "fund"},
                  {"credits", "10"},
                  {"interval", "1:00:00"},
                  {"tres", tres},
                  {"account", "physics"}});
  Ask ask;
  ask.cpus = 4;
  ask.limit_min = 60;
  ask.runtime = 600;
  ask.gres = "gres:gpu:2";
  const std::uint32_t id = world.run(ask);
  world.advance(world.now + 590);
  world.now += 20;
  world.step();
  ASSERT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  world.crash();
  world.run_until_settled(world.now + 30);
  const double charged = world.charged(id).credits();
  EXPECT_GT(charged, 0.5);
  EXPECT_NEAR(10 - world.pot(), charged / 2, 1e-5);  // a quarter of either good
  world.expect_balanced();
}

// Where jobs without a bid are refused: those of a pot are not, those whose pot is dry wait for it.
TEST(PotRules, WhatIsRefusedWithoutABid) {
  PotWorld world(pot_settings("fund_max = \"1\";", "unbid = \"refuse\";"));
  Ask ask;
  EXPECT_EQ(world.submit(ask).verdict, MARKET_REJECTED);
  world.fund("10", "1:00:00");
  EXPECT_EQ(world.submit(ask).verdict, MARKET_ACCEPTED);
  ask.budget = "0";
  EXPECT_EQ(world.submit(ask).verdict, MARKET_REJECTED);
  ask.budget = "";
  ask.account = "nobody";
  const Answer other = world.submit(ask);  // the pot is paid for by physics
  EXPECT_EQ(other.verdict, MARKET_REJECTED) << other.text;
  // Beside ten credits for an hour a pot of ten for a thousand days bids nothing that counts.
  world.set_interval("1000-0");
  ASSERT_TRUE(world.fund("10", "1:00:00", kDaemon).value("ok", false));
  world.start(12, 60, 3000, kDaemon);
  world.step();
  world.step();
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.start(4, 60, 300);
  for (int i = 0; i < 3; ++i) {
    world.now += 10;
    world.step();
  }
  EXPECT_TRUE(world.job(id).held);
  EXPECT_NE(world.why(id).find("waits for its pot"), std::string::npos) << world.why(id);
  world.set_interval("0:10");
  for (int i = 0; i < 12; ++i) {  // it is looked at once a minute
    world.now += 10;
    world.step();
  }
  EXPECT_FALSE(world.job(id).held);
}

// A GPU weighs 10 and a node has two of a type: the good is gres/gpu, of which there are eight. A job of
// 4 CPUs and 2 GPUs is charged to both pots, to each what eq. (2) says of its good: it alone holds a
// quarter of both, so a quarter of both bids.
TEST(PotRules, EachGoodIsPaidFromItsOwnPot) {
  PotWorld world(pot_settings(
      "fund_max = \"1\";",
      "prices = { weights = ( { tres = \"cpu\"; weight = \"1\"; }, { tres = \"gres/gpu\"; weight = "
      "\"10\"; } ); };"));
  for (std::uint32_t node = 0; node < 4; ++node) world.node_gres[node] = "gpu:a100:2";
  world.tell_cluster();
  const auto prices = world.send({{"verb", "prices"}, {"partition", "main"}}, kRoot, false);
  ASSERT_EQ(prices.at("goods").size(), 2U) << prices;
  EXPECT_EQ(prices.at("goods").at(1).at("tres"), "gres/gpu");
  EXPECT_EQ(prices.at("goods").at(1).at("capacity"), 8);
  const auto fund = [&](const std::string& credits, const std::string& tres) {
    return world.change({{"action", "fund"},
                         {"credits", credits},
                         {"interval", "1:00:00"},
                         {"tres", tres},
                         {"account", "physics"}});
  };
  ASSERT_TRUE(fund("10", "cpu").value("ok", false));
  const auto unknown = fund("1", "mem");
  EXPECT_NE(unknown.value("error", "").find("main sells cpu, gres/gpu"), std::string::npos)
      << unknown;
  Ask ask;
  ask.cpus = 4;
  ask.limit_min = 60;
  ask.runtime = 600;
  ask.gres = "gres:gpu:2";
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.run(ask);
  world.step();
  world.step();
  EXPECT_NE(world.why(id).find("waits as a job without a bid"), std::string::npos) << world.why(id);
  ASSERT_TRUE(fund("20", "gres/gpu").value("ok", false));
  world.scheduler = Scheduler::kEager;
  world.now += 20;
  world.step();
  world.run_until_settled(world.now + 700);
  const double elapsed = static_cast<double>(world.books().segments({})->front().elapsed);
  EXPECT_NEAR(world.charged(id).credits(), (10.0 + 20.0) / 4 / 3600 * elapsed, 0.03);
  double gpus = -1;
  const auto pots = world.books().pots();
  for (const auto& pot : *pots)
    if (pot.balance.account ==
        "@cluster:main/gres/gpu/"
        "root/physics")
      gpus = pot.balance.posted.credits();
  EXPECT_NEAR(20 - gpus, 20.0 / 4 / 3600 * elapsed, 0.02);
  EXPECT_NEAR(10 - world.pot(), 10.0 / 4 / 3600 * elapsed, 0.02);
  world.expect_balanced();
}

// lab-a brought n1 and n2: of a run on n1 to n3 with four CPUs on each it gets two thirds of the charge, to the
// micro-credit, and keeps them when the revenue is collected.
TEST(PotOwners, WhoJoinedWithNodesGetsWhatRunsPayThere) {
  PotWorld world;
  (void)world.books().add_account("lab-a", "", world.now);
  ASSERT_TRUE(world.books().allot("lab-a", *Money::parse("100"), "", world.now));
  ASSERT_TRUE(world.books().join("lab-a", "cluster", "n[1-2]", world.now));
  world.sync();
  world.fund("10", "1:00:00");
  const std::uint32_t id = world.start(12, 60, 600);
  world.run_until_settled(world.now + 700);
  const std::int64_t charged = world.charged(id).micro();
  ASSERT_GT(charged, 0);
  // What does not divide by three goes to the first ones, a micro-credit each.
  const std::int64_t earned = 2 * (charged / 3) + charged % 3;
  EXPECT_EQ(world.balance("lab-a").posted.micro(), 100'000'000 + earned);
  EXPECT_EQ(world.books().collect("", world.now)->micro(), charged - earned);
  EXPECT_EQ(world.balance("lab-a").posted.micro(), 100'000'000 + earned);
  world.expect_balanced();
}

// A bid for one job pays owners too, and market.conf's owner comes before who joined.
TEST(PotOwners, ABidPaysThemToo) {
  PotWorld world(pot_settings(
      "fund_max = \"1\";", "owners = ( { nodes = \"n2\"; account = \"lab-b\"; ask = \"0\"; } );"));
  for (const char* lab : {"lab-a", "lab-b"}) (void)world.books().add_account(lab, "", world.now);
  ASSERT_TRUE(world.books().join("lab-a", "cluster", "n[1-2]", world.now));
  world.sync();
  const std::uint32_t id = world.bid("10", 8, 60, 600);
  world.run_until_settled(world.now + 700);
  const std::int64_t charged = world.charged(id).micro();
  ASSERT_GT(charged, 0);
  const std::int64_t a = world.balance("lab-a").posted.micro(),
                     b = world.balance("lab-b").posted.micro();
  EXPECT_EQ(a + b, charged);
  EXPECT_LE(std::abs(a - b), 1);
  world.expect_balanced();
}

// A run that is free, since its node failed, pays nobody; of a refund they give their part back.
TEST(PotOwners, WhatIsRefundedOrFreeIsNotEarned) {
  PotWorld world;
  (void)world.books().add_account("lab-a", "", world.now);
  ASSERT_TRUE(world.books().join("lab-a", "cluster", "n[1-4]", world.now));
  world.sync();
  world.fund("10", "1:00:00");
  const std::uint32_t failed = world.start(8, 60, 900);
  world.advance(world.now + 100);
  world.end(world.job(failed), MARKET_JOB_NODE_FAIL);
  world.sync();
  EXPECT_EQ(world.balance("lab-a").posted, Money());
  const std::uint32_t id = world.start(8, 60, 300);
  world.run_until_settled(world.now + 400);
  const Money charged = world.charged(id);
  EXPECT_EQ(world.balance("lab-a").posted, charged);
  const auto refund = world.books().refund("cluster", id, charged, 86400, true, "", world.now);
  ASSERT_TRUE(refund.has_value()) << refund.error().text;
  EXPECT_EQ(world.balance("lab-a").posted, Money());
  world.expect_balanced();
}

}  // namespace
}  // namespace market::testing
