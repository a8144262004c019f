// SPDX-License-Identifier: GPL-2.0-or-later
// Menus of contracts: the whole menu, its prices, and what the definition costs instead.
#include <benchmark/benchmark.h>

#include "core/mechanism/contract_prices.h"
#include "core/mechanism/contracts.h"
#include "core/plan/deadline_scheduler.h"
#include "ratio.h"

namespace market {
namespace {

// What is wanted: a menu of 100 pairs with 1,000 active jobs, and its prices alone.
constexpr double kMenuGoal = 20, kPricesGoal = 1;  // milliseconds of CPU time

/// Adds the CPU time of `work` beside what is wanted of it, and by how much it is faster than `plain`, which
/// does the same by the definitions.
template <class Work, class Plain>
void report_goal(benchmark::State& state, double goal_ms, Work work, Plain plain) {
  const double ms = 1000 * bench::best_of(5, work);
  state.counters["cpu_ms"] = ms;
  state.counters["goal_ms"] = goal_ms;
  state.counters["of_goal"] = ms / goal_ms;
  state.counters["times_naive"] = 1000 * bench::best_of(1, plain) / ms;
}

std::vector<double> paper_type(SeededRandom* random) {
  double drop = -1, fall = -1;
  while (drop < 0) drop = 2000 + 1000 * random->normal();
  while (fall <= 0) fall = 1000 + 500 * random->normal();
  return {100, drop, drop + fall};
}

WeightMatrix sigmoid_weights(std::size_t pairs) {
  SeededRandom random(1);
  std::vector<double> times(pairs);
  for (double& time : times) time = random.uniform(0, 5000);
  WeightMatrix weights(pairs);
  for (std::size_t row = 0; row < pairs; ++row) {
    const auto type = paper_type(&random);
    for (std::size_t column = 0; column < pairs; ++column) {
      weights(row, column) = sigmoid_value(type[0], type[1], type[2], times[column]);
    }
  }
  return weights;
}

struct Scene {
  explicit Scene(std::size_t active) {
    SeededRandom random(2);
    load.capacity = 4000;
    for (std::size_t i = 0; i < active; ++i) {
      WaitingJob job;
      job.width = static_cast<double>(1 + random.below(128));
      job.run_mean = random.uniform(60, 3600);
      job.run_deviation = 0.2 * job.run_mean;
      job.submitted = -random.uniform(0, 3600);
      job.valuations = job_class("sigmoid");
      job.type = paper_type(&random);
      jobs.push_back(job);
    }
    newcomer = jobs[0];
    newcomer.submitted = 0;
    std::vector<double> types;
    for (int i = 0; i < 500; ++i) {
      const auto type = paper_type(&random);
      types.insert(types.end(), type.begin(), type.end());
    }
    population = std::make_unique<KernelDensity>(types, 3);
  }
  ClusterLoad load;
  std::vector<WaitingJob> jobs;
  WaitingJob newcomer;
  std::unique_ptr<KernelDensity> population;
  std::unique_ptr<DeadlineScheduler> scheduler = make_deadline_scheduler("expected_loss");
};

/// What eq. (1) costs by its definition: a matching for each row that is taken away.
void price_by_definition(const WeightMatrix& weights) {
  for (std::size_t gone = 0; gone < weights.size(); ++gone) {
    WeightMatrix others = weights;
    for (double& weight : others.row(gone)) weight = 0;
    benchmark::DoNotOptimize(maximum_weight_assignment(others).total);
  }
}

/// The expected completion of each type by its definition: a schedule of all jobs with it among them.
std::vector<double> schedule_each(const Scene& scene, std::span<const double> types) {
  std::vector<WaitingJob> jobs = scene.jobs;
  jobs.push_back(scene.newcomer);
  std::vector<double> completions;
  for (std::size_t at = 0; at + 3 <= types.size(); at += 3) {
    jobs.back().type.assign(types.begin() + static_cast<std::ptrdiff_t>(at),
                            types.begin() + static_cast<std::ptrdiff_t>(at + 3));
    completions.push_back(scene.scheduler->completions(scene.load, jobs).back());
  }
  return completions;
}

void Menu100(benchmark::State& state) {
  const Scene scene(1000);
  const std::vector<double> declared = {100, 2000, 3000};
  const Completions completions = [&](std::span<const double> types) {
    return scene.scheduler->what_if(scene.load, scene.jobs, scene.newcomer, types);
  };
  const auto menu = [&](const Completions& when) {
    benchmark::DoNotOptimize(
        make_menu(*job_class("sigmoid"), *scene.population, {declared, 100, 0, 1}, when));
  };
  for (auto _ : state) menu(completions);
  report_goal(
      state, kMenuGoal, [&] { menu(completions); },
      [&] { menu([&](std::span<const double> types) { return schedule_each(scene, types); }); });
}
BENCHMARK(Menu100)->Unit(benchmark::kMillisecond);

/// What the market does for a menu: M = 100, 1,000 jobs that are sold, and as many open classes.
void MarketMenu(benchmark::State& state) {
  constexpr Time kNow = 1'800'000'000;
  MarketSettings settings;
  settings.mechanism = "contracts";
  settings.seed = "bench";
  for (std::int64_t i = 0; i < state.range(0); ++i)
    settings.contracts.classes.push_back(
        {std::to_string(i), i % 2 == 0 ? "hard_deadline" : "sigmoid"});
  ContractMenuPrices prices(settings);
  prices.update(Capacity{{{"cpu", 4000}}, {}}, kNow);
  SeededRandom random(2);
  Request request;
  for (int i = 0; i < 1000; ++i) {
    request.demand.tres = {{"cpu", static_cast<std::int64_t>(1 + random.below(128))}};
    request.duration = static_cast<Time>(random.uniform(60, 3600));
    prices.promise(request, kNow + static_cast<Time>(random.uniform(0, 86400)));
  }
  request.job_class = "0";
  request.earliest = kNow;
  request.deadline = kNow + 7 * Time{86400};
  const auto list = [&] { benchmark::DoNotOptimize(prices.prices(request, kNow)); };
  for (auto _ : state) list();
  const double ms = 1000 * bench::best_of(5, list);
  state.counters["cpu_ms"] = ms;
  state.counters["goal_ms"] = kMenuGoal;
  state.counters["of_goal"] = ms / kMenuGoal;
}
BENCHMARK(MarketMenu)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);

/// What one of the 100 schedules costs that the menu does without.
void OneSchedule(benchmark::State& state) {
  const Scene scene(1000);
  for (auto _ : state)
    benchmark::DoNotOptimize(scene.scheduler->completions(scene.load, scene.jobs));
}
BENCHMARK(OneSchedule)->Unit(benchmark::kMillisecond);

void Prices(benchmark::State& state) {
  const WeightMatrix weights = sigmoid_weights(static_cast<std::size_t>(state.range(0)));
  const auto price = [&] { benchmark::DoNotOptimize(price_contracts(weights)); };
  for (auto _ : state) price();
  if (state.range(0) == 100)
    report_goal(state, kPricesGoal, price, [&] { price_by_definition(weights); });
}
BENCHMARK(Prices)->Arg(100)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond);

void AssignmentAlone(benchmark::State& state) {
  const WeightMatrix weights = sigmoid_weights(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(maximum_weight_assignment(weights));
}
BENCHMARK(AssignmentAlone)->Arg(100)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace market
