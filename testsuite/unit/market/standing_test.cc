// SPDX-License-Identifier: GPL-2.0-or-later
// Only bids whose job could start stand in an auction: nobody pays by one that could not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr const char* kRivals = "1.9";  // its bids are of another account

/// One node of four CPUs at a floor of 0.05: alone, a job on all of it pays 0.20 an hour.
struct Cluster : World {
  explicit Cluster(const std::string& mechanism = "dva")
      : World(fmt::format("mechanism = \"{}\"; prices = {{ floor = \"0.05\"; }};\n"
                          "planning = {{ auction_period = \"0:10\"; }};\n",
                          mechanism),
              1, 4) {
    (void)books().add_account("biology", "", now);
    (void)books().set_members("biology", {"root"}, {});
    for (const char* account : {"physics", "biology"})
      (void)books().deposit(account, *Money::parse("1000"), "", now);
    sync();
  }
  std::uint32_t whole(const char* budget, Time runtime = 1800, const Ask& like = {}) {
    Ask ask = like;
    ask.budget = budget;
    if (ask.budget == kRivals) ask.account = "biology";
    ask.cpus = 4;
    ask.limit_min = 60;
    ask.runtime = runtime;
    return run(ask);
  }
  nlohmann::json why(std::uint32_t id) {
    return nlohmann::json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
  }
  std::string code(std::uint32_t id) { return why(id).value("code", why(id).dump()); }
  double charged(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    const auto runs = books().segments(filter);
    return runs && !runs->empty() ? runs->front().charged.credits() : -1;
  }
};

struct Way {
  const char* name;
  std::function<void(FakeJob&)> change;
  double rate;  // credits an hour that the winner of the node pays
};

const Way kWays[] = {{"ready", [](FakeJob&) {}, 1.9},
                     {"held", [](FakeJob& job) { job.hold_by_owner(); }, 0.2},
                     {"dependent", [](FakeJob& job) { job.dependent = true; }, 0.2},
                     {"later", [](FakeJob& job) { job.begin = kStart + 86400; }, 0.2}};

// The winner pays the next bid, 1.90 an hour, only when that could have had the node.
TEST(Standing, ABidThatCouldNotStartCostsNobodyAnything) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    Cluster cluster;
    const std::uint32_t rival = cluster.whole("1.9");
    way.change(cluster.job(rival));
    const std::uint32_t winner = cluster.whole("2");
    cluster.advance(kStart + 1000);
    ASSERT_EQ(cluster.job(winner).state, MARKET_JOB_RUNNING);
    cluster.advance(kStart + 2400);
    const FakeJob& run = cluster.job(winner);
    EXPECT_NEAR(cluster.charged(winner), way.rate / 3600 * double(run.end - run.start), 1e-5);
  }
}

// An acceptance that has become no job yet stands no more than a held one.
TEST(Standing, ABidWithoutAJobDoesNotStand) {
  Cluster cluster;
  Ask ask;
  ask.budget = kRivals;
  ask.account = "biology";
  ask.cpus = 4;
  cluster.submit(ask);
  const std::uint32_t winner = cluster.whole("2");
  cluster.advance(kStart + 2400);
  const FakeJob& run = cluster.job(winner);
  EXPECT_NEAR(cluster.charged(winner), 0.2 / 3600 * double(run.end - run.start), 1e-5);
}

// Whatever a rival does while the winner waits, what counts is how it stands when that starts.
TEST(Standing, ABidComesAndGoesWithItsJob) {
  for (const Way& way : kWays) {
    for (const bool ends_ready : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", way.name, ends_ready));
      Cluster cluster;
      cluster.whole("50", 600);
      const std::uint32_t winner = cluster.whole("2"), rival = cluster.whole("1.9");
      cluster.advance(kStart + 100);
      const FakeJob as_ready = cluster.job(rival);
      way.change(cluster.job(rival));
      cluster.advance(kStart + 200);
      EXPECT_EQ(cluster.code(rival) == "PRICE", way.rate > 1) << cluster.why(rival);
      if (ends_ready) {
        FakeJob& job = cluster.job(rival);
        if (way.name == std::string("held")) job.held = false;
        job.dependent = as_ready.dependent;
        job.begin = as_ready.begin;
        cluster.advance(kStart + 300);
        EXPECT_EQ(cluster.code(rival), "PRICE");
      }
      cluster.advance(kStart + 2600);
      const FakeJob& run = cluster.job(winner);
      ASSERT_EQ(run.state, MARKET_JOB_COMPLETED);
      EXPECT_NEAR(cluster.charged(winner),
                  (ends_ready ? 1.9 : way.rate) / 3600 * double(run.end - run.start), 1e-5);
    }
  }
}

// Released for a second at each auction and held again, a bid runs no risk of being started, and
// counts for nobody but in that first second.
TEST(Standing, FlappingAroundTheAuctionsIsNoStanding) {
  for (const int step_of_release : {0, 1, 5, 9}) {
    SCOPED_TRACE(step_of_release);
    Cluster cluster;
    cluster.whole("50", 600);
    const std::uint32_t winner = cluster.whole("2"), rival = cluster.whole("1.9");
    cluster.job(rival).hold_by_owner();
    for (int second = 0; second < 620; ++second) {
      cluster.job(rival).hold_by_owner();
      cluster.job(rival).held = second % 10 != step_of_release;
      cluster.advance(kStart + second, 1);
      if (second > 20) {
        ASSERT_NE(cluster.why(rival).dump().find("does not stand"), std::string::npos);
      }
    }
    cluster.job(rival).hold_by_owner();
    cluster.advance(kStart + 2600);
    const FakeJob& run = cluster.job(winner);
    ASSERT_EQ(run.state, MARKET_JOB_COMPLETED);
    EXPECT_NEAR(cluster.charged(winner), 0.2 / 3600 * double(run.end - run.start), 1e-5);
  }
}

// A bid that is taken back in the second before the winner starts is no rival any more.
TEST(Standing, ACancelledBidLeavesAtOnce) {
  Cluster cluster;
  cluster.whole("50", 600);
  const std::uint32_t winner = cluster.whole("2"), rival = cluster.whole("1.9");
  cluster.advance(kStart + 598, 1);
  cluster.end(cluster.job(rival), MARKET_JOB_CANCELLED);
  cluster.advance(kStart + 2600, 1);
  const FakeJob& run = cluster.job(winner);
  ASSERT_EQ(run.state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(cluster.charged(winner), 0.2 / 3600 * double(run.end - run.start), 1e-5);
}

// Of an array of which one task may run at a time, one bid stands, and none while it runs.
TEST(Standing, OfAnArrayAsManyStandAsMayStart) {
  Cluster cluster;
  const std::uint32_t first = cluster.whole("50", 300);
  Ask array;
  array.array = 3;
  array.throttle = 1;
  const std::uint32_t task = cluster.whole("1.9", 600, array);
  cluster.advance(kStart + 200);
  const auto standing = [&] {
    int count = 0;
    for (const auto& [id, job] : cluster.jobs)
      count += job.array_job == task && cluster.code(id) == "PRICE";
    return count;
  };
  EXPECT_EQ(standing(), 1);
  cluster.advance(kStart + 500);
  ASSERT_NE(cluster.job(first).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(standing(), 0);
  cluster.advance(kStart + 3000);
  for (const auto& [id, job] : cluster.jobs) EXPECT_EQ(job.state, MARKET_JOB_COMPLETED) << id;
}

// While two jobs wait for a license neither stands, but Slurm takes the better bid when it falls
// free between two passes.
TEST(Standing, WhoDoesNotStandKeepsItsRank) {
  for (const char* mechanism : {"dva", "tycoon", "abacus"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(mechanism);
    const std::uint32_t low = cluster.whole("1"), high = cluster.whole("5");
    for (const std::uint32_t id : {low, high}) cluster.job(id).dependent = true;
    cluster.advance(kStart + 30);
    EXPECT_EQ(cluster.code(high), "DEPENDENCY");
    EXPECT_GT(cluster.job(high).site_factor, cluster.job(low).site_factor);
    if (mechanism == std::string("dva")) continue;  // it starts none before the next auction
    for (const std::uint32_t id : {low, high}) cluster.job(id).dependent = false;
    cluster.schedule();
    EXPECT_EQ(cluster.job(high).state, MARKET_JOB_RUNNING);
  }
}

// Released and started before any auction a job pays what its bid displaces: here the bid of 1.00
// an hour that has the node otherwise.
TEST(Standing, AStartBetweenTwoAuctionsIsNotCheaper) {
  Cluster cluster;
  const std::uint32_t waits = cluster.whole("1"), quick = cluster.whole("1.9", 1800);
  cluster.job(waits).never_starts = true;
  cluster.job(quick).hold_by_owner();
  cluster.advance(kStart + 100);
  cluster.job(quick).held = false;
  cluster.schedule();
  ASSERT_EQ(cluster.job(quick).state, MARKET_JOB_RUNNING);
  cluster.advance(kStart + 2000);
  const FakeJob& run = cluster.job(quick);
  ASSERT_EQ(run.state, MARKET_JOB_COMPLETED);
  EXPECT_NEAR(cluster.charged(quick), 1.0 / 3600 * double(run.end - run.start), 1e-5);
}

}  // namespace
}  // namespace market::testing
