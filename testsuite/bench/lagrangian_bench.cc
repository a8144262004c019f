// SPDX-License-Identifier: GPL-2.0-or-later
// The LP predictor's linear program: price search and exact allocation. Counters are parts of the
// best bound known.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/predict/allocation_lp.h"
#include "core/predict/lagrangian.h"
#include "core/util/seeded_random.h"

namespace market {
namespace {

struct Instance {
  /// Contention 1.5: half as much again is wanted as there is.
  Instance(std::size_t variables, std::size_t slot_count) : slots(slot_count) {
    SeededRandom random(3);
    double demand = 0;
    for (std::size_t made = 0; made < variables;) {
      const std::size_t duration = 1 + random.below(20);
      const std::size_t window = std::min(slots, duration + random.below(100));
      const std::size_t arrival = random.below(slots - window + 1);
      const auto width = static_cast<double>(1 + random.below(16));
      const double price = std::exp(random.normal());
      requests.push_back(
          {arrival, arrival + window, width, width * static_cast<double>(duration), price});
      bundles.push_back(
          {arrival, arrival + window, static_cast<double>(duration), price * width, {width}});
      made += window;
      demand += width * static_cast<double>(duration);
    }
    capacity = {demand / static_cast<double>(slots) / 1.5};
  }
  std::size_t slots;
  std::vector<SlotRequest> requests;
  std::vector<BundleRequest> bundles;
  std::vector<double> capacity;
};

void PriceSearch(benchmark::State& state) {
  const Instance instance(static_cast<std::size_t>(state.range(0)),
                          static_cast<std::size_t>(state.range(1)));
  PriceForecast forecast;
  for (auto _ : state) {
    forecast = search_prices(instance.bundles, instance.slots, instance.capacity,
                             {static_cast<int>(state.range(2)), 1e-3});
  }
  state.counters["rounds"] = forecast.rounds;
  state.counters["gap"] = 1 - forecast.objective / forecast.bound;
}
BENCHMARK(PriceSearch)
    ->Args({100000, 100, 80})
    ->Args({1000000, 100, 80})
    ->Args({1000000, 1000, 80})
    ->Args({1000000, 10000, 80})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void Exact(benchmark::State& state) {
  const Instance instance(static_cast<std::size_t>(state.range(0)),
                          static_cast<std::size_t>(state.range(1)));
  const std::vector<double> capacity(instance.slots, instance.capacity[0]);
  double objective = 0;
  for (auto _ : state)
    objective = best_allocation(instance.requests, capacity).objective(instance.requests);
  const PriceForecast forecast =
      search_prices(instance.bundles, instance.slots, instance.capacity, {80, 1e-3});
  state.counters["search_below"] = 1 - forecast.objective / objective;
  state.counters["bound_above"] = forecast.bound / objective - 1;
}
BENCHMARK(Exact)
    ->Args({20000, 200})
    ->Args({100000, 100})
    ->Args({1000000, 100})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace market
