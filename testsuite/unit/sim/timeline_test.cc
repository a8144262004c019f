// SPDX-License-Identifier: GPL-2.0-or-later
// Sums over time, groups and rows of a plan, worked out by hand.
#include "core/sim/timeline.h"

#include <gtest/gtest.h>

#include "core/sim/lanes.h"

namespace market::sim {
namespace {

TEST(Timeline, StepsAreRoundAndNotTooMany) {
  const Timeline minutes = Timeline::cover(1003, 1000 + 590, 12);
  EXPECT_EQ(minutes.step, 60);
  EXPECT_EQ(minutes.begin, 960);
  EXPECT_EQ(minutes.steps, 11u);
  EXPECT_GE(minutes.end(), 1590);
  EXPECT_EQ(Timeline::cover(0, 0, 5).steps, 1u);
  const Timeline centuries = Timeline::cover(7, 7 + Time{20'000'000'000}, 100);
  EXPECT_LE(centuries.steps, 100u);
  EXPECT_GE(centuries.end(), 7 + Time{20'000'000'000});
  EXPECT_EQ(Timeline::cover(-90, 0, 3).begin % Timeline::cover(-90, 0, 3).step, 0);
  EXPECT_LE(Timeline::cover(-90, 0, 3).begin, -90);
}

TEST(StepSums, PartsOfStepsCount) {
  StepSums sums({100, 10, 4});
  sums.add(105, 125, 2);   // 5 s of the first step, all of the second, 5 s of the third
  sums.add(111, 113, 1);   // inside of one
  sums.add(90, 101, 3);    // one second of it counts
  sums.add(138, 999, 7);   // two seconds
  sums.add(120, 120, 50);  // nothing
  sums.add(300, 400, 50);
  const std::vector<double> expected = {10 + 3, 20 + 2, 10, 14};
  ASSERT_EQ(sums.sums().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(sums.sums()[i], expected[i]);
}

// Accounts 0, 1, 2 have 10, 50 and 30 core-seconds, account 3 has no job; two keep their names.
struct World {
  Workload log;
  std::vector<SimJob> jobs;
  std::vector<JobRecord> records;
  std::vector<Valuation> valuations;

  World() {
    for (const char* name : {"a", "b", "c", "empty"}) log.accounts.number_of(name);
    log.partitions.number_of("main");
    log.partitions.number_of("long");
    add(0, 0, 10, 1, 0, JobState::kCompleted);
    add(1, 1, 25, 2, 30, JobState::kCompleted);
    add(2, 0, 30, 1, 0, JobState::kRefused);
  }
  void add(std::uint32_t account, std::uint32_t partition, std::int64_t run, std::uint32_t cores,
           Time start, JobState state) {
    TraceJob trace;
    trace.partition = partition;
    log.jobs.push_back(trace);
    SimJob job;
    job.run = run;
    job.need.cores = cores;
    job.trace = static_cast<std::uint32_t>(jobs.size());
    job.account = account;
    jobs.push_back(job);
    records.push_back({start, start + run, 0, state});
    valuations.push_back({Money::from_micro(4 * Money::kMicroPerCredit)});
  }
};

TEST(JobGroups, TheLargestKeepTheirNames) {
  const World world;
  const JobGroups groups = group_jobs(world.log, world.jobs, 2, 6);
  EXPECT_EQ(groups.accounts.names, (std::vector<std::string>{"b", "c", "others"}));
  EXPECT_EQ(groups.accounts.others, 1u);
  EXPECT_EQ(groups.partitions.names, (std::vector<std::string>{"long", "main"}));
  EXPECT_EQ(groups.partitions.others, 0u);
  EXPECT_EQ(groups.of_job, (std::vector<std::uint32_t>{2 * 2 + 1, 0 * 2 + 0, 1 * 2 + 1}));
}

TEST(ByGroups, OfAnExampleByHand) {
  const World world;
  const JobGroups groups = group_jobs(world.log, world.jobs, 3, 6);
  const Money paid = Money::from_micro(5 * Money::kMicroPerCredit / 2);
  const RunByGroups run = by_groups(groups, {0, 10, 6}, world.jobs, world.records, world.valuations,
                                    {Money(), paid, Money()});
  const GroupFigures& b = run.figures[0];  // of account b in partition long
  EXPECT_EQ(b.completed, 1u);
  EXPECT_DOUBLE_EQ(b.wait, 30);
  EXPECT_EQ(b.waits[0], 1u);
  EXPECT_DOUBLE_EQ(b.core_seconds, 50);
  EXPECT_DOUBLE_EQ(b.charged, 2.5);
  EXPECT_DOUBLE_EQ(b.served, 4);
  EXPECT_EQ(run.series[0].waiting, (std::vector<double>{20, 20, 20, 0, 0, 0}));
  EXPECT_EQ(run.series[0].busy, (std::vector<double>{0, 0, 0, 20, 20, 10}));
  EXPECT_DOUBLE_EQ(run.series[0].paid[3], 1);
  EXPECT_DOUBLE_EQ(run.series[0].paid[5], 0.5);
  const GroupFigures& c = run.figures[1 * 2 + 1];
  EXPECT_EQ(c.refused, 1u);
  EXPECT_DOUBLE_EQ(c.asked, 4);
  EXPECT_DOUBLE_EQ(c.served, 0);
  EXPECT_TRUE(run.series[1].busy.empty()) << "b has no job in main";
}

// Two nodes of two cores, rows 0 to 3. Runs that touch take each other's rows; what lies side by side is
// one bar.
TEST(Lanes, RunsDoNotLieOnEachOther) {
  const Machine machine = *Machine::parse("2x2");
  const std::vector<PlacedRun> runs = {{0, 10, {{0, 1}}},
                                       {0, 5, {{0, 1}, {1, 1}}},
                                       {5, 9, {{0, 1}, {1, 2}}},
                                       {10, 12, {{0, 2}}},
                                       {}};
  const auto rows = rows_of(machine, runs);
  EXPECT_EQ(rows[0], (std::vector<Rows>{{0, 1}}));
  EXPECT_EQ(rows[1], (std::vector<Rows>{{1, 2}}));
  EXPECT_EQ(rows[2], (std::vector<Rows>{{1, 3}}));
  EXPECT_EQ(rows[3], (std::vector<Rows>{{0, 2}}));
  EXPECT_TRUE(rows[4].empty());
}

}  // namespace
}  // namespace market::sim
