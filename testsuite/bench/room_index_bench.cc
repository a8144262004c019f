// SPDX-License-Identifier: GPL-2.0-or-later
// RoomIndex against a scan of the nodes in the order of what they ask: both find the first node with
// room for each job and take it, from an empty cluster until little is left.
#include <benchmark/benchmark.h>

#include <numeric>

#include "core/mechanism/room_index.h"
#include "core/util/seeded_random.h"
#include "testsuite/bench/ratio.h"

namespace market {
namespace {

constexpr std::size_t kGoods = 2;
constexpr double kCores = 64, kMemoryGb = 256;

struct World {
  std::size_t places;
  std::vector<double> free;
  std::vector<std::vector<double>> demands;
};

/// Jobs of 1 to 64 cores and 1 to 256 GB, four for each node: they want 1.3 times the cores there are.
World world_of(std::size_t places) {
  SeededRandom random(7);
  World world{places, {}, {}};
  for (std::size_t place = 0; place < places; ++place)
    world.free.insert(world.free.end(), {kCores, kMemoryGb});
  for (std::size_t job = 0; job < 4 * places; ++job) {
    const double part = random.uniform(0, 1);
    world.demands.push_back({1 + std::floor(part * part * (kCores - 1)),
                             1 + std::floor(random.uniform(0, 1) * part * (kMemoryGb - 1))});
  }
  return world;
}

std::size_t with_index(const World& world) {
  RoomIndex index(world.free, world.places, kGoods);
  std::size_t placed = 0;
  for (const std::vector<double>& demand : world.demands) {
    const auto found = index.first(demand, world.places, 1, 1);
    if (found.empty()) continue;
    index.take(found.front(), demand);
    ++placed;
  }
  return placed;
}

std::size_t with_scan(const World& world) {
  std::vector<double> free = world.free;
  std::size_t placed = 0;
  for (const std::vector<double>& demand : world.demands) {
    for (std::size_t place = 0; place < world.places; ++place) {
      double* room = &free[place * kGoods];
      if (room[0] < demand[0] || room[1] < demand[1]) continue;
      for (std::size_t good = 0; good < kGoods; ++good) room[good] -= demand[good];
      ++placed;
      break;
    }
  }
  return placed;
}

void FirstWithRoom(benchmark::State& state) {
  const World world = world_of(static_cast<std::size_t>(state.range(0)));
  std::size_t indexed = 0, scanned = 0;
  double seconds = 0;
  for (auto _ : state) seconds = bench::best_of(1, [&] { indexed = with_index(world); });
  const double scan_seconds = bench::best_of(1, [&] { scanned = with_scan(world); });
  if (indexed != scanned) state.SkipWithError("the two place different numbers of jobs");
  const auto jobs = static_cast<double>(world.demands.size());
  state.counters["us_a_job"] = seconds / jobs * 1e6;
  state.counters["us_a_job_scan"] = scan_seconds / jobs * 1e6;
  state.counters["times_scan"] = scan_seconds / seconds;
}
BENCHMARK(FirstWithRoom)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace market
