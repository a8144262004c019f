// SPDX-License-Identifier: GPL-2.0-or-later
// Menus of contracts: the whole menu, its prices, and what the definition costs instead.
#include <benchmark/benchmark.h>

#include "core/mechanism/contracts.h"
#include "core/plan/deadline_scheduler.h"

namespace market {
namespace {

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

void Menu100(benchmark::State& state) {
  const Scene scene(1000);
  const std::vector<double> declared = {100, 2000, 3000};
  const Completions completions = [&](std::span<const double> types) {
    return scene.scheduler->what_if(scene.load, scene.jobs, scene.newcomer, types);
  };
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        make_menu(*job_class("sigmoid"), *scene.population, {declared, 100, 0, 1}, completions));
  }
}
BENCHMARK(Menu100)->Unit(benchmark::kMillisecond);

/// What one of the 100 schedules costs that the menu does without.
void OneSchedule(benchmark::State& state) {
  const Scene scene(1000);
  for (auto _ : state)
    benchmark::DoNotOptimize(scene.scheduler->completions(scene.load, scene.jobs));
}
BENCHMARK(OneSchedule)->Unit(benchmark::kMillisecond);

void Prices(benchmark::State& state) {
  const WeightMatrix weights = sigmoid_weights(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(price_contracts(weights));
}
BENCHMARK(Prices)->Arg(100)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond);

void AssignmentAlone(benchmark::State& state) {
  const WeightMatrix weights = sigmoid_weights(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(maximum_weight_assignment(weights));
}
BENCHMARK(AssignmentAlone)->Arg(100)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond);

/// Eq. (1) by its definition: a matching for each row taken away.
void PricesByDefinition(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const WeightMatrix weights = sigmoid_weights(size);
  for (auto _ : state) {
    for (std::size_t gone = 0; gone < size; ++gone) {
      WeightMatrix others = weights;
      for (double& weight : others.row(gone)) weight = 0;
      benchmark::DoNotOptimize(maximum_weight_assignment(others).total);
    }
  }
}
BENCHMARK(PricesByDefinition)->Arg(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace market
