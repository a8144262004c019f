// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus, sections 7.1.2, 7.1.3 and 7.2.1 (Figs. 9, 10, 12 and 13) on a simulated MapReduce
// cluster.
#include <gtest/gtest.h>

#include <random>

#include "core/mechanism/abacus_fit.h"
#include "testsuite/papers/mapreduce.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

using abacus::uniform;

double exponential(std::mt19937_64& random, double mean) {
  return -mean * std::log(uniform(random));
}

std::vector<double> draw_tasks(std::mt19937_64& random, std::size_t count, double mean) {
  std::vector<double> tasks(count);
  for (double& seconds : tasks) seconds = exponential(random, mean);
  return tasks;
}

/// Table 1: mean seconds of a map and of a reduce task, jobs per minute. Further users repeat it.
struct UserOfTable1 {
  double map, reduce, per_minute;
};
constexpr UserOfTable1 kTable1[] = {{30, 20, 2}, {15, 40, 1.5}, {60, 10, 1.1}};

/// Half an hour of the first `users` users, 20 maps and 10 reduces a job. The random numbers of a
/// user depend on the seed and on nothing else, so that settings are compared on the same jobs.
std::vector<MapReduceJob> jobs_of_table1(int users, std::uint64_t seed) {
  std::vector<MapReduceJob> jobs;
  for (int user = 0; user < users; ++user) {
    std::mt19937_64 random(1000 * seed + static_cast<std::uint64_t>(user));
    const UserOfTable1& of = kTable1[user % 3];
    double at = 0;
    while ((at += exponential(random, 60 / of.per_minute)) < 1800) {
      MapReduceJob job;
      job.user = user;
      job.arrival = at;
      job.weights = {of.map, of.reduce};
      job.tasks = {draw_tasks(random, 20, of.map), draw_tasks(random, 10, of.reduce)};
      jobs.push_back(std::move(job));
    }
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const MapReduceJob& a, const MapReduceJob& b) { return a.arrival < b.arrival; });
  return jobs;
}

/// Three users want 1.1 times these.
constexpr PerKind kSlotsOfThree = {45, 17};

struct Measured {
  std::array<double, 3> efficiency{};  ///< mean of 1000/response time, by user
  std::array<double, 3> response{};    ///< mean seconds, by user
  double makespan = 0;                 ///< when the last job ended
  double total = 0;                    ///< response times of all jobs together
};

Measured measure(const std::vector<MapReduceJob>& jobs, const std::vector<double>& ended) {
  Measured run;
  std::array<double, 3> count{};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double response = ended[i] - jobs[i].arrival;
    const auto user = static_cast<std::size_t>(jobs[i].user % 3);
    run.efficiency[user] += 1000 / response;
    run.response[user] += response;
    ++count[user];
    run.makespan = std::max(run.makespan, ended[i]);
    run.total += response;
  }
  for (std::size_t user = 0; user < 3; ++user) {
    run.efficiency[user] /= std::max(1.0, count[user]);
    run.response[user] /= std::max(1.0, count[user]);
  }
  return run;
}

struct Setting {
  double budget3 = 200;
  PerKind weights3 = {6, 1};
  double alpha = 0.5;
};

/// Mean over seeds 1 .. repeats of the three users of Table 1 under Abacus.
Measured three_users(const Setting& setting, int repeats) {
  Measured mean;
  for (int seed = 1; seed <= repeats; ++seed) {
    std::vector<MapReduceJob> jobs = jobs_of_table1(3, static_cast<std::uint64_t>(seed));
    for (MapReduceJob& job : jobs) {
      if (job.user != 2) continue;
      job.budget = setting.budget3;
      job.weights = setting.weights3;
    }
    AbacusPolicy abacus(setting.alpha, static_cast<std::uint64_t>(seed));
    const Measured run = measure(jobs, run_cluster(jobs, kSlotsOfThree, abacus));
    for (std::size_t user = 0; user < 3; ++user) {
      mean.efficiency[user] += run.efficiency[user] / repeats;
      mean.response[user] += run.response[user] / repeats;
    }
  }
  return mean;
}

std::string efficiencies(const Measured& run) {
  return fmt::format("{:.2f} {:.2f} {:.2f}", run.efficiency[0], run.efficiency[1],
                     run.efficiency[2]);
}

TEST(AbacusPaper, IncentivesOnAClusterAsInFigure9) {
  const int repeats = sample(20, 200);
  const Comparison table("Abacus, Fig. 9: efficiency (mean of 1000 s/response time) of users 1 2 3",
                         fmt::format("Table 1, 20 maps and 10 reduces a job, 45 and 17 slots (load "
                                     "1.1), exponential tasks, alpha 0.5; seeds 1..{}",
                                     repeats));
  std::vector<Measured> by_budget;
  for (const double budget : {25.0, 50.0, 100.0, 200.0, 400.0, 800.0}) {
    by_budget.push_back(three_users({.budget3 = budget}, repeats));
    table.row(fmt::format("(a) budget of user 3 ${}", budget), "3 rises, concave; others fall",
              efficiencies(by_budget.back()));
  }
  for (std::size_t i = 1; i < by_budget.size(); ++i) {
    EXPECT_GT(by_budget[i].efficiency[2], by_budget[i - 1].efficiency[2]);
  }
  EXPECT_LT(by_budget.back().efficiency[0], by_budget.front().efficiency[0]);
  EXPECT_LT(by_budget.back().efficiency[1], by_budget.front().efficiency[1]);
  EXPECT_LT((by_budget[5].efficiency[2] - by_budget[4].efficiency[2]) / 400,
            (by_budget[1].efficiency[2] - by_budget[0].efficiency[2]) / 25);

  std::vector<double> own;
  for (const double ratio : {0.25, 1.0, 2.0, 4.0, 8.0}) {
    const Measured run = three_users({.weights3 = {ratio, 1}}, repeats);
    own.push_back(run.efficiency[2]);
    table.row(fmt::format("(b) user 3 reports {} : 1", ratio),
              ratio == 4 ? "best for 3, worst for others" : "worse for 3", efficiencies(run));
  }
  EXPECT_GT(own[3], 1.05 * own[0]);
  EXPECT_GT(own[3], 0.98 * *std::max_element(own.begin(), own.end()));

  std::vector<double> spread;
  for (const double alpha : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    const Measured run = three_users({.alpha = alpha}, repeats);
    const auto [least, most] = std::minmax_element(run.response.begin(), run.response.end());
    spread.push_back(*most / *least);
    table.row(
        fmt::format("(c) alpha {}: mean response times", alpha),
        alpha < 0.2 ? "nearly equal" : "users separate",
        fmt::format("{:.0f} {:.0f} {:.0f} s", run.response[0], run.response[1], run.response[2]));
  }
  table.row("(c) slowest / fastest at alpha 0.1 and 0.9", "grows",
            fmt::format("{:.2f} {:.2f}", spread.front(), spread.back()));
  EXPECT_LT(spread.front(), 1.25);
  EXPECT_GT(spread.back(), 1.5 * spread.front());
}

/// Runs of user 3 under reported ratios of 1/4 to 16, drawn for each job: average shares and
/// 1000 s/response time.
std::vector<abacus::Observation> runs_of_user_3(std::uint64_t seed) {
  std::vector<MapReduceJob> jobs = jobs_of_table1(3, seed);
  std::mt19937_64 random(seed);
  for (MapReduceJob& job : jobs) {
    if (job.user == 2) job.weights = {0.25 * std::pow(64.0, uniform(random)), 1};
  }
  AbacusPolicy abacus(0.5, seed);
  const std::vector<double> ended = run_cluster(jobs, kSlotsOfThree, abacus);
  std::vector<abacus::Observation> runs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].user != 2) continue;
    const double seconds = ended[i] - jobs[i].arrival;
    const PerKind& shares = abacus.share_seconds(i);
    runs.push_back({{shares[kMap] / seconds, shares[kReduce] / seconds}, 1000 / seconds});
  }
  return runs;
}

/// Reported, not asserted: where reduces wait for all maps and load comes and goes, one over the
/// response time is not linear in the shares ("does not fully reflect the coupling between map and
/// reduce tasks"), and what is learned is far from the ratio of task times.
TEST(AbacusPaper, UtilityLearnedFromAClusterAsInFigure11) {
  const int repeats = sample(100, 1000);
  const Comparison table("Abacus, Fig. 11 on the cluster: map : reduce ratio learned from runs",
                         fmt::format("Table 1, truth 6, each job of user 3 reports 1/4 to 16 : 1; "
                                     "runs of one half hour, seeds 1..{}",
                                     repeats));
  for (const std::size_t count : {5u, 10u, 30u}) {
    std::vector<double> ratios;
    for (int seed = 1; seed <= repeats; ++seed) {
      auto runs = runs_of_user_3(static_cast<std::uint64_t>(seed));
      if (runs.size() > count) runs.resize(count);
      const auto fit = abacus::fit_utility(UtilityKind::kLinear, runs);
      if (fit) ratios.push_back(fit->weights[0] / std::max(fit->weights[1], 1e-9));
    }
    const auto near = std::count_if(ratios.begin(), ratios.end(),
                                    [](double ratio) { return ratio >= 5 && ratio <= 9; });
    table.row(fmt::format("{} jobs", count), count == 5 ? "usually in 5..9" : "variance plunges",
              fmt::format("{:.0f} % in 5..9; quartiles {:.1f}, {:.1f}, {:.1f}",
                          100.0 * static_cast<double>(near) / static_cast<double>(ratios.size()),
                          quantile(ratios, 0.25), quantile(ratios, 0.5), quantile(ratios, 0.75)));
  }
}

/// Abacus / FIFO on the same jobs: when the last one ended, and response times together.
struct Ratio {
  double makespan = 0, total = 0;
};

template <class DrawJobs>
Ratio against_fifo(const DrawJobs& draw, const PerKind& slots, int repeats) {
  Ratio mean;
  for (int seed = 1; seed <= repeats; ++seed) {
    const std::vector<MapReduceJob> jobs = draw(static_cast<std::uint64_t>(seed));
    AbacusPolicy abacus(0.5, static_cast<std::uint64_t>(seed));
    Fifo fifo;
    const Measured a = measure(jobs, run_cluster(jobs, slots, abacus, 2));
    const Measured f = measure(jobs, run_cluster(jobs, slots, fifo, 2));
    mean.makespan += a.makespan / f.makespan / repeats;
    mean.total += a.total / f.total / repeats;
  }
  return mean;
}

/// "Total time" is read both ways. Slots are the same for all numbers of users, so that 10 users
/// want twice what there is: then everybody's maps end late under Abacus, and the reduces, which
/// wait for all maps of their job, are left for the end. With reduce slots to spare that is 7 % at
/// most; where they are as scarce as map slots it is 40 %, against the paper's 5 %, so more than 5
/// users are reported and not asserted. Nothing gains the 20 % of Fig. 10(c).
TEST(AbacusPaper, TotalTimeAgainstFifoAsInFigure10) {
  const int repeats = sample(5, 50);
  const Comparison table(
      "Abacus, Fig. 10(a): Abacus / FIFO, last end and sum of response times",
      fmt::format("users as in Table 1, $200 each, 75 map slots (load 1.1 with 5 "
                  "users), 28 reduce slots (the same load) or 84, 2 s to start a "
                  "task; seeds 1..{}",
                  repeats));
  for (const int users : {1, 2, 3, 5, 7, 10}) {
    const auto draw = [users](std::uint64_t seed) { return jobs_of_table1(users, seed); };
    const Ratio scarce = against_fifo(draw, {75, 28}, repeats);
    const Ratio plenty = against_fifo(draw, {75, 84}, repeats);
    table.row(fmt::format("{} users", users),
              users < 5 ? "below 1 in most settings" : "at most 1.05",
              fmt::format("{:.3f}, {:.3f}; with 84: {:.3f}, {:.3f}", scarce.makespan, scarce.total,
                          plenty.makespan, plenty.total));
    EXPECT_TRUE(users > 5 || std::max(scarce.makespan, plenty.makespan) <= 1.05);
  }
}

/// Table 2: (maps, reduces); jobs 6 and 9 are sorts, heavy in reduces.
constexpr std::size_t kTable2[10][2] = {{427, 14}, {8, 2}, {15, 1}, {10, 1},   {15, 2},
                                        {352, 14}, {8, 2}, {15, 2}, {224, 14}, {8, 2}};
constexpr PerKind kSlotsOfEc2 = {30, 15};

MapReduceJob job_of_table2(int user, double arrival, std::mt19937_64& random) {
  const bool sort = user == 5 || user == 8;
  const std::size_t* counts = kTable2[user];
  const double map = sort ? 25 : 30, reduce = sort ? 300 : 60;
  MapReduceJob job;
  job.user = user;
  job.arrival = arrival;
  job.tasks = {draw_tasks(random, counts[0], map), draw_tasks(random, counts[1], reduce)};
  job.weights = {map * static_cast<double>(counts[0]), reduce * static_cast<double>(counts[1])};
  return job;
}

/// An hour of ten users at 0.9 times the map slots, one job type each.
std::vector<MapReduceJob> jobs_of_table2(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<MapReduceJob> jobs;
  double at = 0;
  while ((at += exponential(random, 110)) < 3600) {
    jobs.push_back(job_of_table2(static_cast<int>(random() % 10), at, random));
  }
  return jobs;
}

/// Each of the first `users` users submits its job three times within ten minutes.
std::vector<MapReduceJob> batch_of_table2(int users, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<MapReduceJob> jobs;
  for (int i = 0; i < 3 * users; ++i) {
    jobs.push_back(job_of_table2(i % users, 600 * uniform(random), random));
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const MapReduceJob& a, const MapReduceJob& b) { return a.arrival < b.arrival; });
  return jobs;
}

/// "Total running time of all jobs from all users": as the sum of response times Abacus is better
/// for any number of users, since small jobs do not wait for the large ones; as the end of the last
/// job it is never better. Only the first is asserted.
TEST(AbacusPaper, TotalTimeOnEc2AsInFigure13) {
  const int repeats = sample(20, 200);
  const Comparison table("Abacus, Fig. 13: Abacus / FIFO, last end and sum of response times",
                         fmt::format("Table 2, each user's job three times in 10 min, 2 s to start "
                                     "a task; slots 3 and 1.5 a user, or 30 and 15; seeds 1..{}",
                                     repeats));
  for (const int users : {2, 4, 6, 8, 10}) {
    const auto draw = [users](std::uint64_t seed) { return batch_of_table2(users, seed); };
    const Ratio growing = against_fifo(draw, {3.0 * users, std::floor(1.5 * users)}, repeats);
    const Ratio fixed = against_fifo(draw, kSlotsOfEc2, repeats);
    table.row(fmt::format("{} users: slots grow; fixed", users),
              users < 6 ? "below 1; about 0.95" : "below 1; above 1 with many",
              fmt::format("{:.3f}, {:.3f}; {:.3f}, {:.3f}", growing.makespan, growing.total,
                          fixed.makespan, fixed.total));
    EXPECT_LT(growing.total, 1);
    EXPECT_LT(fixed.total, 1);
  }
}

/// Mean response time of user 3, seconds.
template <class MakePolicy, class Change>
double response_of_3(int repeats, const MakePolicy& make, const Change& change) {
  double sum = 0, count = 0;
  for (int seed = 1; seed <= repeats; ++seed) {
    std::vector<MapReduceJob> jobs = jobs_of_table2(static_cast<std::uint64_t>(seed));
    for (MapReduceJob& job : jobs) {
      if (job.user == 2) change(job);
    }
    const auto policy = make(static_cast<std::uint64_t>(seed));
    const std::vector<double> ended = run_cluster(jobs, kSlotsOfEc2, *policy);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].user != 2) continue;
      sum += ended[i] - jobs[i].arrival;
      ++count;
    }
  }
  return sum / count;
}

TEST(AbacusPaper, IncentivesOnEc2AsInFigure12) {
  const int repeats = sample(60, 600);
  const Comparison table(
      "Abacus, Fig. 12: mean response time of user 3 (15 maps, 1 reduce)",
      fmt::format("Table 2, maps 30 s, reduces 60 s (sorts 25 and 300 s), 30 and "
                  "15 slots, load 0.9 for an hour, $200 each; seeds 1..{}",
                  repeats));
  const auto abacus = [](std::uint64_t seed) { return std::make_unique<AbacusPolicy>(0.5, seed); };
  const auto fifo = [](std::uint64_t) { return std::make_unique<Fifo>(); };
  const double by_fifo = response_of_3(repeats, fifo, [](MapReduceJob&) {});
  table.row("FIFO", "faster than Abacus below $200", fmt::format("{:.0f} s", by_fifo));
  std::vector<double> times;
  for (const double budget : {50.0, 100.0, 200.0, 400.0, 800.0}) {
    times.push_back(
        response_of_3(repeats, abacus, [&](MapReduceJob& job) { job.budget = budget; }));
    table.row(fmt::format("(a) budget ${}", budget),
              budget < 150   ? "slow"
              : budget < 500 ? "falls fast from $100 to $400"
                             : "hardly better than at $400",
              fmt::format("{:.0f} s", times.back()));
  }
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LT(times[i], times[i - 1]);
  times.clear();
  for (const double ratio : {0.25, 1.0, 2.0, 4.0, 8.0}) {
    times.push_back(response_of_3(repeats, abacus, [&](MapReduceJob& job) {
      job.weights = {ratio, 1};
    }));
    table.row(fmt::format("(b) reports {} : 1", ratio), ratio == 4 ? "least" : "more",
              fmt::format("{:.0f} s", times.back()));
  }
  EXPECT_LT(times[3], 0.9 * times[0]);
  EXPECT_LT(times[3], 1.03 * *std::min_element(times.begin(), times.end()));
}

}  // namespace
}  // namespace market::papers
