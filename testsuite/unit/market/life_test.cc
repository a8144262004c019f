// SPDX-License-Identifier: GPL-2.0-or-later
// The life of bids on a fake cluster with a real ledger: the scenarios users asked for, to the
// number.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Money credits(const char* text) {
  return *Money::parse(text);
}

std::string settings(const std::string& more, const char* price = "1") {
  return fmt::format("mechanism = \"first_fit\";\nprices = {{ fixed = \"{}\"; }};\n{}", price,
                     more);
}

std::vector<ledger::Segment> bills(World& world) {
  return *world.books().segments(ledger::SegmentFilter{});
}

TEST(Life, QuoteT1) {
  const std::string weights =
      "weights = ({ tres = \"cpu\"; weight = \"1\"; }, { tres = \"mem\"; weight = \"0.25\"; }, "
      "{ tres = \"gres/gpu\"; weight = \"15\"; });";
  const std::string ask =
      R"({"verb":"quote","size":{"tasks":2,"min_cpus":2,"mem_per_node_mb":32768},"time_limit_s":10800,"account":"physics"})";
  for (const auto& [rule, total, billing] :
       {std::tuple{"sum", "3.00", 10.0}, std::tuple{"max_tres", "2.40", 8.0}}) {
    World world(fmt::format(
        "mechanism = \"first_fit\";\nprices = {{ fixed = \"0.1\"; rule = \"{}\"; {} }};\n", rule,
        weights));
    ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
    world.sync();
    const json answer = json::parse(world.query(ask));
    ASSERT_TRUE(answer["ok"].get<bool>()) << answer.dump();
    EXPECT_EQ(answer["rows"][0]["price"], total);
    EXPECT_EQ(answer["billing"].get<double>(), billing);
    EXPECT_EQ(answer["hours"].get<double>(), 3.0);
    EXPECT_EQ(answer["available"], "100.00");
    EXPECT_EQ(world.balance("physics").liens, Money());
  }
}

// Where a question names no memory, Slurm's default counts, which the request that brings it has.
TEST(Life, QuoteWithoutMemoryCountsTheDefault) {
  World world(
      "mechanism = \"first_fit\";\nprices = { fixed = \"1\"; weights = ({ tres = \"cpu\"; weight "
      "= \"1\"; }, { tres = \"mem\"; weight = \"1\"; }); };\n");
  const auto billing = [&](const std::string& size) {
    market_submission_t asker{};
    asker.size.mem_per_node_mb = 4096;
    const std::string ask = fmt::format(
        R"({{"verb":"quote","size":{{"tasks":1,"min_cpus":1{}}},"time_limit_s":3600}})", size);
    asker.query = ask.c_str();
    const json answer = json::parse(world.market().submit(asker, world.now).text);
    return answer.contains("billing") ? answer["billing"].get<double>() : -1;
  };
  EXPECT_EQ(billing(""), 1 + 4);
  EXPECT_EQ(billing(R"(,"mem_per_node_mb":2048)"), 1 + 2);
  EXPECT_EQ(billing(R"(,"mem_per_cpu_mb":1024)"), 1 + 1);
}

// Contracts' ex-post price (eq. 2 and section III-C): late counts by the start alone, beyond
// start_slack, whoever ended the run then.
TEST(Life, ALateRunPaysItsExPostPrice) {
  World world("mechanism = \"contracts\"; planning = { start_slack = \"0:10\"; };\n");
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  std::uint32_t id = 1000;
  const auto charged = [&](Time late, const std::string& condition,
                           int state = MARKET_JOB_COMPLETED) {
    const std::string note = fmt::format(
        R"({{"market":{{"token":"t{}","account":"physics","price":"3.580921","rule":"contracts/3","start":{},"end":{},{}"submitted":{},"budget":"9"}}}})",
        id, kStart + 60, kStart + 130, condition, kStart);
    market_job_t ended{};
    ended.job_id = id++;
    ended.array_task_id = UINT32_MAX;
    ended.state = state;
    ended.submit = kStart;
    ended.start = kStart + 60 + late;
    ended.end = ended.start + 60;
    ended.time_limit_min = 1;
    ended.user = "root";
    ended.note = note.c_str();
    world.now = std::max(world.now, ended.end);
    const auto settled = world.market().job_ended(ended, world.now);
    const auto bill = read_note(settled.value_or(EndTexts{}).note);
    return bill ? (bill->charged - bill->refunded).to_string() : "no bill";
  };
  // The replica (100, 100 s, 200 s), promised at 120 s: 3.58092114 becomes 1.90411429 at 150 s.
  const std::string sigmoid =
      fmt::format(R"("ex_post":"sigmoid 120 {} 100 100 200",)", kStart + 60);
  EXPECT_EQ(charged(0, sigmoid), "3.580921");
  EXPECT_EQ(charged(10, sigmoid), "3.580921");
  EXPECT_EQ(charged(30, sigmoid), "1.904114");
  EXPECT_EQ(charged(30, sigmoid, MARKET_JOB_FAILED), "1.904114");
  EXPECT_EQ(charged(30, sigmoid, MARKET_JOB_TIMEOUT), "1.904114");
  EXPECT_EQ(charged(30, sigmoid, MARKET_JOB_CANCELLED), "1.904114");
  EXPECT_EQ(charged(30, sigmoid, MARKET_JOB_NODE_FAIL), "0.00");
  EXPECT_EQ(charged(100'000, sigmoid), "0.00");
  // A hard deadline of 150 s.
  const std::string hard = fmt::format(R"("ex_post":"hard_deadline 120 {} 7 150",)", kStart + 60);
  EXPECT_EQ(charged(30, hard), "3.580921");
  EXPECT_EQ(charged(31, hard), "0.00");
  // Of an older release: all until then.
  const std::string older = fmt::format(R"("free_after":{},)", kStart + 160);
  EXPECT_EQ(charged(30, older), "3.580921");
  EXPECT_EQ(charged(31, older), "0.00");
  EXPECT_EQ(charged(0, ""), "3.580921");
  EXPECT_EQ(charged(11, ""), "0.00");  // the rule `late`: refunded
}

TEST(Life, LienRaceT2) {
  World world(settings("charge = \"used\";\nno_funds = \"wait\";\n"));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const Ask sixty{.budget = "60", .cpus = 4, .limit_min = 900, .runtime = 900 * 60 / 4};
  Answer first, second;
  const std::uint32_t a = world.run(sixty, &first);
  const std::uint32_t b = world.run(sixty, &second);
  EXPECT_EQ(first.verdict, MARKET_ACCEPTED);
  EXPECT_EQ(second.verdict, MARKET_WAITING);
  EXPECT_THAT(second.text, HasSubstr("needs 60.00, available 40.00"));
  world.advance(kStart + 60);
  EXPECT_EQ(world.job(a).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.available("physics"), credits("40"));
  EXPECT_EQ(world.job(b).state_desc, "NoFunds");  // everybody sees it: no amounts
  const json why = json::parse(world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", b)));
  EXPECT_EQ(why["code"], "NO_FUNDS");
  EXPECT_THAT(why["text"].get<std::string>(), HasSubstr(fmt::format("job {} (root) 60.00", a)));
  world.advance(world.job(a).start + 900 * 60 / 4);
  world.advance(world.now + 30);
  EXPECT_EQ(world.job(a).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("85"));
  EXPECT_EQ(world.balance("physics").liens, credits("60"));
  EXPECT_EQ(world.job(b).state, MARKET_JOB_RUNNING);
}

TEST(Life, SecondIsRefusedWhenTheSiteSaysSoT2) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const Ask sixty{.budget = "60", .cpus = 4, .limit_min = 900};
  EXPECT_EQ(world.submit(sixty).verdict, MARKET_ACCEPTED);
  const Answer second = world.submit(sixty);
  EXPECT_EQ(second.verdict, MARKET_REJECTED);
  EXPECT_EQ(second.text, "market: needs 60.00, available 40.00 on physics");
}

TEST(Life, ArrayT3) {
  const Ask array{.budget = "10", .cpus = 1, .limit_min = 600, .array = 10};
  World whole(settings(""));
  ASSERT_TRUE(whole.books().deposit("physics", credits("55"), "", kStart));
  whole.sync();
  EXPECT_EQ(whole.submit(array).text, "market: needs 100.00, available 55.00 on physics");

  World world(settings("charge = \"used\";\narrays = \"per_task\";\nno_funds = \"wait\";\n"));
  ASSERT_TRUE(world.books().deposit("physics", credits("55"), "", kStart));
  world.sync();
  Answer answer;
  world.run(array, &answer);
  EXPECT_EQ(answer.verdict, MARKET_WAITING);  // the market releases the tasks it could fund
  EXPECT_THAT(answer.text, HasSubstr("market: 5 tasks accepted for 50.00"));
  world.advance(kStart + 60);
  EXPECT_EQ(world.jobs.size(), 10u);
  EXPECT_EQ(world.balance("physics").liens, credits("50"));
  EXPECT_EQ(world.books().open_liens("cluster")->size(), 5u);
  std::vector<FakeJob*> waiting, running;
  for (auto& [id, job] : world.jobs) (job.held ? waiting : running).push_back(&job);
  ASSERT_EQ(waiting.size(), 5u);
  EXPECT_EQ(waiting[0]->state_desc, "NoFunds");
  world.end(*waiting[3], MARKET_JOB_CANCELLED);
  world.end(*waiting[4], MARKET_JOB_CANCELLED);
  world.advance(running[0]->start + 300 * 60);
  world.end(*running[0], MARKET_JOB_CANCELLED);
  world.advance(world.now + 30);
  EXPECT_EQ(world.balance("physics").posted, credits("50"));
  EXPECT_EQ(world.balance("physics").liens, credits("50"));
  EXPECT_FALSE(waiting[0]->held);
}

TEST(Life, RefundsT4) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const Ask twelve{.budget = "12", .cpus = 4, .limit_min = 180};
  const std::uint32_t id = world.run(twelve);
  world.advance(kStart + 600);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  world.requeue(world.job(id), MARKET_JOB_NODE_FAIL);
  EXPECT_EQ(read_note(world.job(id).note)->charged, Money());
  world.advance(kStart + 600 + 180 * 60 + 120);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  const auto lines = bills(world);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].charged + lines[1].charged, credits("12"));
  EXPECT_EQ(world.balance("physics").posted, credits("88"));
  for (const int state :
       {MARKET_JOB_TIMEOUT, MARKET_JOB_OUT_OF_MEMORY, MARKET_JOB_CANCELLED, MARKET_JOB_FAILED}) {
    const Money before = world.balance("physics").posted;
    const std::uint32_t other = world.run(twelve);
    world.advance(world.now + 60);
    ASSERT_EQ(world.job(other).state, MARKET_JOB_RUNNING);
    world.end(world.job(other), state);
    world.sync();
    EXPECT_EQ(before - world.balance("physics").posted, credits("12")) << state;
  }
}

// Four runs of 64, 74, 101 and 35 minutes at 0.6 an hour.
Money requeued_three_times(const std::string& policy) {
  World world(settings("charge = \"used\";\n" + policy, "0.6"));
  EXPECT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "2", .limit_min = 120, .runtime = 35 * 60});
  for (const Time minutes : {64, 74, 101}) {
    world.advance(world.now + 30, 1);
    EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    const Time end = world.job(id).start + minutes * 60;
    world.job(id).runtime = 1000000;
    world.advance(end, 60);
    world.now = end;
    world.requeue(world.job(id), MARKET_JOB_PREEMPTED);
    world.job(id).runtime = 35 * 60;
  }
  world.advance(world.now + 40 * 60, 1);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(bills(world).size(), 4u);
  return credits("100") - world.balance("physics").posted;
}

TEST(Life, RequeueT5) {
  EXPECT_EQ(requeued_three_times("").to_string(), "0.35");
  EXPECT_EQ(requeued_three_times("ends = { preempted = \"charge\"; };\n").to_string(), "2.74");
}

TEST(Life, WhyWaitingT12) {
  World world(settings("no_funds = \"wait\";\n"));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const auto why = [&](std::uint32_t id) {
    return json::parse(world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
  };
  const std::uint32_t planned =
      world.run(Ask{.budget = "20", .cpus = 16, .limit_min = 60, .begin = kStart + 7200});
  const std::uint32_t outbid =
      world.run(Ask{.budget = "2", .cpus = 1, .limit_min = 120, .begin = kStart + 7200});
  const std::uint32_t poor = world.run(Ask{.budget = "90", .cpus = 4, .limit_min = 1320});
  world.advance(kStart + 10);
  EXPECT_EQ(why(planned)["code"], "PLANNED");
  // Its owner's change: root's own job.
  ASSERT_EQ(world.change(outbid, 0), MARKET_ACCEPTED);
  world.job(outbid).limit_min = 240;
  world.advance(kStart + 20);
  EXPECT_EQ(why(outbid)["code"], "OUTBID");
  EXPECT_THAT(why(outbid)["text"].get<std::string>(),
              HasSubstr("budget is 2.00, the price now is 4.00"));
  EXPECT_TRUE(world.job(outbid).held);
  EXPECT_EQ(why(poor)["code"], "NO_FUNDS");
  EXPECT_THAT(why(poor)["text"].get<std::string>(),
              HasSubstr("needs 88.00, available 84.00 on physics"));
  world.node_up = {true, false, false, false};
  world.tell_cluster();
  world.advance(kStart + 30);
  EXPECT_EQ(why(planned)["code"], "RESOURCES");
  // A better bid is taken at once; less than the accepted price is not.
  const auto rebid = [&](std::uint32_t id, const char* budget) {
    return json::parse(
        world.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget":"{}"}})", id, budget)));
  };
  EXPECT_TRUE(rebid(outbid, "4")["ok"].get<bool>());
  world.advance(kStart + 40);
  EXPECT_FALSE(world.job(outbid).held);
  EXPECT_EQ(read_note(world.job(outbid).note)->price, credits("4"));
  EXPECT_FALSE(rebid(outbid, "3.99")["ok"].get<bool>());
  EXPECT_TRUE(rebid(outbid, "5")["ok"].get<bool>());
}

TEST(Life, OverwrittenByNobodyElse) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 60});
  world.advance(kStart + 30);
  EXPECT_FALSE(json::parse(world.query(
      fmt::format(R"({{"verb":"rebid","job":"{}","budget":"9"}})", id), 1, false))["ok"]
                   .get<bool>());
  EXPECT_TRUE(
      json::parse(world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id), 1, false))["ok"]
          .get<bool>());
  EXPECT_FALSE(json::parse(world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", id), 65534,
                                       false))["ok"]
                   .get<bool>());
  for (const char* bad : {"", "{", "[]", "{\"verb\":7}", "{\"verb\":\"why\",\"job\":\"1_\"}",
                          "\xff\xfe", "{\"verb\":\"quote\"}"}) {
    const json answer = json::parse(world.query(bad, 1, false));
    EXPECT_FALSE(answer["ok"].get<bool>()) << bad;
  }
}

TEST(Life, CancelledBeforeStartCostsNothing) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .begin = kStart + 3600});
  world.advance(kStart + 30);
  EXPECT_EQ(world.balance("physics").liens, credits("1"));
  EXPECT_EQ(world.reservations.size(), 1u);
  world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.advance(kStart + 60);
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_EQ(world.balance("physics").posted, credits("100"));
  EXPECT_TRUE(world.reservations.empty());
}

TEST(Life, TellingTheEndTwiceChangesNothing) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 10});
  world.advance(kStart + 900);
  FakeJob& job = world.job(id);
  ASSERT_EQ(job.state, MARKET_JOB_COMPLETED);
  const std::string note = job.note;
  EXPECT_THAT(note, HasSubstr("\"quoted\":\"0.166667\""));
  job.cores.clear();
  world.end(job, MARKET_JOB_COMPLETED);
  world.sync();
  EXPECT_EQ(job.note, note);
  world.crash();
  world.advance(world.now + 120);
  EXPECT_EQ(credits("100") - world.balance("physics").posted, credits("0.166667"));
}

TEST(Life, LateIsRefunded) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 60});
  world.advance(kStart + 60);
  world.job(id).suspended = 600;  // an administrator suspends it for ten minutes
  world.advance(kStart + 3600 + 900);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("100"));
  const auto lines = bills(world);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].charged, credits("1"));
  EXPECT_EQ(lines[0].refunded, credits("1"));
}

TEST(Life, WithdrawnFundsRevokeTheAcceptance) {
  World world(settings("no_funds = \"wait\";\n"));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id =
      world.run(Ask{.budget = "90", .cpus = 1, .limit_min = 3600, .begin = kStart + 3600});
  ASSERT_TRUE(world.books().withdraw("physics", credits("50"), "", kStart));
  world.advance(kStart + 30);
  EXPECT_TRUE(world.job(id).held);
  EXPECT_EQ(world.job(id).state_desc, "NoFunds");
  EXPECT_EQ(world.balance("physics").liens, Money());
  ASSERT_TRUE(world.books().deposit("physics", credits("50"), "", kStart));
  world.advance(kStart + 60);
  EXPECT_FALSE(world.job(id).held);
  EXPECT_EQ(world.balance("physics").liens, credits("60"));
}

TEST(Life, ChangesArePricedOrRefused) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 120, .begin = kStart + 3600});
  world.advance(kStart + 30);
  std::string text;
  market_change_t change{};
  change.job_id = id;
  change.time_limit_min = 600;
  EXPECT_EQ(world.market().modify(change, world.now, text), MARKET_REJECTED);
  EXPECT_THAT(text, HasSubstr("market: the change needs 10.00, budget is 5.00"));
  change.time_limit_min = 240;
  EXPECT_EQ(world.market().modify(change, world.now, text), MARKET_ACCEPTED);
  world.job(id).limit_min = 240;
  world.advance(kStart + 60);
  EXPECT_EQ(world.balance("physics").liens, credits("4"));
  EXPECT_EQ(read_note(world.job(id).note)->price, credits("4"));
  change.time_limit_min = 60;
  EXPECT_EQ(world.market().modify(change, world.now, text), MARKET_ACCEPTED);
  world.job(id).limit_min = 60;
  world.advance(kStart + 90);
  EXPECT_EQ(world.balance("physics").liens, credits("1"));
  change.job_id = 999;
  EXPECT_EQ(world.market().modify(change, world.now, text), MARKET_NO_BID);
}

TEST(Life, NodeDownUnderAPromiseMovesIt) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "50",
                                         .cpus = 4,
                                         .limit_min = 60,
                                         .begin = kStart + 3600,
                                         .deadline = kStart + 4 * 3600});
  world.advance(kStart + 30);
  ASSERT_EQ(world.reservations.size(), 1u);
  const std::uint32_t node = world.reservations.begin()->second.cores.begin()->first;
  world.node_up[node] = false;
  world.tell_cluster();
  world.advance(kStart + 60);
  ASSERT_EQ(world.reservations.size(), 1u);
  EXPECT_NE(world.reservations.begin()->second.cores.begin()->first, node);
  world.advance(kStart + 3 * 3600);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_LE(world.job(id).end, kStart + 4 * 3600);
  EXPECT_EQ(world.balance("physics").posted, credits("96"));
}

TEST(Life, FreedNodesLetJobsStartEarlier) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t first = world.run(Ask{.budget = "50", .cpus = 16, .limit_min = 120});
  const std::uint32_t second = world.run(Ask{.budget = "50", .cpus = 16, .limit_min = 60});
  world.advance(kStart + 60);
  EXPECT_GE(read_note(world.job(second).note)->start, kStart + 7200);
  world.end(world.job(first), MARKET_JOB_COMPLETED);
  world.advance(world.now + 30);
  EXPECT_EQ(world.job(second).state, MARKET_JOB_RUNNING);
  EXPECT_TRUE(world.faults.empty()) << world.faults.front();
}

TEST(Life, HeldPastItsStartIsPlannedAgain) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 60, .held = true});
  world.advance(kStart + 1800);
  EXPECT_TRUE(world.reservations.empty());
  EXPECT_TRUE(world.job(id).held);
  world.job(id).held = false;
  world.advance(kStart + 2 * 3600);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("99"));
}

TEST(Life, QuietPassGivesNoOrders) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  for (int i = 0; i < 3; ++i) world.run(Ask{.budget = "50", .cpus = 16, .limit_min = 120});
  world.advance(kStart + 60);
  const std::size_t before = world.orders_given;
  world.advance(kStart + 600);
  EXPECT_EQ(world.orders_given, before);
}

// Rewrites the configuration with another fixed price.
void set_price(World& world, const char* price) {
  std::ofstream(world.folder() + "/market.conf")
      << "database = \"" << world.folder() << "/ledger.db\";\n"
      << settings("", price);
  world.market().reconfigure();
  world.sync();
}

// Held over its start while prices went from 1 to 3 an hour: 5 covers that, 2 does not.
TEST(Life, MissedStartBuysAgainAtThePostedPrice) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t rich = world.run(Ask{.budget = "5", .limit_min = 60, .held = true});
  const std::uint32_t poor = world.run(Ask{.budget = "2", .limit_min = 60, .held = true});
  world.advance(kStart + 600);
  EXPECT_EQ(world.balance("physics").liens, credits("2"));
  set_price(world, "3");
  world.job(rich).held = world.job(poor).held = false;
  world.advance(kStart + 700);
  EXPECT_EQ(world.job(rich).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(read_note(world.job(rich).note)->price, credits("3"));
  EXPECT_TRUE(world.job(poor).held);
  EXPECT_EQ(world.job(poor).state_desc, "Outbid");
  EXPECT_EQ(world.balance("physics").liens, credits("3"));
  set_price(world, "2");
  world.advance(kStart + 900);
  EXPECT_EQ(world.job(poor).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(read_note(world.job(poor).note)->price, credits("2"));
}

TEST(Life, MissedStartInACheaperHourKeepsItsPrice) {
  World world(settings("", "2"));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.run(Ask{.budget = "5", .limit_min = 60, .held = true});
  world.advance(kStart + 600);
  set_price(world, "1");
  world.job(id).held = false;
  world.advance(kStart + 700);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.balance("physics").liens, credits("2"));
}

// A place lost through the system costs its owner nothing, whatever prices do.
TEST(Life, NodeDownKeepsThePriceInADearHour) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id =
      world.run(Ask{.budget = "4", .cpus = 4, .limit_min = 60, .begin = kStart + 3600});
  world.advance(kStart + 30);
  ASSERT_EQ(world.reservations.size(), 1u);
  set_price(world, "3");
  world.node_up[world.reservations.begin()->second.cores.begin()->first] = false;
  world.tell_cluster();
  world.advance(kStart + 2 * 3600 + 300);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("96"));
}

// One CPU asked for, a node of four cores taken: 4 core-hours at 1, before and after Slurm's count.
TEST(Life, ExclusivePaysForTheWholeNode) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  EXPECT_EQ(world.submit(Ask{.budget = "3.99", .limit_min = 60, .exclusive = true}).verdict,
            MARKET_REJECTED);
  const std::uint32_t id = world.run(Ask{.budget = "4", .limit_min = 60, .exclusive = true});
  ASSERT_NE(id, 0u);
  world.advance(kStart + 120);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.balance("physics").liens, credits("4"));
  world.crash();
  world.advance(kStart + 2 * 3600);
  EXPECT_EQ(world.balance("physics").posted, credits("96"));
}

// Ends after five of ten minutes; Slurm kept its record, with the note as it was saved.
struct Crashed {
  explicit Crashed(bool settled) {
    EXPECT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
    world.sync();
    id = world.run(Ask{.budget = "5", .cpus = 2, .limit_min = 60});
    world.advance(kStart + 300);
    EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    const std::string accepted = world.job(id).note;
    world.now += 300;
    world.end(world.job(id), MARKET_JOB_COMPLETED);  // the books are not written
    if (!settled) world.job(id).note = accepted;
    EXPECT_EQ(world.balance("physics").liens, credits("2"));
    world.crash();
    world.sync();
  }
  World world{settings("")};
  std::uint32_t id = 0;
};

TEST(Recovery, EndNobodyWasToldOfIsSettled) {
  Crashed after(false);
  World& world = after.world;
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_TRUE(read_note(world.job(after.id).note)->settled);
}

TEST(Recovery, SettlementThatWasNotWrittenIsWrittenAgainOnce) {
  Crashed after(true);
  World& world = after.world;
  const std::string note = world.job(after.id).note;
  for (int again = 0; again < 2; ++again) {
    world.advance(world.now + 200);
    EXPECT_EQ(world.balance("physics").posted, credits("98"));
    EXPECT_EQ(world.balance("physics").liens, Money());
    EXPECT_EQ(world.job(after.id).note, note);
    const auto lines = bills(world);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].charged, credits("2"));
    EXPECT_EQ(lines[0].state, "COMPLETED");
    EXPECT_NE(lines[0].promised_end, 0);
    EXPECT_FALSE(world.market().wants_ended_jobs());
    world.crash();
    EXPECT_TRUE(world.market().wants_ended_jobs());
  }
}

// Slurm is killed before it has saved that the run ended: the run goes on, though it was paid for. Two CPUs for an hour
// at 1 are 2 credits once, and 98 can be spent from then on.
TEST(Recovery, ARunThatWasPaidForGoesOnWithoutALien) {
  World world(settings(""));
  ASSERT_TRUE(world.books().deposit("physics", credits("100"), "", kStart));
  world.sync();
  const std::uint32_t id =
      world.run(Ask{.budget = "5", .cpus = 2, .limit_min = 60, .runtime = 600});
  world.advance(kStart + 300);
  FakeJob saved = world.job(id);
  ASSERT_EQ(saved.state, MARKET_JOB_RUNNING);
  world.advance(kStart + 900);
  ASSERT_EQ(world.balance("physics").posted, credits("98"));
  saved.runtime = 1800;
  world.jobs[id] = saved;
  world.crash();
  world.sync();
  for (int minute = 0; minute < 3; ++minute) {
    world.advance(world.now + 60);
    EXPECT_EQ(world.balance("physics").liens, Money());
    EXPECT_THAT(world.query(R"({"verb":"balance"})"), HasSubstr(R"("available":"98.00")"));
    EXPECT_THAT(world.query(R"({"verb":"liens"})"), Not(HasSubstr(R"("job":)")));
  }
  EXPECT_NE(world.run(Ask{.budget = "98", .cpus = 1, .begin = world.now + 7200}), 0u);
  world.advance(world.now + 1800);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  EXPECT_EQ(bills(world).size(), 1u);
}

}  // namespace
}  // namespace market::testing
