// SPDX-License-Identifier: GPL-2.0-or-later
// What runs in auctions owe when passes stop, rules change, jobs are requeued, and notes are
// damaged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

Money credits(const char* text) {
  return *Money::parse(text);
}

/// Four nodes of four cores under a mechanism that can be changed.
struct Cluster : World {
  explicit Cluster(const std::string& mechanism, std::string more = "")
      : World(settings(mechanism, more), 4, 4), more_(std::move(more)) {
    (void)books().deposit("physics", credits("1000"), "", now);
    sync();
  }
  static std::string settings(const std::string& mechanism, const std::string& more) {
    return fmt::format(
        "mechanism = \"{}\"; prices = {{ floor = \"0.05\"; fixed = \"0.05\"; }};\n"
        "planning = {{ auction_period = \"0:01\"; }};\n{}",
        mechanism, more);
  }
  void change_to(const std::string& mechanism, bool by_crash = false) {
    configure(settings(mechanism, more_), by_crash);
  }
  /// The next run of a requeued job starts and ends without a pass in between.
  void run_unseen(std::uint32_t id, Time seconds) {
    FakeJob& again = job(id);
    again.held = false;
    again.state = MARKET_JOB_RUNNING;
    again.start = now;
    now += seconds;
  }
  /// Runs of a job in the books, the first one first.
  std::vector<ledger::Segment> bills(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    auto runs = books().segments(filter);
    if (!runs) return {};
    std::sort(runs->begin(), runs->end(), [](const ledger::Segment& a, const ledger::Segment& b) {
      return a.key.restart < b.key.restart;
    });
    return *runs;
  }
  Money charged(std::uint32_t id) {
    Money sum;
    for (const ledger::Segment& run : bills(id)) sum += run.charged - run.refunded;
    return sum;
  }
  bool rebid(std::uint32_t id, const std::string& word, const std::string& text) {
    const std::string answer =
        query(fmt::format(R"({{"verb":"rebid","job":"{}","{}":"{}"}})", id, word, text));
    return nlohmann::json::parse(answer)["ok"].get<bool>();
  }

 private:
  std::string more_;
};

// Alone on the whole cluster under tycoon a run owes 6 ÷ 3600 a second all the time (eqs. 1 and 2
// with all that is allocated used), also over half an hour without a pass.
TEST(AuctionMoney, ARunOwesItsRateWhileNobodyLooks) {
  for (const bool by_crash : {false, true}) {
    SCOPED_TRACE(by_crash);
    Cluster cluster("tycoon");
    const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
    cluster.advance(kStart + 600);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    cluster.now += 1800;
    if (by_crash) cluster.crash();
    cluster.advance(kStart + 4000);
    const FakeJob& run = cluster.job(job);
    ASSERT_EQ(run.state, MARKET_JOB_COMPLETED);
    EXPECT_NEAR(cluster.charged(job).credits(), 6.0 / 3600 * double(run.end - run.start), 0.02);
    cluster.expect_balanced();
  }
}

// Two owners ask nothing: the runner-up's ask is 0, so the award costs nothing (eq. 12), all along.
TEST(AuctionMoney, AnAwardForNothingStaysSo) {
  for (const bool by_crash : {false, true}) {
    SCOPED_TRACE(by_crash);
    Cluster cluster("dva", "owners = ( { nodes = \"n[1-2]\"; account = \"lab\"; ask = \"0\"; } );");
    (void)cluster.books().add_account("lab", "", kStart);
    const std::uint32_t job = cluster.bid("6", 4, 60, 3000);
    cluster.advance(kStart + 600);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    if (by_crash) cluster.crash();
    cluster.advance(kStart + 4000);
    EXPECT_EQ(cluster.bills(job).at(0).charged, Money());
    cluster.expect_balanced();
  }
}

// Who got a place by a high bid keeps it, since Slurm takes no place away: so the bid stays.
TEST(AuctionMoney, ARunningBidCannotFall) {
  for (const char* mechanism : {"dva", "tycoon", "abacus"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism);
    const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
    EXPECT_TRUE(cluster.rebid(job, "budget", "1") == false);  // no pass has seen it
    cluster.market().pass(nullptr, 0, nullptr, 0, cluster.now);
    cluster.advance(kStart + 600);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    EXPECT_FALSE(cluster.rebid(job, "budget", "5.999999"));
    EXPECT_FALSE(cluster.rebid(job, "budget", "3"));
    EXPECT_FALSE(cluster.rebid(job, "value", "100:0:00:01:0:00:02"));
    EXPECT_TRUE(cluster.rebid(job, "budget", "6"));
    EXPECT_TRUE(cluster.rebid(job, "budget", "7"));
    EXPECT_FALSE(cluster.rebid(job, "budget", "6"));
    cluster.advance(kStart + 4000);
    EXPECT_LE(cluster.charged(job), credits("7"));
    EXPECT_GT(cluster.charged(job), Money());
    cluster.expect_balanced();
  }
}

TEST(AuctionMoney, ARunningValueCannotFall) {
  Cluster cluster("tycoon");
  Ask ask;
  ask.value = "6:2:00:00:3:00:00";
  ask.cpus = 16;
  ask.runtime = 1800;
  const std::uint32_t job = cluster.run(ask);
  cluster.advance(kStart + 600);
  ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
  EXPECT_FALSE(cluster.rebid(job, "value", "5:2:00:00:3:00:00"));
  EXPECT_FALSE(cluster.rebid(job, "value", "6:1:00:00:3:00:00"));
  EXPECT_FALSE(cluster.rebid(job, "value", "6:2:00:00:2:59:59"));
  EXPECT_FALSE(cluster.rebid(job, "budget", "5"));
  EXPECT_TRUE(cluster.rebid(job, "value", "6:2:00:00:4:00:00"));
  EXPECT_TRUE(cluster.rebid(job, "budget", "6"));
  cluster.advance(kStart + 4000);
  cluster.expect_balanced();
}

// A run of a rule that is in force no more has its last rate; its bid says nothing any more.
TEST(AuctionMoney, ARunOfAnotherRuleKeepsItsBid) {
  for (const char* next : {"fifo", "era", "dva"}) {
    SCOPED_TRACE(next);
    Cluster cluster("tycoon");
    const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
    cluster.advance(kStart + 30);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    cluster.change_to(next);
    EXPECT_FALSE(cluster.rebid(job, "budget", "1"));
    EXPECT_FALSE(cluster.rebid(job, "budget", "9"));
    EXPECT_FALSE(cluster.rebid(job, "value", "9:0:00:01:0:00:02"));
    cluster.advance(kStart + 4000);
    EXPECT_NEAR(cluster.charged(job).credits(), 3.0, 0.05);
    cluster.expect_balanced();
  }
}

// A second bid changes the first one's rate; within the minute the rule changes, and much later the
// market crashes. What that may cost is the change of the rate for a minute.
TEST(AuctionMoney, TheLastRateOfARuleOutlivesACrash) {
  double charged[2] = {};
  for (const bool by_crash : {false, true}) {
    Cluster cluster("tycoon");
    const std::uint32_t job = cluster.bid("6", 4, 60, 3000);
    cluster.advance(kStart + 80);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
    ASSERT_NE(cluster.bid("6", 16, 60, 60), 0u);
    cluster.advance(kStart + 100);
    cluster.change_to("era");
    cluster.advance(kStart + 2000);
    if (by_crash) cluster.crash();
    cluster.advance(kStart + 4000);
    charged[by_crash] = cluster.charged(job).credits();
  }
  EXPECT_GT(charged[0], 2.0);
  EXPECT_NEAR(charged[1], charged[0], 6.0 / 3600 * 60);
}

// A job that ended and is sent into the queue again hours later is worth what its bid says then.
TEST(AuctionMoney, AWorthOutlivesTheEndOfARun) {
  for (const bool by_crash : {false, true}) {
    SCOPED_TRACE(by_crash);
    Cluster cluster("tycoon");
    Ask ask;
    ask.value = "8:1:00:00:2:00:00";
    ask.cpus = 16;
    ask.limit_min = 30;
    ask.runtime = 600;
    const std::uint32_t job = cluster.run(ask);
    cluster.advance(kStart + 1200);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_COMPLETED);
    const Money first = cluster.charged(job);
    EXPECT_GT(first, Money());
    FakeJob& again = cluster.job(job);
    ++again.restart;
    again.state = MARKET_JOB_PENDING;
    again.start = again.end = 0;
    again.submit = cluster.now;
    again.begin = kStart + 2 * 3600;
    if (by_crash) cluster.crash();
    cluster.advance(kStart + 4 * 3600);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_COMPLETED);
    const auto bills = cluster.bills(job);
    ASSERT_EQ(bills.size(), 2u);
    // Two hours after submission 1 % of 8 is left, half an hour later far less.
    EXPECT_LE(bills[1].charged, credits("0.08"));
    EXPECT_GT(bills[1].charged, Money());
    cluster.expect_balanced();
  }
}

// The run after a requeue is billed by itself, also when it is over before a pass has seen it.
TEST(AuctionMoney, ARunAfterARequeueIsBilledThoughNobodySawIt) {
  for (const char* mechanism : {"first_fit", "tycoon", "abacus", "dva"}) {
    for (const bool by_crash : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", mechanism, by_crash));
      Cluster cluster(mechanism);
      const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
      cluster.advance(kStart + 600);
      ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
      cluster.requeue(cluster.job(job), MARKET_JOB_REQUEUED);
      cluster.job(job).submit = cluster.now;
      cluster.sync();
      cluster.run_unseen(job, 1800);
      if (by_crash) {
        cluster.job(job).state = MARKET_JOB_COMPLETED;
        cluster.job(job).end = cluster.now;
        cluster.crash();
      } else {
        cluster.end(cluster.job(job), MARKET_JOB_COMPLETED);
      }
      cluster.advance(cluster.now + 300);
      const auto bills = cluster.bills(job);
      ASSERT_EQ(bills.size(), 2u);
      EXPECT_GT(bills[0].charged, Money());
      EXPECT_EQ(bills[1].state, "COMPLETED");
      if (mechanism == std::string("tycoon")) {
        EXPECT_NEAR(bills[1].charged.credits(), 3.0, 0.05);
      }
      EXPECT_GT(bills[1].charged, Money());
      EXPECT_LE(bills[1].charged, credits("6"));
      cluster.expect_balanced();
    }
  }
}

// Slurm starts a requeued job before any pass planned it: the old promise is none for the new run.
TEST(AuctionMoney, ARunAfterARequeueIsNotLateByTheOldPromise) {
  for (const bool by_crash : {false, true}) {
    SCOPED_TRACE(by_crash);
    Cluster cluster("first_fit");
    const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
    cluster.advance(kStart + 2000);
    cluster.requeue(cluster.job(job), MARKET_JOB_NODE_FAIL);
    cluster.job(job).submit = cluster.now;
    cluster.sync();
    cluster.run_unseen(job, 10);
    if (by_crash) cluster.crash();
    cluster.advance(kStart + 6000);
    const auto bills = cluster.bills(job);
    ASSERT_EQ(bills.size(), 2u);
    EXPECT_EQ(bills[1].state, "COMPLETED");
    EXPECT_EQ(bills[1].charged, credits("0.8"));  // 16 CPU-hours at 0.05
    EXPECT_EQ(bills[1].refunded, Money());
    cluster.expect_balanced();
  }
}

// An end that was never told does not leave its lien or its seconds to the next run.
TEST(AuctionMoney, AnEndThatWasNotToldIsOneOfARequeue) {
  Cluster cluster("tycoon");
  const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
  cluster.advance(kStart + 900);
  ASSERT_EQ(cluster.job(job).state, MARKET_JOB_RUNNING);
  ++cluster.job(job).restart;
  cluster.job(job).submit = cluster.now;
  cluster.run_unseen(job, 1800);
  cluster.end(cluster.job(job), MARKET_JOB_COMPLETED);
  cluster.advance(cluster.now + 300);
  const auto bills = cluster.bills(job);
  ASSERT_EQ(bills.size(), 2u);
  EXPECT_EQ(bills[0].state, "REQUEUED");
  EXPECT_NEAR(bills[0].charged.credits(), 1.5, 0.05);  // a quarter of an hour of its own
  EXPECT_NEAR(bills[1].charged.credits(), 3.0, 0.05);
  cluster.expect_balanced();
}

// Slurm was faster than the market's hold: that run is free, the next one is not.
TEST(AuctionMoney, AnUnbilledRunDoesNotMakeTheNextOneFree) {
  for (const char* mechanism : {"first_fit", "tycoon"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism, "no_funds = \"wait\";\n");
    (void)cluster.books().withdraw("physics", credits("1000"), "", kStart);
    cluster.sync();
    const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
    ASSERT_NE(job, 0u);
    cluster.run_unseen(job, 0);
    cluster.advance(kStart + 600);
    cluster.requeue(cluster.job(job), MARKET_JOB_NODE_FAIL);
    cluster.job(job).submit = cluster.now;
    (void)cluster.books().deposit("physics", credits("1000"), "", cluster.now);
    cluster.advance(kStart + 4000);
    ASSERT_EQ(cluster.job(job).state, MARKET_JOB_COMPLETED);
    const auto bills = cluster.bills(job);
    ASSERT_FALSE(bills.empty());
    EXPECT_GT(bills.back().charged, Money());
    cluster.expect_balanced();
  }
}

// As above among so many bids that none is compared with all others any more: alone, a bid for the
// whole cluster pays just that.
TEST(AuctionMoney, AmongThousandsARunThatNobodySawIsNotFree) {
  Cluster cluster("tycoon");
  for (int i = 0; i < 2001; ++i) {
    const std::uint32_t id = cluster.bid("0.000001", 16, 60, 3600);
    ASSERT_NE(id, 0u);
    cluster.job(id).dependent = true;
    // So many bids of one user are not accepted without a pass in between.
    if (i % 100 == 99) cluster.step();
  }
  cluster.step();
  cluster.sync();
  const std::uint32_t job = cluster.bid("6", 16, 60, 1800);
  cluster.run_unseen(job, 1800);
  cluster.end(cluster.job(job), MARKET_JOB_COMPLETED);
  cluster.sync();
  EXPECT_EQ(cluster.charged(job), credits("3"));
}

// Whatever stands in a note, a run owes at most its bid, and at least what it says.
TEST(AuctionMoney, HugeNumbersInACommentAreNotFree) {
  for (const char* number : {"1e12", "1e15", "1e300", "1.7e308"}) {
    for (const char* key : {"accrued", "rate"}) {
      SCOPED_TRACE(fmt::format("{} {}", key, number));
      Cluster cluster("tycoon");
      const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
      cluster.advance(kStart + 1800);
      FakeJob& run = cluster.job(job);
      const std::string name = fmt::format("\"{}\":", key);
      const std::size_t at = run.note.find(name) + name.size();
      run.note.replace(at, run.note.find_first_of(",}", at) - at, number);
      run.state = MARKET_JOB_COMPLETED;
      run.end = cluster.now;
      cluster.crash();
      cluster.advance(cluster.now + 60);
      EXPECT_EQ(cluster.charged(job), credits("6"));
      cluster.expect_balanced();
    }
  }
}

// What the note of the ended run told is what the books get, though they had not got it yet.
TEST(AuctionMoney, ABillThatWasToldOutlivesACrash) {
  for (const char* mechanism : {"first_fit", "tycoon", "dva", "abacus"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism, "ends = { node_fail = \"charge\"; };\n");
    const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
    cluster.advance(kStart + 1800);
    FakeJob& run = cluster.job(job);
    ASSERT_EQ(run.state, MARKET_JOB_RUNNING);
    cluster.requeue(run, MARKET_JOB_NODE_FAIL);
    run.submit = cluster.now;
    const Money told = read_note(run.note)->charged;
    EXPECT_GT(told, Money());
    cluster.crash();
    cluster.advance(cluster.now + 60);
    ASSERT_FALSE(cluster.bills(job).empty());
    EXPECT_EQ(cluster.bills(job)[0].charged, told);
  }
}

// Jobs come and go on a cluster with room for all; the same once more with crashes, which cost
// nothing where a rate stays as it was at the start, and the change of a minute where it does not.
std::map<std::uint32_t, Money> bills_with(const char* mechanism, std::uint64_t seed, bool crashes) {
  Cluster cluster(mechanism);
  SeededRandom random(seed), bad_luck(seed);
  const char* const budgets[] = {"0.000001", "0.3", "2", "7"};
  for (int step = 0; step < 80; ++step) {
    std::size_t live = 0, started = 0;
    for (const auto& [id, job] : cluster.jobs) live += job.state <= MARKET_JOB_RUNNING;
    if (live < 4 && random.below(3) == 0) {
      const auto limit = static_cast<std::uint32_t>(10 + random.below(50));
      EXPECT_NE(
          cluster.bid(budgets[random.below(4)], static_cast<std::uint32_t>(1 + random.below(4)),
                      limit, static_cast<Time>(60 + random.below(limit * 60 - 60))),
          0u);
    }
    cluster.step();
    cluster.sync();
    for (const auto& [id, job] : cluster.jobs) started += job.start == cluster.now;
    const bool silence = random.below(10) == 0;
    const bool crash = bad_luck.below(6) == 0 && started == 0;
    cluster.now += silence ? static_cast<Time>(random.below(600)) : 20;
    if (crashes && crash) cluster.crash();
  }
  cluster.advance(cluster.now + 2 * 3600, 60);
  cluster.cancel_kept_back();
  cluster.expect_balanced();
  std::map<std::uint32_t, Money> bills;
  for (const auto& [id, job] : cluster.jobs) bills[id] = cluster.charged(id);
  return bills;
}

TEST(AuctionMoney, CrashesChangeNoBill) {
  for (const auto& [mechanism, apart] :
       {std::pair{"abacus", 0.0}, std::pair{"dva", 0.0}, std::pair{"tycoon", 0.2}}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", mechanism, seed));
      const auto calm = bills_with(mechanism, seed, false);
      const auto rough = bills_with(mechanism, seed, true);
      ASSERT_EQ(calm.size(), rough.size());
      ASSERT_GT(calm.size(), 5u);
      for (const auto& [id, bill] : calm) {
        EXPECT_NEAR(rough.at(id).credits(), bill.credits(), 1e-6 + apart) << id;
      }
    }
  }
}

// The market gets what the run owed, though it died before the end.
TEST(AuctionMoney, ARequeueWhileNobodyListenedIsChargedByTheComment) {
  for (const char* mechanism : {"tycoon", "abacus", "dva"}) {
    Money charged[2];
    for (const bool by_crash : {false, true}) {
      Cluster cluster(mechanism);
      const std::uint32_t job = cluster.bid("6", 16, 60, 3000);
      cluster.advance(kStart + 1800);
      FakeJob& run = cluster.job(job);
      ASSERT_EQ(run.state, MARKET_JOB_RUNNING);
      if (by_crash) {
        ++run.restart;
        run.state = MARKET_JOB_PENDING;
        run.start = run.end = 0;
        run.submit = cluster.now;
        run.cores.clear();
        cluster.crash();
      } else {
        cluster.requeue(run, MARKET_JOB_REQUEUED);
        run.submit = cluster.now;
      }
      cluster.advance(cluster.now + 60);
      ASSERT_FALSE(cluster.bills(job).empty());
      charged[by_crash] = cluster.bills(job)[0].charged;
    }
    EXPECT_GT(charged[0], Money()) << mechanism;
    EXPECT_NEAR(charged[1].credits(), charged[0].credits(), 6.0 / 3600 * 60) << mechanism;
  }
}

}  // namespace
}  // namespace market::testing
