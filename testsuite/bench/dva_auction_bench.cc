// SPDX-License-Identifier: GPL-2.0-or-later
// The double-sided Vickrey auction as slurmctld holds it; the goal is 5 ms for 1,000 live bids on
// 10^4 nodes.
#include <benchmark/benchmark.h>

#include "testsuite/bench/ratio.h"
#include "testsuite/unit/mechanism/dva_plain.h"

namespace market {
namespace {

void measure(benchmark::State& state, const DvaWorld& world) {
  DvaAuction auction(world.config);
  std::size_t awarded = 0;
  const auto pass = [&] {
    awarded = 0;
    for (const Standing& standing : auction.auction(world.live, world.nodes, 0)) {
      awarded += standing.nodes.empty() ? 0 : 1;
    }
  };
  for (auto _ : state) pass();
  state.counters["awarded"] = static_cast<double>(awarded);
  bench::report_ratio(state, pass,
                      [&] { benchmark::DoNotOptimize(PlainDva(world).auction().data()); });
}

/// Bids, nodes, percentage of nodes that are taken, most of them whole.
void Cluster(benchmark::State& state) {
  SeededRandom random(1);
  measure(state, random_dva_world(static_cast<std::size_t>(state.range(0)),
                                  static_cast<std::size_t>(state.range(1)),
                                  static_cast<double>(state.range(2)) / 100, &random));
}
BENCHMARK(Cluster)
    ->Args({100, 1000, 50})
    ->Args({1000, 10000, 0})
    ->Args({1000, 10000, 50})
    ->Args({1000, 10000, 100})
    ->Unit(benchmark::kMillisecond);

/// What an index over the most that is free sees worst: where CPUs are free there is no GPU, and
/// each bid wants both. Those that want no less than one refused before are refused at once.
void Mixed(benchmark::State& state) {
  DvaWorld world;
  world.config.floor_price = 0.01;
  world.config.weights = {{"cpu", 1}, {"mem", 0.25}, {"gres/gpu", 20}};
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    const bool gpus = i % 2 == 0;
    const Tres free = {{"cpu", gpus ? 0 : 64}, {"mem", 262144}, {"gres/gpu", gpus ? 4 : 0}};
    world.nodes.push_back({"n", {{"cpu", 64}, {"mem", 262144}, {"gres/gpu", 4}}, free, {}});
  }
  SeededRandom random(1);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    world.add_bid(random.uniform(100, 1000), 3600,
                  {{"cpu", 1 + i % 64}, {"mem", 1024 + i}, {"gres/gpu", 1}});
  }
  measure(state, world);
}
BENCHMARK(Mixed)->Args({100, 1000})->Args({1000, 10000})->Unit(benchmark::kMillisecond);

/// Each bid wants a tenth of the nodes.
void Large(benchmark::State& state) {
  DvaWorld world;
  world.config.floor_price = 0.01;
  const std::int64_t nodes = state.range(1), parts = nodes / 10;
  for (std::int64_t i = 0; i < nodes; ++i) {
    world.nodes.push_back({"n", {{"cpu", 64}}, {{"cpu", 64}}, {}});
  }
  SeededRandom random(1);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    world.add_bid(random.uniform(2000, 20000), 3600, {{"cpu", parts * (8 + random.below(56))}},
                  static_cast<std::uint32_t>(parts));
  }
  measure(state, world);
}
BENCHMARK(Large)->Args({100, 1000})->Args({1000, 10000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace market
