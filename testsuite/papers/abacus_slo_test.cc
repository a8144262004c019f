// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus, section 7.2.3 (Fig. 14): profit of Abacus with service levels against ARIA.
#include <gtest/gtest.h>

#include <random>

#include "testsuite/papers/mapreduce.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

using abacus::uniform;

constexpr PerKind kSlots = {30, 15};

/// Table 2: maps, reduces and their mean seconds, which the paper does not tell.
struct JobType {
  std::size_t maps, reduces;
  double map, reduce;
};
constexpr JobType kTable2[] = {
    {427, 14, 30, 60},  {8, 2, 30, 60}, {15, 1, 30, 60}, {10, 1, 30, 60},    {15, 2, 30, 60},
    {352, 14, 25, 300}, {8, 2, 30, 60}, {15, 2, 30, 60}, {224, 14, 25, 300}, {8, 2, 30, 60}};

/// Seconds with all slots of the cluster.
double alone(const JobType& type) {
  const auto waves = [](std::size_t tasks, double slots) {
    return std::ceil(static_cast<double>(tasks) / slots);
  };
  return waves(type.maps, kSlots[kMap]) * type.map +
         waves(type.reduces, kSlots[kReduce]) * type.reduce;
}

double normal(std::mt19937_64& random) {
  return std::sqrt(-2 * std::log(uniform(random))) *
         std::cos(2 * 3.14159265358979323846 * uniform(random));
}

/// Time to the deadline: U[500,1000] seconds, or normal times the time alone, mean 3, at least 1.
double draw_delay(double variance, const JobType& type, std::mt19937_64& random) {
  if (variance == 0) return 500 + 500 * uniform(random);
  return alone(type) * std::max(1.0, 3 + std::sqrt(variance) * normal(random));
}

/// An hour of jobs that want `rate` times the map slots; tasks take 0.8 to 1.2 of their mean.
std::vector<MapReduceJob> draw_jobs(double rate, double variance, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  double work = 0;
  for (const JobType& type : kTable2) work += static_cast<double>(type.maps) * type.map / 10;
  std::vector<MapReduceJob> jobs;
  double at = 0;
  while ((at -= work / kSlots[kMap] / rate * std::log(uniform(random))) < 3600) {
    const JobType& type = kTable2[random() % 10];
    MapReduceJob job;
    job.arrival = at;
    job.budget = 50 + 150 * uniform(random);
    job.deadline = at + draw_delay(variance, type, random);
    const auto tasks = [&](std::size_t count, double mean) {
      std::vector<double> seconds(count);
      for (double& each : seconds) each = mean * (0.8 + 0.4 * uniform(random));
      return seconds;
    };
    job.tasks = {tasks(type.maps, type.map), tasks(type.reduces, type.reduce)};
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Budgets of the jobs that met their deadlines, as a part of all budgets.
double profit(const std::vector<MapReduceJob>& jobs, SlotPolicy& policy) {
  const std::vector<double> ended = run_cluster(jobs, kSlots, policy);
  double met = 0, all = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    all += jobs[i].budget;
    if (ended[i] <= jobs[i].deadline) met += jobs[i].budget;
  }
  return met / all;
}

TEST(AbacusPaper, ProfitWithServiceLevelsAsInFigure14) {
  const int repeats = sample(5, 50);
  const Comparison table(
      "Abacus, Fig. 14: profit as a part of all budgets, SLO-Abacus and ARIA",
      fmt::format("Table 2, 30 and 15 slots, an hour, budgets U[50,200]; load of the map slots; "
                  "seeds 1..{}",
                  repeats));
  struct Deadlines {
    const char* name;
    double variance;
  };
  for (const Deadlines& deadlines :
       {Deadlines{"normal, variance 2", 2}, Deadlines{"normal, variance 3", 3},
        Deadlines{"uniform 500-1000 s", 0}}) {
    for (const double rate : {0.5, 1.0, 1.5, 2.0, 2.5, 3.0}) {
      std::vector<double> by_abacus, by_aria;
      for (int seed = 1; seed <= repeats; ++seed) {
        const auto draw = static_cast<std::uint64_t>(seed);
        const auto jobs = draw_jobs(rate, deadlines.variance, draw);
        SloAbacusPolicy abacus(kSlots, draw);
        Aria aria(kSlots);
        by_abacus.push_back(profit(jobs, abacus));
        by_aria.push_back(profit(jobs, aria));
      }
      const double ours = statistics_of(by_abacus).mean, theirs = statistics_of(by_aria).mean;
      table.row(fmt::format("{}, load {}", deadlines.name, rate), "competitive",
                fmt::format("{:.3f} and {:.3f} (ratio {:.2f})", ours, theirs, ours / theirs));
      EXPECT_GE(ours, 0.9 * theirs);
    }
  }
}

}  // namespace
}  // namespace market::papers
