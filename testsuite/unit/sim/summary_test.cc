// SPDX-License-Identifier: GPL-2.0-or-later
// Figures of a simulation, worked out by hand.
#include "core/sim/summary.h"

#include <gtest/gtest.h>

namespace market::sim {
namespace {

TEST(Summary, SpreadsAreOfRanks) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.mean, 50.5);
  EXPECT_DOUBLE_EQ(spread.median, 50);
  EXPECT_DOUBLE_EQ(spread.p95, 95);
  EXPECT_DOUBLE_EQ(spread_of({7}).p95, 7);
  EXPECT_DOUBLE_EQ(spread_of({}).mean, 0);
}

TEST(Summary, JainsIndex) {
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({1, 2, 3}), 36.0 / 42);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

// Two cores. Job 0: 1 core, 100 s, starts at once. Job 1: 2 cores, 5 s, waits 100 s: slowdown
// 105 / 10. Job 2 is refused, job 3 still runs, job 4 starts 40 s after it was eligible.
TEST(Summary, OfAnExampleByHand) {
  std::vector<SimJob> jobs(5);
  std::vector<JobRecord> records(5);
  std::vector<Valuation> valuations(5);
  const auto set = [&](std::uint32_t i, Time eligible, std::int64_t run, std::uint32_t cores,
                       std::uint32_t user, JobState state, Time start) {
    jobs[i].submit = jobs[i].eligible = 1000 + eligible;
    jobs[i].run = run;
    jobs[i].need.cores = cores;
    jobs[i].trace = i;
    jobs[i].user = user;
    records[i] = {1000 + start, 1000 + start + run, i == 1 ? 2u : 0u, state};
    valuations[i].worth = Money::from_micro(Money::kMicroPerCredit * 10);
  };
  set(0, 0, 100, 1, 7, JobState::kCompleted, 0);
  set(1, 0, 5, 2, 7, JobState::kCompleted, 100);
  set(2, 0, 5, 2, 7, JobState::kRefused, 0);
  set(3, 0, 900, 1, 8, JobState::kRunning, 50);
  set(4, 60, 40, 1, 8, JobState::kCompleted, 100);
  jobs[4].submit -= 50;
  valuations[0].deadline = 1100;  // it ends then, in time
  valuations[1].deadline = 1104;  // it ends a second later
  valuations[4].drop = 50;  // half of its value is left at 130 s: it ends 130 s after submission
  valuations[4].zero = 210;
  const Summary summary = summarize(*Machine::parse("1x2"), jobs, records, valuations);
  EXPECT_EQ(summary.jobs, 5u);
  EXPECT_EQ(summary.completed, 3u);
  EXPECT_EQ(summary.refused, 1u);
  EXPECT_EQ(summary.unfinished, 1u);
  EXPECT_EQ(summary.restarts, 2u);
  EXPECT_EQ(summary.late, 1u);
  EXPECT_DOUBLE_EQ(summary.wait.mean, 140.0 / 3);
  EXPECT_DOUBLE_EQ(summary.wait.median, 40);
  EXPECT_DOUBLE_EQ(summary.wait.p95, 100);
  EXPECT_DOUBLE_EQ(summary.slowdown.mean, (1 + 10.5 + 2) / 3);
  // Users 7 and 8 have mean slowdowns of 5.75 and 2.
  EXPECT_DOUBLE_EQ(summary.fairness, 7.75 * 7.75 / (2 * (5.75 * 5.75 + 4)));
  EXPECT_DOUBLE_EQ(summary.utilization, (100 + 10 + 40) / (2 * 140.0));
  EXPECT_DOUBLE_EQ(summary.served_value, 10 + 0 + 5);
  // At once: 10 each, the sigmoid's after 50 + 40 s is 10 / (1 + exp(a (90 − 130))), a = 2 ln 99/160.
  EXPECT_NEAR(summary.asked_value, 40 + 9.0864, 1e-3);
}

// Job 0 pays 4 of 10 credits, job 1 nothing of 8 and job 2 has no budget: a mean of 0.2 over two. Jobs
// 3 and 4, refused and dropped, came at 23:59:59 and at 0:00.
TEST(Summary, WhatAMarketTook) {
  std::vector<SimJob> jobs(5);
  std::vector<Valuation> valuations(5);
  const int worth[] = {10, 8, 0, 3, 5};
  for (std::uint32_t i = 0; i < 5; ++i) {
    jobs[i].trace = i;
    jobs[i].run = 10;
    jobs[i].submit = jobs[i].eligible = 86400 * 20;
    valuations[i].worth = Money::from_micro(Money::kMicroPerCredit * worth[i]);
  }
  jobs[3].submit = jobs[3].eligible = 86400 * 20 - 1;
  const JobState done = JobState::kCompleted;
  const std::vector<JobRecord> records = {{86400 * 20, 86400 * 20 + 10, 0, done},
                                          {86400 * 20, 86400 * 20 + 10, 0, done},
                                          {86400 * 20, 86400 * 20 + 10, 0, done},
                                          {0, 0, 0, JobState::kRefused},
                                          {0, 0, 0, JobState::kDropped}};
  const Money four = Money::from_micro(Money::kMicroPerCredit * 4);
  Takings takings{{four, Money(), Money(), Money(), Money()}, 4, 0.5};
  const Machine machine = *Machine::parse("1x2");
  const Summary summary = summarize(machine, jobs, records, valuations, &takings);
  EXPECT_DOUBLE_EQ(*summary.revenue, 4);
  EXPECT_DOUBLE_EQ(*summary.payment_to_budget, 0.2);
  EXPECT_DOUBLE_EQ(*summary.income_to_expectation, 8);
  EXPECT_DOUBLE_EQ(summary.refused_value[23], 3);
  EXPECT_DOUBLE_EQ(summary.refused_value[0], 5);
  takings.expected = 0;
  EXPECT_FALSE(summarize(machine, jobs, records, valuations, &takings).income_to_expectation);
  EXPECT_FALSE(summarize(machine, jobs, records, valuations).payment_to_budget);
}

}  // namespace
}  // namespace market::sim
