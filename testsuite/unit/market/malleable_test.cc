// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose size the market decides at the award.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "malleable_lab.h"

namespace market::testing {
namespace {

// 8 CPUs of n4 for 120 s cost 26.67; 4 of n3, 2 of n2 (for 2.67) and 2 of n1 would cost 53.33, 80
// and 106.67. Its lien is for the longest run: 960 s and a minute, 17 minutes at 800 an hour.
TEST(Malleable, TheAwardDecidesTheSize) {
  Lab lab;
  Answer answer;
  const std::uint32_t id = lab.run(Lab::malleable(), &answer);
  EXPECT_NE(answer.text.find("you pay at most 226.67 credits (physics), bids 800.00 an hour; its "
                             "size is settled when nodes are awarded to it, with at most 0:17:00"),
            std::string::npos)
      << answer.text;
  EXPECT_NE(answer.text.find("it would get 8 CPUs on n4, its work takes 0:02:00 now"),
            std::string::npos)
      << answer.text;
  EXPECT_EQ(lab.job(id).limit_min, 17u);
  lab.step();
  lab.sync();
  EXPECT_EQ(lab.job(id).required, "n4");
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.job(id).limit_min, 3u);
  EXPECT_EQ(lab.balance("physics").liens, *Money::parse("226.666667"));
  lab.advance(lab.now + 20, 1);
  ASSERT_EQ(lab.job(id).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(lab.balance("physics").liens, *Money::parse("40"));
  EXPECT_NE(lab.why(id).find("8 CPUs on n4"), std::string::npos) << lab.why(id);
  lab.advance(lab.now + 200, 1);
  const FakeJob& job = lab.job(id);
  ASSERT_EQ(job.state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(job.end - job.start, 120);
  EXPECT_EQ(lab.bill(id).charged, *Money::parse("26.666667"));
  EXPECT_EQ(lab.bill(id).note, "8 CPUs on n4, its work takes 0:02:00");
  EXPECT_EQ(lab.balance("lab-4").posted, *Money::parse("26.666667"));
  lab.expect_balanced();
}

// A rival who is kept off n4 does not make it pay more than its whole shares ask.
TEST(Malleable, PaysWhatItsSharesAsk) {
  Lab lab;
  Ask rival;
  rival.rate = "790";
  rival.account = "rich";
  (void)lab.books().add_account("rich", "", lab.now);
  (void)lab.books().set_members("rich", {"root"}, {});
  (void)lab.books().deposit("rich", *Money::parse("10000"), "", lab.now);
  lab.sync();
  rival.cpus = 7;
  rival.limit_min = 60;
  const std::uint32_t id = lab.run(Lab::malleable("850"));  // 8.5 CPUs: 8
  lab.run(rival);
  lab.advance(lab.now + 300, 1);
  EXPECT_EQ(lab.bill(id).charged, *Money::parse("26.666667"));
}

TEST(Malleable, TakesWhatIsFree) {
  Lab lab;
  const std::uint32_t first = lab.run(Lab::malleable("1200"));
  lab.job(first).cpu_seconds = 100000;
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(first).cpus, 12u);
  // 4 CPUs are left on n4: 240 s for 26.67, still the cheapest.
  const std::uint32_t second = lab.run(Lab::malleable());
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(second).required, "n4");
  EXPECT_EQ(lab.job(second).cpus, 4u);
  EXPECT_EQ(lab.job(second).limit_min, 5u);
}

// Too small a workload: its run ends with the limit that follows from it, and costs what it ran. Too
// large a one: the lien is for it.
TEST(Malleable, AFalseWorkloadGainsNothing) {
  Lab lab;
  Ask ask = Lab::malleable();
  ask.workload = "cpu:0:08";
  const std::uint32_t small = lab.run(ask);
  lab.advance(lab.now + 10, 1);
  ASSERT_EQ(lab.job(small).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(lab.job(small).cpus, 8u);
  EXPECT_EQ(lab.job(small).limit_min, 2u);
  const Time start = lab.job(small).start;
  while (lab.now < start + 120) {
    lab.step();
    lab.sync();
    ++lab.now;
  }
  lab.end(lab.job(small), MARKET_JOB_TIMEOUT);
  lab.advance(lab.now + 5, 1);
  EXPECT_EQ(lab.bill(small).charged, *Money::parse("26.666667"));  // 120 s, all of it paid
  ask = Lab::malleable("2000");
  ask.workload = "cpu:100:00:00";  // 200,000 credits and more, 100,000 are there
  lab.expect_refused(ask, "needs 200033.34, available");
}

TEST(Malleable, ItsSizeIsTheMarkets) {
  Lab lab;
  const std::uint32_t unseen = lab.run(Lab::malleable());
  EXPECT_EQ(lab.change(unseen, 0, {.time_limit_min = 60}), MARKET_REJECTED);
  lab.end(lab.job(unseen), MARKET_JOB_CANCELLED);
  const std::uint32_t id = lab.awarded();
  market_change_t larger{};
  larger.resized = true;
  larger.size.tasks = larger.size.min_cpus = 16;
  EXPECT_EQ(lab.change(id, 0, larger), MARKET_REJECTED);
  EXPECT_EQ(lab.change(id, 0, {.time_limit_min = 60}), MARKET_REJECTED);
  // Should something change it all the same it is made as awarded again.
  lab.job(id).cpus = 16;
  lab.job(id).limit_min = 60;
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.job(id).limit_min, 3u);
}

TEST(Malleable, AHoldAndItsReleaseChangeNothing) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  EXPECT_NE(lab.change(id, 0, {.hold = true}), MARKET_REJECTED);
  lab.job(id).hold_by_owner();
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 1u);
  EXPECT_EQ(lab.job(id).limit_min, 17u);
  EXPECT_EQ(lab.job(id).required, "");
  lab.job(id).never_starts = false;
  EXPECT_EQ(lab.change(id, 0, {.release = true}), MARKET_WAITING);
  lab.advance(lab.now + 400, 1);
  EXPECT_EQ(lab.bill(id).charged, *Money::parse("26.666667"));
}

TEST(Malleable, CancelledItCostsNothing) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.end(lab.job(id), MARKET_JOB_CANCELLED);
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.balance("lab-4").posted, Money());
  lab.expect_balanced();
}

// Queued again it is a job of that size.
TEST(Malleable, ARequeuedRunKeepsItsSize) {
  Lab lab;
  const std::uint32_t id = lab.run(Lab::malleable());
  lab.advance(lab.now + 30, 1);
  ASSERT_EQ(lab.job(id).state, MARKET_JOB_RUNNING);
  lab.requeue(lab.job(id), MARKET_JOB_REQUEUED);
  lab.job(id).never_starts = true;
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.job(id).limit_min, 3u);
  EXPECT_EQ(lab.balance("physics").liens, *Money::parse("40"));
  EXPECT_NE(lab.change(id, 0, {.time_limit_min = 3}), MARKET_REJECTED);  // as any job
  lab.advance(lab.now + 5, 1);
  lab.job(id).never_starts = false;
  lab.crash();
  lab.advance(lab.now + 400, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.bill(id, 1).charged, *Money::parse("26.666667"));
  lab.expect_balanced();
}

TEST(Malleable, ARequeueThatNoPassSawKeepsItsSize) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).never_starts = false;
  lab.schedule();
  ASSERT_EQ(lab.job(id).state, MARKET_JOB_RUNNING);
  lab.now += 5;
  lab.requeue(lab.job(id), MARKET_JOB_REQUEUED);
  lab.advance(lab.now + 300, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.bill(id, 0).charged, *Money::parse("1.111111"));
  EXPECT_EQ(lab.bill(id, 1).charged, *Money::parse("26.666667"));
  lab.expect_balanced();
}

// slurmctld dies between the resize and the start.
TEST(Malleable, ACrashKeepsTheAward) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.crash();
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.balance("physics").liens, *Money::parse("226.666667"));
  lab.node_up[3] = false;
  lab.tell_cluster();
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).required, "n3");
  EXPECT_EQ(lab.job(id).cpus, 4u);
  lab.configure(R"(mechanism = "fifo"; prices = { floor = "0.05"; };)", true);
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).required, "");
  EXPECT_EQ(lab.job(id).cpus, 1u);
  EXPECT_EQ(lab.job(id).limit_min, 17u);
}

TEST(Malleable, ACrashAfterTheStartKeepsTheSize) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).never_starts = false;
  lab.schedule();
  ASSERT_EQ(lab.job(id).state, MARKET_JOB_RUNNING);
  lab.crash();
  lab.advance(lab.now + 200, 1);
  ASSERT_EQ(lab.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(lab.bill(id).charged, *Money::parse("26.666667"));
  lab.expect_balanced();
}

// The size goes with the next award.
TEST(Malleable, ALostAwardIsSizedAnew) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.node_up[3] = false;
  lab.tell_cluster();
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).required, "n3");
  EXPECT_EQ(lab.job(id).cpus, 4u);
  EXPECT_EQ(lab.job(id).limit_min, 5u);
}

// Slurm lets it have 3 CPUs: of 1-16 are tried 8, 8 (8.5), 4 (4.75), 2 (2.875).
TEST(Malleable, ALimitOfSlurmIsFound) {
  Lab lab;
  const std::uint32_t id = lab.run(Lab::malleable());
  lab.job(id).most_cpus = 3;
  lab.advance(lab.now + 900, 1);
  EXPECT_EQ(lab.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(lab.job(id).cpus, 2u);
  EXPECT_EQ(lab.bill(id).charged, *Money::parse("26.666667"));
}

TEST(Malleable, CanBeBidAgain) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  const auto rebid = [&](const char* bid) {
    return nlohmann::json::parse(
        lab.query(fmt::format(R"({{"verb":"rebid","job":"{}",{}}})", id, bid)));
  };
  EXPECT_FALSE(rebid(R"("budget":"50")").value("ok", true));
  EXPECT_TRUE(rebid(R"("budget_rate":"1600")").value("ok", false));
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 16u);
  EXPECT_EQ(lab.job(id).limit_min, 2u);
  EXPECT_EQ(lab.balance("physics").liens, *Money::parse("453.333333"));
}

}  // namespace
}  // namespace market::testing
