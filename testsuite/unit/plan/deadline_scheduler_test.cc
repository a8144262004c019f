// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/deadline_scheduler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>

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

struct Question {
  ClusterLoad load;
  std::vector<WaitingJob> jobs;
  WaitingJob newcomer;
  std::vector<double> types;  ///< eight
};

Question random_question(SeededRandom* random, int waiting) {
  Question question;
  question.load.capacity = 10;  // some jobs are wider and never complete
  question.load.running = {{4, 100}, {2, 50}};
  for (int i = 0; i < waiting; ++i) question.jobs.push_back(random_job(random));
  question.newcomer = random_job(random);
  question.newcomer.submitted = 0;
  for (int i = 0; i < 8; ++i) {
    const auto type = random_job(random).type;
    question.types.insert(question.types.end(), type.begin(), type.end());
  }
  return question;
}

/// What completions() says of the newcomer that declares the type with this number.
double whole_schedule(const DeadlineScheduler& scheduler, const Question& question,
                      std::size_t number) {
  auto everyone = question.jobs;
  everyone.push_back(question.newcomer);
  const auto type = question.types.begin() + static_cast<std::ptrdiff_t>(3 * number);
  everyone.back().type.assign(type, type + 3);
  return scheduler.completions(question.load, everyone).back();
}

RC_GTEST_PROP(DeadlineSchedulerProperty, WhatIfEqualsTheWholeSchedule, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const Question question = random_question(&random, *rc::gen::inRange(0, 30));
  for (const char* name : {"edf", "fifo"}) {
    const auto scheduler = make_deadline_scheduler(name);
    const auto delays =
        scheduler->what_if(question.load, question.jobs, question.newcomer, question.types);
    RC_ASSERT(delays.size() == 8U);
    for (std::size_t i = 0; i < 8; ++i)
      RC_ASSERT(whole_schedule(*scheduler, question, i) == delays[i]);
  }
}

/// Under expected_loss the newcomer's own room also moves those ahead of it by a place or two,
/// which one schedule for all types leaves out: 200 questions of eight types among 1 to 100 jobs.
TEST(DeadlineScheduler, WhatIfUnderExpectedLossIsNearlyTheWholeSchedule) {
  const auto scheduler = make_deadline_scheduler("expected_loss");
  SeededRandom random(3);
  int equal = 0, asked = 0;
  double apart = 0, all = 0;
  for (int i = 0; i < 200; ++i) {
    const Question question = random_question(&random, 1 + static_cast<int>(random.below(100)));
    const auto delays =
        scheduler->what_if(question.load, question.jobs, question.newcomer, question.types);
    for (std::size_t number = 0; number < 8; ++number) {
      const double whole = whole_schedule(*scheduler, question, number);
      ASSERT_EQ(std::isfinite(whole), std::isfinite(delays[number]));
      if (!std::isfinite(whole)) continue;
      equal += whole == delays[number] ? 1 : 0;
      ++asked;
      apart += std::abs(whole - delays[number]);
      all += whole;
    }
  }
  std::printf("%.1f %% equal, on average %.2f %% apart\n", 100.0 * equal / asked,
              100 * apart / all);
  EXPECT_GT(equal, 0.35 * asked);
  EXPECT_LT(apart, 0.06 * all);
}

/// The most that six jobs, one after the other, can be worth in any order.
double best_value(const std::vector<WaitingJob>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = 0;
  do {
    double time = 0, value = 0;
    for (const std::size_t job : order) {
      time += jobs[job].run_mean;
      value += jobs[job].valuations->value(jobs[job].type, time);
    }
    best = std::max(best, value);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Against the best of all orders on one unit, 300 markets of six jobs each: deadlines within half,
/// all and twice of the time that the jobs take together.
TEST(DeadlineScheduler, ExpectedLossIsNearTheBestOrder) {
  for (const double slack : {0.5, 1.0, 2.0}) {
    SeededRandom random(4);
    std::map<std::string, double> value;
    double best = 0;
    for (int market = 0; market < 300; ++market) {
      std::vector<WaitingJob> jobs;
      for (int i = 0; i < 6; ++i) {
        const double drop = random.uniform(0, slack * 6 * 255);
        jobs.push_back(job_of(1, random.uniform(10, 500), 0,
                              {random.uniform(1, 100), drop, drop + random.uniform(1, 1000)}));
      }
      best += best_value(jobs);
      for (const char* name : {"expected_loss", "edf", "fifo"}) {
        const auto delays = make_deadline_scheduler(name)->completions({1, 0, {}}, jobs);
        for (std::size_t i = 0; i < 6; ++i)
          value[name] += jobs[i].valuations->value(jobs[i].type, delays[i]);
      }
    }
    std::printf("slack %.1f, of the best: expected_loss %.3f, edf %.3f, fifo %.3f\n", slack,
                value["expected_loss"] / best, value["edf"] / best, value["fifo"] / best);
    EXPECT_GT(value["expected_loss"], 0.95 * best);
    EXPECT_GT(value["expected_loss"], value["edf"]);
    EXPECT_GT(value["expected_loss"], value["fifo"]);
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
