// SPDX-License-Identifier: GPL-2.0-or-later
// A market that only observes: for Slurm it is as if it were not there, and its books tell what it
// would have done.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "core/mechanism/table.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string rule(const std::string& mechanism, const std::string& mode) {
  return fmt::format(
      "mechanism = \"{}\"; mode = \"{}\"; charge = \"used\";\n"
      "prices = {{ floor = \"0.1\"; cap = \"1\"; fixed = \"0.1\"; }};\n"
      "planning = {{ start_slack = \"0\"; }};\n",
      mechanism, mode);
}

void deposit(World& world, const char* amount) {
  (void)world.books().deposit("physics", *Money::parse(amount), "", world.now);
  world.sync();
}

std::vector<ledger::ObserveRun> observed(World& world) {
  auto runs = world.books().observed({});
  EXPECT_TRUE(runs) << (runs ? "" : runs.error().text);
  return runs ? *runs : std::vector<ledger::ObserveRun>{};
}

const ledger::ObserveRun* observed_of(const std::vector<ledger::ObserveRun>& runs,
                                      std::uint32_t job) {
  for (const auto& run : runs) {
    if (run.segment.key.job_id == job) return &run;
  }
  ADD_FAILURE() << "nothing is known of job " << job;
  return nullptr;
}

Money money(const char* text) {
  return *Money::parse(text);
}

/// Nothing but what was deposited stands in the books of credits.
void expect_no_credit_moved(World& world, const char* deposited) {
  EXPECT_EQ(world.balance("physics").posted, money(deposited));
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_TRUE(world.books().segments({})->empty());
  const auto check = world.books().check();
  EXPECT_EQ(check->transfers, 1);
  EXPECT_EQ(check->sum, Money());
  EXPECT_TRUE(check->faults.empty());
}

// ---- what Slurm and its users see

class EveryRule : public ::testing::TestWithParam<std::string> {};

/// What anybody can see of a job.
std::string seen_of(const FakeJob& job) {
  std::string cores;  // the fake keeps those of the runs that ended
  for (const auto& [node, set] : job.cores) {
    if (job.state == MARKET_JOB_RUNNING) cores += fmt::format(" {}:{}", node, fmt::join(set, ","));
  }
  return fmt::format(
      "{} state {} held {} start {} end {} factor {} reason '{}' comment '{}' resv '{}' "
      "nodes '{}' partition {} account {}{}",
      job.id, job.state, job.held, job.start, job.end, job.site_factor, job.state_desc,
      job.admin_comment, job.resv, job.required, job.partition, job.account, cores);
}

/// One random day; `bids`: whether its jobs carry their bids.
void live_through(World& world, std::uint64_t seed, bool bids) {
  SeededRandom random(seed);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 60; ++i) {
    Ask ask;
    const std::uint64_t worth = 1 + random.below(400);
    const bool is_bid = random.below(4) != 0, is_value = random.below(3) == 0;
    if (bids && is_bid && is_value)
      ask.value = fmt::format("{}:{}:{}", 1 + worth / 10, "1:00:00", "1-0");
    else if (bids && is_bid)
      ask.budget = fmt::format("{}.{:02}", worth / 100, worth % 100);
    ask.cpus = 1 + static_cast<std::uint32_t>(random.below(8));
    ask.limit_min = 10 + static_cast<std::uint32_t>(random.below(90));
    ask.runtime = 60 + static_cast<Time>(random.below(ask.limit_min * 60));
    ask.held = random.below(12) == 0;
    ask.uid = random.below(2) == 0 ? 0 : 1;
    ids.push_back(world.run(ask));
    world.advance(world.now + static_cast<Time>(random.below(600)), 30);
    FakeJob& other = world.job(ids[random.below(ids.size())]);
    const std::uint64_t deed = random.below(12);
    if (deed == 0 && other.state <= MARKET_JOB_RUNNING) world.end(other, MARKET_JOB_CANCELLED);
    if (deed == 1 && other.state == MARKET_JOB_PENDING) other.held = false;
    if (deed == 2 && other.state == MARKET_JOB_RUNNING) world.requeue(other, MARKET_JOB_NODE_FAIL);
    if (deed == 3) world.crash();
  }
  for (auto& [id, job] : world.jobs) job.held = false;
  world.advance(world.now + 24 * kHour, 120);
}

TEST_P(EveryRule, SlurmDoesAsWithoutAMarket) {
  int billed = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    World with(rule(GetParam(), "observe")), without(rule(GetParam(), "observe"));
    with.scheduler = without.scheduler = Scheduler::kBackfill;
    deposit(with, "30");
    deposit(without, "30");
    live_through(with, seed, true);
    live_through(without, seed, false);
    ASSERT_EQ(with.jobs.size(), without.jobs.size()) << "none was refused";
    for (const auto& [id, job] : with.jobs)
      EXPECT_EQ(seen_of(job), seen_of(without.job(id))) << GetParam() << " " << seed;
    for (const auto& [kind, count] : with.orders_of) EXPECT_EQ(kind, MARKET_SET_NOTE);
    EXPECT_TRUE(with.reservations.empty());
    expect_no_credit_moved(with, "30");
    Money together;
    for (const ledger::ObserveRun& run : observed(with)) {
      billed += !run.refused && run.segment.charged > Money();
      EXPECT_LE(run.segment.charged, run.segment.quoted);
      together += run.segment.charged - run.segment.refunded;
    }
    EXPECT_LE(together, money("30")) << "shadow balances bound what may be bid";
    EXPECT_TRUE(observed(without).empty());
  }
  const std::string& name = GetParam();
  const bool is_free = name == "fifo" || name == "easy" || name == "edf" ||
                       name == "earliest_finish" || name == "random";
  if (is_free)
    EXPECT_EQ(billed, 0);
  else
    EXPECT_GT(billed, 20) << "runs have would-be bills";
}

INSTANTIATE_TEST_SUITE_P(Observe, EveryRule, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& tested) { return tested.param; });

// ---- would-be bills

TEST(Observe, TheWouldBeBillIsThePriceToldForTheRunAsItWas) {
  World world(rule("first_fit", "observe"));
  deposit(world, "10");
  Answer answer;
  Ask ask{.budget = "5", .cpus = 4, .limit_min = 60, .runtime = 1800};
  const std::uint32_t job = world.run(ask, &answer);
  EXPECT_EQ(answer.verdict, MARKET_OBSERVED);
  EXPECT_THAT(answer.text, StartsWith("market (observing): would be accepted for 0.40 credits"));
  EXPECT_EQ(answer.text.find('\n'), std::string::npos);
  world.advance(world.now + kHour);
  const auto runs = observed(world);
  const ledger::ObserveRun* run = observed_of(runs, job);
  ASSERT_NE(run, nullptr);
  // 4 cores × 1 h × 0.1, of which half an hour was used.
  EXPECT_EQ(run->segment.quoted, money("0.4"));
  EXPECT_EQ(run->segment.charged, money("0.2"));
  EXPECT_EQ(run->segment.account, "physics");
  EXPECT_EQ(run->segment.state, "COMPLETED");
  EXPECT_EQ(run->market, "market");
  EXPECT_EQ(run->waited, 0);
  EXPECT_EQ(run->would_wait, std::optional<Time>(0));
  expect_no_credit_moved(world, "10");
}

// One node. A job without a bid runs for an hour, another waits before the bid in the queue: Slurm
// starts the bid after both, the market would have started it after the first one.
TEST(Observe, ShowsWhoWouldHaveWaitedLess) {
  World world(rule("first_fit", "observe"), 1, 4);
  world.scheduler = Scheduler::kStrict;
  deposit(world, "10");
  world.run({.cpus = 4, .limit_min = 60});
  world.advance(world.now + 60);
  world.run({.cpus = 4, .limit_min = 60});
  world.advance(world.now + 60);
  const Time asked = world.now;
  const std::uint32_t job = world.run({.budget = "5", .cpus = 4, .limit_min = 30});
  world.advance(world.now + 4 * kHour, 60);
  const auto runs = observed(world);
  const ledger::ObserveRun* run = observed_of(runs, job);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->segment.start, kStart + 2 * kHour);
  EXPECT_EQ(run->waited, kStart + 2 * kHour - asked);
  ASSERT_TRUE(run->would_wait);
  EXPECT_EQ(*run->would_wait, kStart + kHour - asked);
  EXPECT_EQ(run->segment.planned_start, kStart + kHour);
  EXPECT_EQ(run->segment.charged, money("0.2"));
  EXPECT_EQ(run->segment.refunded, Money()) << "the market would have kept its promise";
}

TEST(Observe, ARefusedBidRunsAndIsCounted) {
  World world(rule("first_fit", "observe"));
  deposit(world, "1");
  std::vector<std::uint32_t> jobs;
  for (int i = 0; i < 3; ++i) {
    Answer answer;
    jobs.push_back(world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &answer));
    EXPECT_EQ(answer.verdict, MARKET_OBSERVED);
    if (i == 2) {  // of 1.00 the shadow balance has 0.20 left
      EXPECT_THAT(answer.text,
                  StartsWith("market (observing): would be refused: needs 0.40, available 0.20"));
    }
    world.advance(world.now + 20);
  }
  Answer over;
  const std::uint32_t dear = world.run({.budget = "0.01", .cpus = 4, .limit_min = 60}, &over);
  EXPECT_THAT(over.text, HasSubstr("would be refused: needs 0.40, budget is 0.01"));
  world.advance(world.now + 2 * kHour, 60);
  for (const auto& [id, job] : world.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED);
  const auto runs = observed(world);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_FALSE(observed_of(runs, jobs[1])->refused);
  EXPECT_TRUE(observed_of(runs, jobs[2])->refused);
  EXPECT_TRUE(observed_of(runs, dear)->refused);
  EXPECT_EQ(observed_of(runs, dear)->segment.account, "physics");
  EXPECT_EQ(observed_of(runs, dear)->segment.charged, Money());
  expect_no_credit_moved(world, "1");
  // What was billed stays taken from the shadow balance, after a restart too.
  world.crash();
  Answer after;
  world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &after);
  EXPECT_THAT(after.text, HasSubstr("available 0.20"));
}

TEST(Observe, QuietAndJobsWithoutABidAreToldNothing) {
  World world(rule("first_fit", "observe") + "quiet = \"accepted\"; unbid = \"refuse\";");
  deposit(world, "10");
  Answer answer;
  EXPECT_NE(world.run({.budget = "5"}, &answer), 0u);
  EXPECT_EQ(answer.text, "");
  EXPECT_NE(world.run({.budget = "0"}, &answer), 0u);
  EXPECT_EQ(answer.text, "");
  EXPECT_NE(world.run({}, &answer), 0u);
  EXPECT_EQ(answer.verdict, MARKET_NO_BID);
  EXPECT_EQ(answer.text, "");
}

TEST(Observe, ABillComesOnceThroughCrashes) {
  for (const char* mechanism : {"first_fit", "tycoon", "dva"}) {
    World calm(rule(mechanism, "observe")), shaken(rule(mechanism, "observe"));
    std::vector<Money> charged;
    for (World* world : {&calm, &shaken}) {
      deposit(*world, "100");
      std::vector<std::uint32_t> jobs;
      for (int i = 0; i < 4; ++i)
        jobs.push_back(world->run({.budget = "5", .cpus = 4, .limit_min = 60, .runtime = 2400}));
      for (int i = 0; i < 5; ++i) {
        world->advance(world->now + 600);
        if (world == &shaken) world->crash();
      }
      const auto runs = observed(*world);
      ASSERT_EQ(runs.size(), 4u) << mechanism;
      for (const std::uint32_t job : jobs)
        charged.push_back(observed_of(runs, job)->segment.charged);
      expect_no_credit_moved(*world, "100");
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GT(charged[i], Money()) << mechanism;
      EXPECT_NEAR(charged[i].credits(), charged[i + 4].credits(), 0.05) << mechanism;
    }
  }
}

TEST(Observe, AnArrayIsNotSplitAndEachTaskHasItsBill) {
  World world(rule("first_fit", "observe"));
  deposit(world, "10");
  const std::uint32_t job =
      world.run({.budget = "5", .cpus = 2, .limit_min = 60, .array = 3, .runtime = 600});
  world.advance(world.now + 300);
  EXPECT_EQ(world.job(job).tasks_pending, 3u) << "its record stays as Slurm made it";
  // Slurm makes a record of a task when it starts it.
  for (std::uint32_t task = 0; task < 3; ++task) {
    FakeJob& started = world.jobs[job + 10 + task];
    started = world.job(job);
    started.id = job + 10 + task;
    started.task = task;
    started.tasks_pending = 0;
    world.job(job).tasks_pending = 2 - task;
  }
  world.jobs.erase(job);
  world.advance(world.now + kHour);
  Money charged;
  EXPECT_EQ(observed(world).size(), 3u);
  for (const auto& run : observed(world)) charged += run.segment.charged;
  // 3 tasks × 2 cores × 10 min × 0.1
  EXPECT_EQ(charged, money("0.099999")) << "each task is rounded down to a micro-credit";
  expect_no_credit_moved(world, "10");
}

// ---- into the mode and out of it

TEST(Observe, WhatWasFollowedIsNeverChargedWhenItEnds) {
  World world(rule("era", "observe"), 1, 4);
  deposit(world, "10");
  const std::uint32_t runs = world.run({.budget = "5", .cpus = 4, .limit_min = 60});
  const std::uint32_t waits = world.run({.budget = "5", .cpus = 4, .limit_min = 60});
  world.advance(world.now + 600);
  world.configure(rule("era", "active"), false);
  Answer answer;
  const std::uint32_t bid = world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &answer);
  EXPECT_EQ(answer.verdict, MARKET_ACCEPTED);
  world.advance(world.now + 10 * kHour, 60);
  for (const std::uint32_t job : {runs, waits, bid})
    EXPECT_EQ(world.job(job).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.job(waits).site_factor, 0u);
  const auto bills = *world.books().segments({});
  ASSERT_EQ(bills.size(), 1u);
  EXPECT_EQ(bills[0].key.job_id, bid);
  EXPECT_GT(bills[0].charged, Money());
  EXPECT_EQ(world.balance("physics").posted, money("10") - bills[0].charged);
  EXPECT_TRUE(observed(world).empty()) << "they ended when nobody followed them any more";
  world.expect_balanced();
}

TEST(Observe, ContractsFromBeforeAreKeptAndPaid) {
  for (const char* mechanism : {"era", "tycoon", "dva"}) {
    World world(rule(mechanism, "active"), 1, 4);
    deposit(world, "20");
    const std::uint32_t runs = world.run({.budget = "5", .cpus = 4, .limit_min = 60});
    world.advance(world.now + 120);
    const std::uint32_t waits = world.run({.budget = "5", .cpus = 4, .limit_min = 60});
    world.advance(world.now + 120);
    world.configure(rule(mechanism, "observe"), false);
    world.step();
    Answer answer;
    const std::uint32_t follows = world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &answer);
    EXPECT_EQ(answer.verdict, MARKET_OBSERVED) << mechanism;
    world.crash();
    world.advance(world.now + 10 * kHour, 30);
    for (const std::uint32_t job : {runs, waits, follows})
      EXPECT_EQ(world.job(job).state, MARKET_JOB_COMPLETED) << mechanism;
    if (mechanism == std::string("era")) {
      EXPECT_EQ(world.job(waits).start, kStart + kHour) << "as promised";
    }
    const auto bills = *world.books().segments({});
    ASSERT_EQ(bills.size(), 2u) << mechanism;
    for (const auto& bill : bills) EXPECT_GT(bill.charged, Money()) << mechanism;
    EXPECT_EQ(world.balance("physics").posted, money("20") - bills[0].charged - bills[1].charged);
    EXPECT_EQ(observed(world).size(), 1u) << mechanism;
    world.expect_balanced();
  }
}

std::string prices_of(World& world) {
  return world.query(R"({"verb":"prices"})");
}

// Bids in this mode cost nothing; what they teach would be a gift, or an attack.
TEST(Observe, WhatPricesLearnedIsForgottenWhenItEnds) {
  const std::string daily = "predictor = { cycle = \"1-0\"; };\n";
  World world(rule("era", "active") + daily), never(rule("era", "active") + daily);
  for (World* each : {&world, &never}) {
    deposit(*each, "100000");
    for (int i = 0; i < 10; ++i) each->run({.budget = "2", .cpus = 4, .limit_min = 60});
    each->advance(each->now + 3 * kHour, 60);
  }
  ASSERT_EQ(prices_of(world), prices_of(never));
  world.configure(rule("era", "observe") + daily, false);
  for (int i = 0; i < 60; ++i) {
    for (World* each : {&world, &never}) {
      if (each == &world) each->run({.budget = "500", .cpus = 8, .limit_min = 120, .runtime = 60});
      each->advance(each->now + kHour / 4, 60);
    }
  }
  EXPECT_NE(prices_of(world), prices_of(never)) << "they are learned from while it lasts";
  world.configure(rule("era", "active") + daily, false);
  for (World* each : {&world, &never}) each->advance(each->now + 12 * kHour, 60);
  EXPECT_EQ(prices_of(world), prices_of(never));
}

TEST(Observe, ShadowBalancesBeginAnewWithTheMode) {
  World world(rule("first_fit", "observe"));
  deposit(world, "1");
  for (int i = 0; i < 2; ++i) world.run({.budget = "5", .cpus = 4, .limit_min = 60});
  world.advance(world.now + 2 * kHour, 60);
  Answer answer;
  world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &answer);
  EXPECT_THAT(answer.text, HasSubstr("would be refused"));
  world.configure(rule("first_fit", "active"), false);
  world.advance(world.now + kHour, 60);
  world.configure(rule("first_fit", "observe"), false);
  world.step();
  world.run({.budget = "5", .cpus = 4, .limit_min = 60}, &answer);
  EXPECT_THAT(answer.text, HasSubstr("would be accepted for 0.40"));
  EXPECT_THAT(answer.text, HasSubstr("0.60 left to spend"));
}

// One market of two observes; a job that it follows cannot slip into the other one without a bid.
TEST(Observe, OneMarketOfSeveral) {
  const std::string settings =
      "mechanism = \"first_fit\"; unbid = \"refuse\"; prices = { fixed = \"0.1\"; };\n"
      "markets = ( { name = \"batch\"; partitions = [ \"main\" ]; mode = \"observe\"; },\n"
      "            { name = \"gpu\"; partitions = [ \"gpu\" ]; } );\n";
  World world(settings);
  world.partitions = {{"main", {0, 1}}, {"gpu", {2, 3}}};
  world.tell_cluster();
  deposit(world, "10");
  Answer answer;
  const std::uint32_t follows = world.run({.budget = "5", .uid = 1, .partition = "main"}, &answer);
  EXPECT_EQ(answer.verdict, MARKET_OBSERVED);
  const std::uint32_t bid =
      world.run({.budget = "5", .uid = 1, .begin = world.now + kHour, .partition = "gpu"}, &answer);
  EXPECT_EQ(answer.verdict, MARKET_ACCEPTED);
  EXPECT_EQ(world.run({.partition = "gpu"}, &answer), 0u) << "unbid";
  EXPECT_NE(world.run({.partition = "main"}, &answer), 0u);
  world.advance(world.now + 60);
  market_change_t move{};
  move.partition = "gpu";
  EXPECT_EQ(world.change(follows, 1, move), MARKET_REJECTED);
  move.partition = "main";
  EXPECT_EQ(world.change(bid, 1, move), MARKET_REJECTED) << "its promise is for credits";
  const auto markets = nlohmann::json::parse(world.query(R"({"verb":"markets"})"))["markets"];
  EXPECT_EQ(markets[0]["mode"], "observe");
  EXPECT_EQ(markets[0]["live"], 1);
  EXPECT_EQ(markets[1]["mode"], "active");
  EXPECT_EQ(markets[1]["live"], 1);
  world.advance(world.now + 3 * kHour, 60);
  EXPECT_EQ(world.books().segments({})->size(), 1u);
  EXPECT_EQ(observed(world).size(), 1u);
}

TEST(Observe, AJobThatLeavesIsFollowedNoMore) {
  World world(
      "mechanism = \"first_fit\"; prices = { fixed = \"0.1\"; };\n"
      "markets = ( { name = \"batch\"; partitions = [ \"main\" ]; mode = \"observe\"; },\n"
      "            { name = \"gpu\"; partitions = [ \"gpu\" ]; } );\n");
  world.partitions = {{"main", {0, 1}}, {"gpu", {2, 3}}};
  world.tell_cluster();
  deposit(world, "1");
  world.scheduler = Scheduler::kNone;
  Answer answer;
  const std::uint32_t job = world.run({.budget = "5", .cpus = 8, .limit_min = 60}, &answer);
  EXPECT_THAT(answer.text, HasSubstr("0.20 left to spend"));
  world.advance(world.now + 60);
  world.job(job).partition = "gpu";
  world.advance(world.now + 60);
  (void)world.test_only({.budget = "5", .cpus = 1, .limit_min = 60});
  const Answer after = world.test_only({.budget = "5", .cpus = 1, .limit_min = 60});
  EXPECT_THAT(after.text, HasSubstr("0.80 left to spend")) << "its lien returned";
  world.scheduler = Scheduler::kEager;
  world.advance(world.now + 3 * kHour, 60);
  EXPECT_EQ(world.job(job).state, MARKET_JOB_COMPLETED);
  EXPECT_TRUE(observed(world).empty());
  expect_no_credit_moved(world, "1");
}

// The two markets of a slurmctld count their acceptances apart: the end of a call in one says
// nothing of the other.
TEST(Observe, TheEndOfACallIsOfItsOwnMarket) {
  World world(
      "mechanism = \"first_fit\"; prices = { fixed = \"0.1\"; };\n"
      "markets = ( { name = \"batch\"; partitions = [ \"main\" ]; mode = \"observe\"; },\n"
      "            { name = \"gpu\"; partitions = [ \"gpu\" ]; } );\n");
  world.partitions = {{"main", {0, 1}}, {"gpu", {2, 3}}};
  world.tell_cluster();
  deposit(world, "10");
  const Answer followed = world.submit({.budget = "5", .cpus = 4});
  const Answer bid = world.submit({.budget = "5", .cpus = 4, .partition = "gpu"});
  EXPECT_EQ(bid.verdict, MARKET_ACCEPTED);
  EXPECT_NE(followed.ticket, bid.ticket);
  world.market().submission_over(followed.ticket);
  world.advance(world.now + 30);
  EXPECT_THAT(world.query(R"({"verb":"balance"})"), HasSubstr("\"liens\":\"0.40\""))
      << "its call goes on";
  world.market().submission_over(bid.ticket);
  world.advance(world.now + 30);
  EXPECT_THAT(world.query(R"({"verb":"balance"})"), HasSubstr("\"liens\":\"0.00\""));
}

TEST(Observe, WhyAndQuoteSpeakOfWhatWouldBe) {
  World world(rule("first_fit", "observe"), 1, 4);
  deposit(world, "10");
  world.run({.cpus = 4, .limit_min = 60});
  world.advance(world.now + 20);
  const std::uint32_t job = world.run({.budget = "5", .cpus = 4, .limit_min = 60});
  world.advance(world.now + 20);
  const auto why =
      nlohmann::json::parse(world.query(fmt::format(R"({{"verb":"why","job":"{}"}})", job)));
  EXPECT_EQ(why["ok"], true);
  EXPECT_THAT(why["text"].get<std::string>(), StartsWith("only observed: "));
  EXPECT_EQ(why["price"], "0.40");
  const auto quote = nlohmann::json::parse(
      world.query(R"({"verb":"quote","size":{"tasks":1},"time_limit_s":3600,"partition":"main"})"));
  EXPECT_EQ(quote["ok"], true) << quote.dump();
}

}  // namespace
}  // namespace market::testing
