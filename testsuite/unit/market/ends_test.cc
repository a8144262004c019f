// SPDX-License-Identifier: GPL-2.0-or-later
// Nobody runs free by how his run ends: what each end owes under each rule, and what a rerun costs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kUser = 5, kOther = 8;  // games, and one who pays for nothing here

Money credits(const std::string& text) {
  return *Money::parse(text);
}

/// Four nodes of four cores; account physics pays. One CPU-hour costs 1 where prices are posted.
struct Cluster : World {
  explicit Cluster(const std::string& mechanism, std::string more = "", const char* price = "1")
      : World(settings(mechanism, more, price), 4, 4) {
    (void)books().set_members("physics", {"games"}, {});
    (void)books().deposit("physics", credits("1000"), "", now);
    sync();
  }
  static std::string settings(const std::string& mechanism, const std::string& more,
                              const std::string& price) {
    return fmt::format(
        "mechanism = \"{}\"; prices = {{ floor = \"0.05\"; fixed = \"{}\"; }};\n"
        "planning = {{ auction_period = \"0:01\"; }};\n{}",
        mechanism, price, more);
  }
  /// A running bid of an hour.
  FakeJob& started(const std::string& budget, std::uint32_t cpus, const std::string& value = "") {
    Ask ask;
    ask.budget = budget;
    ask.value = value;
    ask.cpus = cpus;
    const std::uint32_t id = run(ask);
    EXPECT_NE(id, 0u);
    job(id).uid = kUser;
    advance(now + 60);
    EXPECT_EQ(job(id).state, MARKET_JOB_RUNNING);
    return job(id);
  }
  ledger::Segment bill(std::uint32_t id, std::uint32_t restart = 0) {
    sync();
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    const auto runs = books().segments(filter);
    for (const ledger::Segment& run : *runs) {
      if (run.key.restart == restart) return run;
    }
    ADD_FAILURE() << "no bill of job " << id << ", restart " << restart;
    return {};
  }
  Money owed(std::uint32_t id, std::uint32_t restart = 0) {
    const ledger::Segment run = bill(id, restart);
    return run.charged - run.refunded;
  }
};

/// Who or what ends a run after 900 of its 3600 seconds.
struct HowItEnds {
  const char* what;
  int state;
  bool own;
  bool by_operator = false;
  std::uint32_t preemptor = 0;  ///< its uid; 0: none
  const char* preemptor_account = "";
};

const HowItEnds kEnds[] = {
    {"exit 0", MARKET_JOB_COMPLETED, true},
    {"exit 1", MARKET_JOB_FAILED, true},
    {"time limit", MARKET_JOB_TIMEOUT, true},
    {"out of memory", MARKET_JOB_OUT_OF_MEMORY, true},
    {"own scancel", MARKET_JOB_CANCELLED, true},
    {"own requeue", MARKET_JOB_REQUEUED, true},
    {"preempted by its user's job", MARKET_JOB_PREEMPTED, true, false, kUser, "physics"},
    {"preempted by its user's job for another account", MARKET_JOB_PREEMPTED, true, false, kUser,
     "chemistry"},
    {"preempted by a job of its account", MARKET_JOB_PREEMPTED, true, false, kOther, "Physics"},
    {"preempted by somebody else's job", MARKET_JOB_PREEMPTED, false, false, kOther, "chemistry"},
    {"scancel by an operator", MARKET_JOB_CANCELLED, false, true},
    {"node fail", MARKET_JOB_NODE_FAIL, false},
    {"boot fail", MARKET_JOB_BOOT_FAIL, false},
};

/// What a quarter of an hour of 16 CPUs (dva: 4) with a budget of 24 owes, by hand.
struct Owed {
  const char* mechanism;
  const char* charge;
  std::uint32_t cpus;
  const char* own;
};

const Owed kOwed[] = {
    {"first_fit", "reserved", 16, "16"},  // 16 CPUs × 1 h × 1
    {"first_fit", "used", 16, "4"},       // a quarter of it
    {"on_demand", "reserved", 16, "16"},  // as first_fit
    {"abacus", "reserved", 16, "6"},      // a quarter of its time limit: a quarter of its budget
    {"tycoon", "reserved", 16, "6"},      // alone on all CPUs: 24 ÷ 3600 a second × 900
    {"dva", "reserved", 4, "0.05"},       // the runner-up's ask: 4 CPUs × 0.05 an hour × ¼ h
    {"fifo", "reserved", 16, "0"},        // a queue without prices
};

TEST(Ends, EachOwesByWhoseDoingItWas) {
  for (const Owed& rule : kOwed) {
    for (const HowItEnds& end : kEnds) {
      SCOPED_TRACE(fmt::format("{} {}: {}", rule.mechanism, rule.charge, end.what));
      Cluster cluster(rule.mechanism, fmt::format("charge = \"{}\";\n", rule.charge));
      FakeJob& job = cluster.started("24", rule.cpus);
      cluster.now = job.start + 900;
      job.by_operator = end.by_operator;
      if (end.preemptor != 0) {
        cluster.preempt(job, end.preemptor, end.preemptor_account);
      } else {
        cluster.end(job, end.state);
      }
      cluster.step();
      const ledger::Segment bill = cluster.bill(job.id);
      EXPECT_EQ(bill.elapsed, 900);
      EXPECT_NEAR((bill.charged - bill.refunded).credits(),
                  end.own ? credits(rule.own).credits() : 0.0, 1e-6);
      EXPECT_EQ(bill.state == "PREEMPTED", end.preemptor != 0);
    }
  }
}

// Nothing that began costs nothing, and no rule of the site's can make one own end cheaper.
TEST(Ends, BeforeTheStartIsFree) {
  for (const int state : {MARKET_JOB_CANCELLED, MARKET_JOB_DEADLINE}) {
    Cluster cluster("first_fit");
    Ask ask{.budget = "5"};
    ask.begin = kStart + 3600;
    const std::uint32_t id = cluster.run(ask);
    cluster.advance(kStart + 60);
    cluster.end(cluster.job(id), state);
    cluster.advance(kStart + 90);
    EXPECT_EQ(cluster.balance("physics").posted, credits("1000"));
    EXPECT_EQ(cluster.balance("physics").liens, Money());
    const ledger::Segment bill = cluster.bill(id);
    const bool dropped = state == MARKET_JOB_DEADLINE;
    EXPECT_EQ(bill.state, dropped ? "DEADLINE" : "VOIDED");
    EXPECT_EQ(bill.note,
              dropped ? "did not start before its deadline" : "CANCELLED before it started");
    EXPECT_EQ(bill.elapsed, 0);
  }
}

// ---- for whom Slurm made room ----

struct Preempted : Cluster {
  Preempted() : Cluster("first_fit"), job(started("24", 16)) { now = job.start + 900; }
  void preempted() {
    requeue(job, MARKET_JOB_PREEMPTED);
    job.begin = now + 600;
  }
  void mark(std::uint32_t uid, Time since, Time start = 0) {
    preemptors.push_back({999, uid, uid == kUser ? "physics" : "chemistry", since, start});
  }
  bool is_free() {
    step();
    return owed(job.id) == Money();
  }
  FakeJob& job;
};

TEST(Preempted, TheLatestMarkBeforeTheEndTells) {
  {
    Preempted world;  // a grace of 120 s began for its own job, somebody else's came later
    world.mark(kUser, world.now - 120);
    world.mark(kOther, world.now - 30);
    world.preempted();
    EXPECT_TRUE(world.is_free());
  }
  {
    Preempted world;
    world.mark(kOther, world.now - 120);
    world.mark(kUser, world.now - 30);
    world.preempted();
    EXPECT_FALSE(world.is_free());
  }
  for (const bool own_first : {false, true}) {  // in the same second: it was its own
    Preempted world;
    world.mark(own_first ? kUser : kOther, world.now);
    world.mark(own_first ? kOther : kUser, world.now);
    world.preempted();
    EXPECT_FALSE(world.is_free());
  }
}

TEST(Preempted, MarksOfOtherTimesTellNothing) {
  Preempted world;
  world.mark(kUser, world.now - 600);                 // long ago
  world.mark(kUser, world.now - 60, world.now - 50);  // started since, so it waits for nobody
  world.preempted();
  world.mark(kUser, world.now + 30);  // after it
  EXPECT_TRUE(world.is_free());
}

// An own job that makes room for itself and is cancelled at once, or starts at once, is still seen.
TEST(Preempted, AnOwnJobThatIsGoneOrRunsIsStillItsOwn) {
  for (const Time later : {0, 1, 20}) {
    Preempted world;
    world.preempted();
    world.mark(kUser, world.now, world.now + later);
    EXPECT_FALSE(world.is_free());
  }
}

// Gang scheduling marks nobody: the job that started on its cores is the one.
TEST(Preempted, WithoutAMarkWhoStartedThereTells) {
  for (const bool own : {false, true}) {
    Preempted world;
    world.preempted();
    Ask ask{.account = own ? "physics" : "chemistry", .cpus = 4};
    FakeJob& other = world.jobs.at(world.run(ask));
    other.uid = own ? kUser : kOther;
    other.state = MARKET_JOB_RUNNING;
    other.start = world.now;
    other.cores[2] = {0, 1, 2, 3};
    EXPECT_EQ(world.is_free(), !own);
  }
}

// A job of its own that suspends a run (PreemptMode=SUSPEND) does not make it late; an operator's
// suspension does.
TEST(Preempted, AnOwnSuspensionIsNoLateness) {
  for (const bool own : {false, true}) {
    Cluster cluster("first_fit");
    FakeJob& job = cluster.started("24", 16);
    Ask ask{.account = own ? "physics" : "chemistry", .cpus = 4};
    FakeJob& other = cluster.job(cluster.run(ask));
    other.uid = own ? kUser : kOther;
    other.state = MARKET_JOB_RUNNING;
    other.start = cluster.now;
    other.cores[1] = {0, 1, 2, 3};
    job.state = MARKET_JOB_SUSPENDED;
    cluster.step();
    other.state = MARKET_JOB_COMPLETED;
    other.ended_told = true;
    cluster.now += 600;
    job.suspended = 600;
    job.state = MARKET_JOB_RUNNING;
    cluster.advance(job.start + 3600 + 700);
    ASSERT_EQ(job.state, MARKET_JOB_COMPLETED);
    EXPECT_EQ(cluster.owed(job.id), own ? credits("16") : Money());
  }
}

// ---- the rerun ----

void set_price(Cluster& cluster, const char* price) {
  cluster.configure(Cluster::settings("first_fit", "", price), false);
}

// 4 CPUs for an hour, bought at 1, while prices rise to 3 (12 in all) or 9 (36).
TEST(Rerun, AnOwnRequeueIsQuotedAnewWithinItsBudget) {
  for (const int state : {MARKET_JOB_REQUEUED, MARKET_JOB_FAILED}) {  // or by RequeueExit
    for (const bool by_crash : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", state, by_crash));
      Cluster cluster("first_fit");
      FakeJob& job = cluster.started("24", 4);
      set_price(cluster, "3");
      cluster.requeue(job, state);
      job.submit = cluster.now;
      cluster.sync();
      if (by_crash) cluster.crash();
      cluster.advance(cluster.now + 120);
      ASSERT_EQ(job.state, MARKET_JOB_RUNNING);
      EXPECT_EQ(cluster.balance("physics").liens, credits("12"));
      EXPECT_EQ(cluster.owed(job.id), credits("4"));
      set_price(cluster, "9");
      cluster.requeue(job, state);
      job.submit = cluster.now;
      cluster.sync();
      if (by_crash) cluster.crash();
      cluster.advance(cluster.now + 120);
      EXPECT_TRUE(job.held);
      EXPECT_EQ(job.state_desc, "Outbid");
      const std::string why = cluster.query(fmt::format(R"({{"verb":"why","job":"{}"}})", job.id));
      EXPECT_THAT(why, AllOf(HasSubstr("budget is 24.00"), HasSubstr("36.00")));
      EXPECT_EQ(cluster.balance("physics").liens, Money());
      EXPECT_EQ(cluster.balance("physics").posted, credits("984"));
    }
  }
}

TEST(Rerun, WhatTheSystemEndedKeepsItsPrice) {
  for (const int state : {MARKET_JOB_NODE_FAIL, MARKET_JOB_BOOT_FAIL, MARKET_JOB_PREEMPTED}) {
    for (const bool by_crash : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", state, by_crash));
      Cluster cluster("first_fit");
      FakeJob& job = cluster.started("24", 4);
      set_price(cluster, "9");
      cluster.requeue(job, state);
      job.submit = cluster.now;
      if (state == MARKET_JOB_PREEMPTED) cluster.step();  // it must know for whom
      cluster.sync();
      if (by_crash) cluster.crash();
      cluster.advance(cluster.now + 120);
      ASSERT_EQ(job.state, MARKET_JOB_RUNNING);
      cluster.advance(cluster.now + 3600);
      EXPECT_EQ(cluster.owed(job.id), Money());
      EXPECT_EQ(cluster.owed(job.id, 1), credits("4"));
    }
  }
}

// ---- bids that promise much and can owe nothing ----

const char* const kAuctions[] = {"abacus", "tycoon", "dva"};

TEST(Worth, ABidThatCanOweNothingIsRefused) {
  for (const char* mechanism : kAuctions) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism);
    const auto says = [&](const char* budget, const char* value) {
      Ask ask;
      ask.budget = budget;
      ask.value = value;
      return cluster.submit(ask).text;
    };
    EXPECT_THAT(says("0", ""), HasSubstr("a budget of 0 buys nothing here"));
    EXPECT_THAT(says("", "400:0:1"), HasSubstr("the value would be 0 when the job ends"));
    EXPECT_THAT(says("", "0:2:00:00:3:00:00"), HasSubstr("the value would be 0"));
    EXPECT_THAT(says("0.000001", ""), HasSubstr("accepted"));
    const std::uint32_t id = cluster.bid("5", 4, 60, 3600);
    cluster.step();
    const auto rebid = [&](const char* word, const char* text) {
      return nlohmann::json::parse(cluster.query(
          fmt::format(R"({{"verb":"rebid","job":"{}","{}":"{}"}})", id, word, text)))["ok"]
          .get<bool>();
    };
    cluster.job(id).held = true;
    EXPECT_FALSE(rebid("budget", "0"));
    EXPECT_FALSE(rebid("value", "400:0:1"));
    EXPECT_TRUE(rebid("budget", "6"));
  }
  for (const char* mechanism : {"fifo", "edf"}) {  // cost nothing anyway
    Cluster cluster(mechanism);
    EXPECT_EQ(cluster.submit(Ask{.budget = "0"}).verdict, MARKET_ACCEPTED) << mechanism;
  }
}

// 400 × 1 % is left an hour after submission, which is when it can end: it stands for 4, below 39.
TEST(Worth, AFallingValueIsRankedByWhatItOwesAtItsEnd) {
  for (const char* mechanism : kAuctions) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism);
    const std::uint32_t blocker = cluster.bid("1", 16, 60, 3600);
    cluster.advance(kStart + 5, 1);
    ASSERT_EQ(cluster.job(blocker).state, MARKET_JOB_RUNNING);
    Ask falling;
    falling.value = "400:0:1:00:00";
    falling.cpus = 16;
    const std::uint32_t steep = cluster.run(falling);
    const std::uint32_t honest = cluster.bid("39", 16, 60, 3600);
    cluster.advance(kStart + 30);
    EXPECT_GT(cluster.job(honest).site_factor, cluster.job(steep).site_factor);
    // Worth a millionth of itself no more when the blocker has ended: it is held, and free to go.
    cluster.advance(kStart + 3700);
    EXPECT_EQ(cluster.job(honest).state, MARKET_JOB_RUNNING);
    cluster.advance(kStart + 3 * 3600);
    EXPECT_TRUE(cluster.job(steep).held);
    EXPECT_EQ(cluster.job(steep).state_desc, "Outbid");
    const std::string why = cluster.query(fmt::format(R"({{"verb":"why","job":"{}"}})", steep));
    EXPECT_THAT(why, HasSubstr("would be worth nothing at the end of its time limit"));
    cluster.expect_balanced();
  }
}

// Alone on all CPUs under tycoon a value that is 99 % of 40 when the limit ends owes 39.6 ÷ 3600 a
// second; what it loses afterwards, while it overruns, does not lower that.
TEST(Worth, OverrunningDoesNotMakeARunCheaper) {
  Cluster cluster("tycoon");
  FakeJob& job = cluster.started("", 16, "40:1:00:00:1:10:00");
  job.runtime = 3 * 3600;
  cluster.advance(kStart + 4 * 3600, 60);
  ASSERT_EQ(job.state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(cluster.owed(job.id).credits(), 39.6, 0.1);
}

// After half of its limit it owes half of that, though at its end it was worth more.
TEST(Worth, AValueOwesItsRateTimesItsSeconds) {
  Cluster cluster("tycoon");
  FakeJob& job = cluster.started("", 16, "40:1:00:00:1:10:00");
  job.runtime = 1800;
  cluster.advance(kStart + 3600);
  EXPECT_NEAR(cluster.owed(job.id).credits(), 19.8, 0.1);
}

// Its owner requeues the job while slurmctld's market is dead, so that nobody tells of the end: the
// run owes what every own end owes, and a job that had not begun owes nothing.
TEST(Ends, ARunThatNobodySawEndOwesItsPriceAfterACrash) {
  for (const bool began : {true, false}) {
    SCOPED_TRACE(began);
    World world(
        "mechanism = \"first_fit\"; prices = { fixed = \"1\"; floor = \"1\"; cap = \"1\"; };");
    ASSERT_TRUE(world.books().deposit("physics", *Money::parse("100"), "", kStart));
    world.sync();
    if (!began) world.scheduler = Scheduler::kNone;
    const std::uint32_t id = world.bid("50", 4, 60, 3600);  // 4 CPUs, an hour: 4.00
    world.advance(kStart + 120);
    FakeJob& job = world.job(id);
    ASSERT_EQ(job.state == MARKET_JOB_RUNNING, began);
    world.now += 60;
    job.state = MARKET_JOB_PENDING;
    job.restart = 1;
    job.submit = world.now;
    job.begin = world.now + 120;
    job.start = job.end = 0;
    job.cores.clear();
    job.resv.clear();
    world.crash();
    world.advance(world.now + 30);
    std::string charged = "no bill";
    const auto runs = world.books().segments(ledger::SegmentFilter{});
    for (const ledger::Segment& run : *runs) {
      if (run.key.restart == 0) charged = run.charged.to_string();
    }
    EXPECT_EQ(charged, began ? "4.00" : "0.00");
  }
}

}  // namespace
}  // namespace market::testing
