// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose size the market decides, in virtual time: sized and run as in slurmctld
// (testsuite/unit/market/malleable_test.cc, testsuite/cluster/t1367-malleable.bats).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "core/sim/market_slurm.h"
#include "core/sim/memory_books.h"

namespace market::sim {
namespace {

constexpr Time kStart = 1'800'000'000;

struct Lab {
  Machine machine = *Machine::parse("4x16");
  std::vector<SimJob> jobs;
  std::vector<Valuation> valuations;
  RunOptions options;
  Config config;
  std::map<JobIndex, ledger::Segment> bills;  ///< of the last run of each
  std::vector<std::string> decisions;
  MemoryBooks books{[this](const ledger::Segment& run) { bills[run.key.job_id - 1] = run; }};
  std::vector<JobRecord> records;

  // Asks of 400, 300, 200 and 100 a CPU-hour: the cheapest node is the last one.
  explicit Lab(const std::string& mechanism = "dva") {
    config.mechanism = mechanism;
    config.seed = "malleable";
    config.floor_price = 0.05;
    config.start_slack = 60;
    for (int i = 1; i <= 4; ++i) {
      const std::string owner = fmt::format("lab-{}", i);
      config.owners[fmt::format("n{}", i)] = {owner, 500.0 - 100 * i};
      EXPECT_TRUE(books.add_account(owner));
    }
    EXPECT_TRUE(books.add_account("physics") && books.deposit("physics", *Money::parse("100000")));
  }
  /// A job that was one of 2 cores for 480 s in the log, and that may have 1 to 16 CPUs.
  void add(const char* rate, Time after = 0, const char* workload = "cpu:16:00",
           const char* range = "cpu:1-16") {
    SimJob job;
    job.submit = job.eligible = kStart + after;
    job.run = 480;
    job.limit = 600;
    job.need.cores = 2;
    job.trace = static_cast<std::uint32_t>(jobs.size());
    jobs.push_back(job);
    Valuation valuation;
    valuation.worth = *Money::parse("1000");
    valuation.by_rate =
        std::make_shared<const RateBid>(RateBid{*Money::parse(rate), workload, range});
    valuations.push_back(valuation);
  }
  void run() {
    const std::vector<std::string> accounts = {"physics"};
    MarketSlurm slurm({machine, jobs, valuations, accounts, config}, books);
    EXPECT_TRUE(slurm.run(options, [this](const Decision& decision) {
      decisions.push_back(decision.text);
      if (decision.cores != nullptr)
        decisions.back() = machine.nodes[decision.cores->nodes.front()].name;
    }));
    records = slurm.records();
    EXPECT_TRUE(slurm.complaints().empty());
    EXPECT_EQ(books.liens(), Money());
    EXPECT_EQ(books.sum(), Money());
  }
};

// 800 an hour buy 8 of n4's CPUs: 960 CPU-seconds take 120 s, which are 26.67.
TEST(MalleableSim, TheAwardDecidesTheSizeAndTheRun) {
  Lab lab;
  lab.add("800");
  lab.run();
  ASSERT_EQ(lab.records[0].state, JobState::kCompleted);
  EXPECT_EQ(lab.records[0].cores, 8u);
  EXPECT_EQ(lab.records[0].end - lab.records[0].start, 120);
  EXPECT_EQ(lab.bills[0].charged, *Money::parse("26.666667"));
  EXPECT_EQ(lab.bills[0].note, "8 CPUs on n4, its work takes 0:02:00");
  EXPECT_EQ(lab.books.balance("lab-4").posted, *Money::parse("26.666667"));
  EXPECT_EQ(lab.decisions[1], "n4");
}

// 12 of n4's CPUs are taken for 80 s: 4 are left, 240 s of work, still for 26.67.
TEST(MalleableSim, WhatIsFreeDecidesToo) {
  Lab lab;
  lab.add("1200");
  lab.add("800", 10);
  lab.run();
  EXPECT_EQ(lab.records[0].cores, 12u);
  EXPECT_EQ(lab.records[0].end - lab.records[0].start, 80);
  EXPECT_EQ(lab.records[1].cores, 4u);
  EXPECT_EQ(lab.records[1].end - lab.records[1].start, 240);
  EXPECT_EQ(lab.bills[1].charged, *Money::parse("26.666667"));
}

// CPU 100 and GB 50 an hour on n4; √(960 · 100) = √(1920 · 50), so half of 1,200 each: 6 CPUs and
// 12 GB, 160 s and 160 s.
TEST(MalleableSim, MemoryIsSizedAndHeld) {
  Lab lab;
  lab.machine = *Machine::parse("4x16:64G");
  lab.config.weights = {{"cpu", 1}, {"mem", 0.5}};
  lab.add("1200", 0, "cpu:16:00,mem:32:00", "cpu:1-16,mem:1G-32G");
  lab.run();
  ASSERT_EQ(lab.records[0].state, JobState::kCompleted);
  EXPECT_EQ(lab.records[0].cores, 6u);
  EXPECT_EQ(lab.records[0].end - lab.records[0].start, 320);
}

// Queued again its job has the size of its first run.
TEST(MalleableSim, AfterItsNodeFailedItKeepsItsSize) {
  Lab lab;
  lab.add("800");
  lab.options.node_events = {{kStart + 60, 3, NodeEvent::Kind::kFail},
                             {kStart + 90, 3, NodeEvent::Kind::kResume}};
  lab.run();
  ASSERT_EQ(lab.records[0].state, JobState::kCompleted);
  EXPECT_EQ(lab.records[0].restarts, 1u);
  EXPECT_EQ(lab.records[0].cores, 8u);
  EXPECT_EQ(lab.records[0].end - lab.records[0].start, 120);
  // Slurm's doing: what ran before is not charged.
  EXPECT_EQ(lab.books.balance("physics").posted, *Money::parse("100000") - lab.bills[0].charged);
}

// Below what a CPU of any node asks: it waits, and its user gives up in the end.
TEST(MalleableSim, BelowEveryAskNothingIsAwarded) {
  Lab lab;
  lab.add("99");
  lab.run();
  EXPECT_EQ(lab.records[0].state, JobState::kDropped);
  EXPECT_EQ(lab.books.balance("physics").posted, *Money::parse("100000"));
}

TEST(MalleableSim, ElsewhereItIsTheJobOfTheLog) {
  for (const std::string mechanism :
       {"first_fit", "era", "abacus", "tycoon", "fifo", "contracts"}) {
    SCOPED_TRACE(mechanism);
    Lab lab(mechanism);
    lab.add("800");
    lab.run();
    ASSERT_EQ(lab.records[0].state, JobState::kCompleted) << lab.decisions[0];
    EXPECT_EQ(lab.records[0].cores, 2u);
    EXPECT_EQ(lab.records[0].end - lab.records[0].start, 480);
  }
}

// --budget-rate alone: the cheapest two CPUs are n4's, at 200 an hour for ten minutes at most.
TEST(MalleableSim, ARateAloneKeepsTheSize) {
  Lab lab;
  lab.add("250", 0, "", "");
  lab.run();
  ASSERT_EQ(lab.records[0].state, JobState::kCompleted);
  EXPECT_EQ(lab.records[0].end - lab.records[0].start, 480);
  EXPECT_EQ(lab.bills[0].charged, *Money::parse("26.666667"));  // no other node is within 250
  EXPECT_NE(lab.decisions[0].find("bids 250.00 an hour"), std::string::npos) << lab.decisions[0];
}

}  // namespace
}  // namespace market::sim
