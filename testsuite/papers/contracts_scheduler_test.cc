// SPDX-License-Identifier: GPL-2.0-or-later
// The black box behind the contracts: the paper has RUSH, a scheduler that is aware of deadlines
// and robust to uncertain run times, and prints no numbers of it. What the project's own is worth.
#include <gtest/gtest.h>

#include "testsuite/papers/contracts_world.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

/// Mean value of 100 that jobs get which come one in `between` seconds and tell the truth.
double value_kept(const DeadlineScheduler& scheduler, double load, std::uint64_t seed) {
  constexpr double kMeanWork = 9 * 400;
  const double between = kMeanWork / kUnits / load;
  SeededRandom random(seed), runs(seed + 1000);
  Cluster cluster(scheduler, &runs);
  std::vector<WaitingJob> jobs;
  double arrival = 0;
  for (std::size_t number = 0; number < 600; ++number) {
    arrival -= between * std::log(1 - random.uniform());
    cluster.advance(arrival);
    jobs.push_back(draw_job(&random, arrival));
    cluster.submit(jobs.back(), number);
  }
  cluster.advance(std::numeric_limits<double>::infinity());
  double value = 0;
  for (const auto& [number, end] : cluster.ended()) {
    const WaitingJob& job = jobs[number];
    value +=
        job.valuations->value(job.type, end - job.submitted) / static_cast<double>(jobs.size());
  }
  return value;
}

TEST(ContractsPaper, TheSchedulerKeepsMoreValueThanEarliestDeadlineFirst) {
  const int repeats = sample(3, 30);
  const Comparison table("Contracts, the black box: mean value of 100 that jobs get",
                         fmt::format("600 jobs, true types, no prices; seeds 1..{}", repeats));
  for (const double load : {0.7, 0.9, 1.1, 1.5}) {
    std::map<std::string, double> kept;
    for (const char* name : {"expected_loss", "edf", "fifo"}) {
      const auto scheduler = make_deadline_scheduler(name);
      for (int seed = 1; seed <= repeats; ++seed) {
        kept[name] += value_kept(*scheduler, load, static_cast<std::uint64_t>(seed)) / repeats;
      }
    }
    table.row(
        fmt::format("load {}: expected_loss, edf, fifo", load), "-",
        fmt::format("{:.1f}, {:.1f}, {:.1f}", kept["expected_loss"], kept["edf"], kept["fifo"]));
    EXPECT_GT(kept["expected_loss"], kept["edf"] - 0.5);
    EXPECT_GT(kept["expected_loss"], kept["fifo"]);
    EXPECT_TRUE(load < 0.9 || kept["expected_loss"] > kept["edf"] + 10);
  }
}

/// How much later than planned jobs start when nobody comes after the plan was made.
std::vector<double> slips(const DeadlineScheduler& scheduler, double deviation, int repeats) {
  std::vector<double> late;
  for (int seed = 1; seed <= repeats; ++seed) {
    SeededRandom random(static_cast<std::uint64_t>(seed));
    Moment moment(40, &random);
    for (WaitingJob& job : moment.jobs) job.run_deviation = deviation * job.run_mean;
    const auto planned = scheduler.completions(moment.load, moment.jobs);
    Cluster cluster(scheduler, &random);
    cluster.submit_all(moment.jobs);
    cluster.advance(std::numeric_limits<double>::infinity());
    for (const auto& [number, start] : cluster.started()) {
      late.push_back(start - (planned[number] - moment.jobs[number].run_mean));
    }
  }
  return late;
}

/// Under edf only longer runs than planned can make a job late. Under expected_loss jobs also
/// change places as time goes on: a completion told is that of the order of the moment.
TEST(ContractsPaper, PlannedStartsHoldUnderUncertainRunTimes) {
  const int repeats = sample(50, 500);
  const Comparison table("Contracts, the black box: jobs that start by their planned start",
                         fmt::format("40 jobs wait, none comes; true run times are normal; room "
                                     "for 1.28 deviations; {} plans",
                                     repeats));
  for (const char* name : {"edf", "expected_loss"}) {
    for (const double deviation : {0.0, 0.1, 0.2, 0.5}) {
      const auto late = slips(*make_deadline_scheduler(name), deviation, repeats);
      const auto kept = std::count_if(late.begin(), late.end(), [](double by) { return by <= 1; });
      const double part = static_cast<double>(kept) / static_cast<double>(late.size());
      table.row(fmt::format("{}, deviation {} of the mean run time", name, deviation),
                "robust, no number",
                fmt::format("{:.1f} %; mean slip {:.0f} s, 95 % {:.0f} s", 100 * part,
                            statistics_of(late).mean, quantile(late, 0.95)));
      EXPECT_GT(part, std::string_view(name) == "edf" ? 0.93 : 0.7);
    }
  }
}

}  // namespace
}  // namespace market::papers
