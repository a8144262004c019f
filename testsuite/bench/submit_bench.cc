// SPDX-License-Identifier: GPL-2.0-or-later
// What a submission costs slurmctld under its locks with 4,000 nodes of 64 cores, a week's horizon and ERA's prices, in CPU
// time: with so many bids in the plan (10^3, 10^4, 10^5) of which each asks for few cores, or so many that the week is half
// sold or fully sold. "worst": of the submissions of one run.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "loaded_market.h"
#include "ratio.h"

namespace market {
namespace {

constexpr std::uint32_t kSubmissions = 1000;
constexpr double kCoreHours = 4000.0 * 64 * 168;  // of the week

// Arguments: bids in the plan, and how much of the week they are to ask for together, in percent; 0: 16 cores each for
// four and a half hours in the mean.
void BM_Submit(benchmark::State& state) {
  bench::Load load{
      .pending = static_cast<std::uint32_t>(state.range(0)), .nodes = 4000, .users = 200};
  if (state.range(1) > 0) {
    load.most_cpus = 127;  // 64 in the mean
    const double hours =
        kCoreHours * static_cast<double>(state.range(1)) / 100 / (64.0 * load.pending);
    load.most_minutes = static_cast<std::uint32_t>(std::clamp(2 * (hours * 60 - 30), 1.0, 5000.0));
  }
  bench::Loaded loaded(load);
  double worst = 0;
  std::uint32_t refused = 0;
  for (auto _ : state) {
    const double begin = bench::cpu_seconds();
    refused += loaded.try_submit().verdict == MARKET_REJECTED ? 1 : 0;
    worst = std::max(worst, bench::cpu_seconds() - begin);
  }
  state.counters["worst_ms"] = worst * 1e3;
  state.counters["refused"] = refused;
  state.counters["bids"] = loaded.accepted;
}
BENCHMARK(BM_Submit)
    ->ArgsProduct({{1000, 10'000, 100'000}, {0, 50, 100}})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kSubmissions);

}  // namespace
}  // namespace market
