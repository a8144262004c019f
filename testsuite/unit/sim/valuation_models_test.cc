// SPDX-License-Identifier: GPL-2.0-or-later
// Worth for jobs of logs that know none.
#include "core/sim/valuation_models.h"

#include <gmock/gmock.h>

#include <cmath>

#include "testsuite/unit/sim/files.h"

namespace market::sim {
namespace {

using test::TemporaryFile;
using ::testing::HasSubstr;

/// `count` jobs of two cores with a limit of half an hour: one core-hour each.
Workload jobs_of_an_hour(std::size_t count) {
  Workload log;
  for (std::size_t i = 0; i < count; ++i) {
    TraceJob job;
    job.number = static_cast<std::uint32_t>(i + 1);
    job.submit = job.eligible = 1000 + static_cast<Time>(i);
    job.cores = 2;
    job.limit = 1800;
    job.run = 60;
    log.jobs.push_back(job);
  }
  return log;
}

ValuationModel priced(const char* value) {
  ValuationModel model;
  model.value_per_hour = *Distribution::parse(value);
  return model;
}

double mean_of(const std::vector<Valuation>& valuations) {
  double sum = 0;
  for (const Valuation& valuation : valuations) sum += valuation.worth.credits();
  return sum / static_cast<double>(valuations.size());
}

TEST(ValuationModels, DistributionsHaveTheMeansOfTheirDefinitions) {
  const Workload log = jobs_of_an_hour(40000);
  EXPECT_DOUBLE_EQ(mean_of(value_jobs(log, priced("0.25"), "s")), 0.25);
  EXPECT_NEAR(mean_of(value_jobs(log, priced("1..3"), "s")), 2, 0.02);
  EXPECT_NEAR(mean_of(value_jobs(log, priced("uniform(1,3)"), "s")), 2, 0.02);
  EXPECT_NEAR(mean_of(value_jobs(log, priced("exponential(0.5)"), "s")), 0.5, 0.01);
  // exp(M + S²/2) = exp(-1 + 0.125)
  EXPECT_NEAR(mean_of(value_jobs(log, priced("lognormal(-1,0.5)"), "s")), std::exp(-0.875), 0.01);
}

TEST(ValuationModels, WhatIsNoDistributionIsRefused) {
  for (const char* bad : {"", "x", "-1", "3..1", "-1..2", "lognormal(1)", "lognormal(1,-1)", "1..",
                          "lognormal(1,2", "uniform(1,2,3)", "exponential(0)", "lognormal(100,1)",
                          "nan", "1e300", "lognormal(nan,1)"}) {
    const auto parsed = Distribution::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().text, HasSubstr("allowed are lognormal(M,S)")) << bad;
  }
  EXPECT_FALSE(parse_fall("1..2"));
  EXPECT_FALSE(parse_fall("1..2:x"));
}

TEST(ValuationModels, TheSameSeedDrawsTheSameAndAnotherDoesNot) {
  const Workload log = jobs_of_an_hour(200);
  const auto first = value_jobs(log, priced("0..1"), "a"),
             again = value_jobs(log, priced("0..1"), "a"),
             other = value_jobs(log, priced("0..1"), "b");
  std::size_t differ = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].worth, again[i].worth);
    differ += first[i].worth != other[i].worth ? 1 : 0;
  }
  EXPECT_GT(differ, 190u);
}

TEST(ValuationModels, ADrawDependsOnNeitherLaterJobsNorOtherModels) {
  const auto many = value_jobs(jobs_of_an_hour(200), priced("0..1"), "a");
  ValuationModel more = priced("0..1");
  more.slack = *Distribution::parse("2..5");
  const auto few = value_jobs(jobs_of_an_hour(20), more, "a");
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].worth, many[i].worth);
}

TEST(ValuationModels, SlackIsCountedInTimeLimits) {
  ValuationModel model;
  model.slack = *Distribution::parse("2..5");
  const Workload log = jobs_of_an_hour(500);
  const auto valuations = value_jobs(log, model, "a");
  for (std::size_t i = 0; i < valuations.size(); ++i) {
    const Time slack = valuations[i].deadline - log.jobs[i].submit;
    EXPECT_GE(slack, 2 * 1800);
    EXPECT_LE(slack, 5 * 1800);
    EXPECT_FALSE(valuations[i].is_sigmoid());
  }
}

TEST(ValuationModels, NoDeadlineIsBeforeAJobCouldBeDone) {
  ValuationModel model;
  model.slack = *Distribution::parse("0.1");
  const Workload log = jobs_of_an_hour(1);
  EXPECT_EQ(value_jobs(log, model, "a")[0].deadline, log.jobs[0].submit + 1800);
}

TEST(ValuationModels, SigmoidsFallBetweenTheirTimes) {
  ValuationModel model;
  model.sigmoid = *parse_fall("1:3");
  const auto valuations = value_jobs(jobs_of_an_hour(1), model, "a");
  EXPECT_EQ(valuations[0].drop, 1800);
  EXPECT_EQ(valuations[0].zero, 5400);
  EXPECT_EQ(valuations[0].deadline, 0);
  model.sigmoid = *parse_fall("3:1");
  const auto turned = value_jobs(jobs_of_an_hour(1), model, "a");
  EXPECT_EQ(turned[0].drop, 5400);
  EXPECT_EQ(turned[0].zero, 5401);
}

TEST(ValuationModels, AFileGivesBidsExactly) {
  const Workload log = jobs_of_an_hour(4);
  auto valuations = value_jobs(log, priced("1"), "a");
  const TemporaryFile file(
      "# job,bid\n1,2.50,9000\n2,7:1:00:00:2:00:00\n3,0.5\n\n9,1\n4\n4,-1\n4,1,soon\n4,1:2\n");
  Faults faults;
  ASSERT_TRUE(read_valuations(file.path(), log, valuations, faults));
  EXPECT_EQ(valuations[0].worth, *Money::parse("2.50"));
  EXPECT_EQ(valuations[0].deadline, 9000);
  EXPECT_EQ(valuations[1].worth, *Money::parse("7"));
  EXPECT_EQ(valuations[1].drop, 3600);
  EXPECT_EQ(valuations[1].zero, 7200);
  EXPECT_EQ(valuations[2].worth, *Money::parse("0.5"));
  EXPECT_EQ(valuations[2].deadline, 0);
  EXPECT_EQ(valuations[3].worth, *Money::parse("1"));  // the model's, since its lines are bad
  std::map<std::string, std::size_t> first_lines;
  for (const auto& [kind, known] : faults.kinds()) first_lines[kind] = known.first_line;
  const std::map<std::string, std::size_t> expected = {{"a job that the log does not have", 6},
                                                       {"no comma", 7},
                                                       {"a budget that cannot be read", 8},
                                                       {"a deadline that cannot be read", 9},
                                                       {"a value that cannot be read", 10}};
  EXPECT_EQ(first_lines, expected);
}

// Jobs of half an hour on two cores; 960 CPU-seconds on a CPU are 16 minutes at 800 an hour.
TEST(ValuationModels, AFileGivesRatesAndWork) {
  const Workload log = jobs_of_an_hour(4);
  auto valuations = value_jobs(log, priced("1"), "a");
  const TemporaryFile file(
      "1,800;cpu:16:00;cpu:1-16;9000\n2,10;;\n3,800;cpu:16:00,mem:1:00:00;mem:1G-2G,cpu:4-8\n"
      "4,0;;\n4,8;cpu:16:00;\n4,8;cpu:16:00\n4,8;;;soon\n");
  Faults faults;
  ASSERT_TRUE(read_valuations(file.path(), log, valuations, faults));
  ASSERT_TRUE(valuations[0].by_rate);
  EXPECT_EQ(valuations[0].by_rate->rate, *Money::parse("800"));
  EXPECT_EQ(valuations[0].by_rate->workload, "cpu:16:00");
  EXPECT_EQ(valuations[0].by_rate->range, "cpu:1-16");
  EXPECT_EQ(valuations[0].worth, *Money::parse("213.333333"));
  EXPECT_EQ(valuations[0].deadline, 9000);
  EXPECT_EQ(valuations[1].worth, *Money::parse("5"));
  EXPECT_EQ(valuations[1].deadline, 0);
  // 960 ÷ 4 s of CPU and 3,600 GB-seconds ÷ 1 GB: 3,840 s.
  EXPECT_EQ(valuations[2].worth, *Money::parse("853.333333"));
  EXPECT_FALSE(valuations[3].by_rate);
  std::map<std::string, std::size_t> first_lines;
  for (const auto& [kind, known] : faults.kinds()) first_lines[kind] = known.first_line;
  const std::map<std::string, std::size_t> expected = {
      {"a rate that cannot be read", 4},
      {"a workload or range that cannot be read", 5},
      {"not RATE;WORKLOAD;RANGE[;DEADLINE]", 6},
      {"a deadline that cannot be read", 7}};
  EXPECT_EQ(first_lines, expected);
}

}  // namespace
}  // namespace market::sim
