// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/deadline_scheduler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/util/seeded_random.h"

namespace market {
namespace {

WaitingJob job_of(double width, double run, double submitted, std::vector<double> type) {
  WaitingJob job;
  job.width = width;
  job.run_mean = run;
  job.submitted = submitted;
  job.valuations = job_class("sigmoid");
  job.type = std::move(type);
  return job;
}

WaitingJob random_job(SeededRandom* random) {
  const double drop = random->uniform(0, 3000);
  WaitingJob job = job_of(static_cast<double>(1 + random->below(12)), random->uniform(10, 500),
                          -random->uniform(0, 500),
                          {random->uniform(1, 100), drop, drop + random->uniform(1, 1000)});
  job.run_deviation = random->uniform(0, 100);
  return job;
}

RC_GTEST_PROP(DeadlineSchedulerProperty, WhatIfEqualsTheWholeSchedule, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  ClusterLoad load;
  load.capacity = 10;  // some jobs are wider and never complete
  load.running = {{4, 100}, {2, 50}};
  std::vector<WaitingJob> jobs;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) jobs.push_back(random_job(&random));
  WaitingJob newcomer = random_job(&random);
  newcomer.submitted = 0;
  std::vector<double> types;
  for (int i = 0; i < 8; ++i) {
    const auto type = random_job(&random).type;
    types.insert(types.end(), type.begin(), type.end());
  }
  for (const char* name : {"expected_loss", "edf", "fifo"}) {
    const auto scheduler = make_deadline_scheduler(name);
    const auto delays = scheduler->what_if(load, jobs, newcomer, types);
    RC_ASSERT(delays.size() == 8U);
    for (std::size_t i = 0; i < 8; ++i) {
      auto everyone = jobs;
      everyone.push_back(newcomer);
      everyone.back().type = {types[3 * i], types[3 * i + 1], types[3 * i + 2]};
      RC_ASSERT(scheduler->completions(load, everyone).back() == delays[i]);
    }
  }
}

TEST(DeadlineScheduler, OrdersAndFillsGaps) {
  ClusterLoad load;
  load.capacity = 4;
  load.running = {{2, 100}};
  // Wide and late first in FIFO; the narrow job fits beside the running one and does not wait.
  const std::vector<WaitingJob> jobs = {job_of(4, 50, -20, {10, 5000, 6000}),
                                        job_of(2, 100, -10, {10, 100, 200})};
  EXPECT_EQ(make_deadline_scheduler("fifo")->completions(load, jobs),
            (std::vector<double>{150, 100}));
  EXPECT_EQ(make_deadline_scheduler("edf")->completions(load, jobs),
            (std::vector<double>{150, 100}));
  EXPECT_EQ(make_deadline_scheduler("nothing"), nullptr);
}

TEST(DeadlineScheduler, RoomIsKeptForUncertainRuns) {
  ClusterLoad load;
  load.capacity = 1;
  WaitingJob first = job_of(1, 100, -2, {10, 50, 60});
  first.run_deviation = 50;
  const WaitingJob second = job_of(1, 10, -1, {10, 5000, 6000});
  const auto expected =
      make_deadline_scheduler("edf")->completions(load, std::vector<WaitingJob>{first, second});
  EXPECT_DOUBLE_EQ(expected[0], 100);
  EXPECT_DOUBLE_EQ(expected[1], 100 + 1.28 * 50 + 10);
}

TEST(DeadlineScheduler, ServesWhatWouldLoseMostFirst) {
  ClusterLoad load;
  load.capacity = 1;
  // The first is hopeless, the second can wait, the third loses all if it waits.
  const std::vector<WaitingJob> jobs = {job_of(1, 100, -9000, {100, 10, 20}),
                                        job_of(1, 100, -5, {100, 90000, 90100}),
                                        job_of(1, 100, 0, {100, 110, 150})};
  const auto expected = make_deadline_scheduler("expected_loss")->completions(load, jobs);
  EXPECT_DOUBLE_EQ(expected[2], 100);
}

}  // namespace
}  // namespace market
