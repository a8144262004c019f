// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade costs slurmctld under its locks: a pass over 1,000 (100,000) accepted jobs and 200 running
// ones on 100 nodes of 64 cores (4,000 for the larger number), submissions into that plan over a week's horizon, ends of runs, an
// array of 1,000 tasks. Prices are ERA's; one submission joins a Vickrey auction on 10,000 nodes.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "loaded_market.h"
#include "ratio.h"

namespace market {
namespace {

using bench::kMostUnseen;
using bench::kNow;
using bench::Load;
using bench::Loaded;

Load load_of(const benchmark::State& state) {
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  const bool is_large = pending > 1000;
  return {.pending = pending,
          .nodes = is_large ? 4000U : 100U,
          .most_cpus = is_large ? 16U : 32U,
          .most_minutes = is_large ? 120U : 480U,
          .users = is_large ? 200U : 1U};
}

// How many bids are in the plan, and of how many jobs the last pass was told.
void count_records(benchmark::State& state, const Loaded& loaded) {
  state.counters["bids"] = loaded.accepted;
  state.counters["told"] = static_cast<double>(loaded.told());
}

void BM_PassSteady(benchmark::State& state) {
  Loaded loaded(load_of(state));
  const auto seen = loaded.records();
  auto marks = loaded.marks_of(seen);
  for (auto _ : state) benchmark::DoNotOptimize(loaded.pass(seen, marks).size());
  count_records(state, loaded);
}
BENCHMARK(BM_PassSteady)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(2000);
BENCHMARK(BM_PassSteady)->Arg(100'000)->Unit(benchmark::kMicrosecond)->Iterations(200);

// A pass that is told of all jobs, as after a start.
void BM_PassToldOfAll(benchmark::State& state) {
  Loaded loaded(load_of(state));
  const auto seen = loaded.records();
  for (auto _ : state)
    benchmark::DoNotOptimize(
        loaded.market->pass(seen.data(), seen.size(), nullptr, 0, loaded.now).size());
}
BENCHMARK(BM_PassToldOfAll)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(200);
BENCHMARK(BM_PassToldOfAll)->Arg(100'000)->Unit(benchmark::kMicrosecond)->Iterations(20);

// What a market that is started takes over of what it promised before, so many jobs at a time, and its first pass. "slice_ms"
// is the longest of these, and "pass_ms" the pass.
void BM_Restart(benchmark::State& state) {
  constexpr std::size_t kAtOnce = 400;
  Loaded loaded(load_of(state));
  double slice = 0, pass = 0;
  for (auto _ : state) {
    state.PauseTiming();
    loaded.market.reset();
    loaded.open();
    const auto seen = loaded.records();
    auto marks = loaded.marks_of(seen);
    state.ResumeTiming();
    for (std::size_t next = 0; next < seen.size(); next += kAtOnce) {
      const double begin = bench::cpu_seconds();
      loaded.market->take_over(&seen[next], std::min(kAtOnce, seen.size() - next), loaded.now);
      slice = std::max(slice, bench::cpu_seconds() - begin);
    }
    const double begin = bench::cpu_seconds();
    benchmark::DoNotOptimize(loaded.pass(seen, marks).size());
    pass = bench::cpu_seconds() - begin;
  }
  state.counters["slice_ms"] = slice * 1e3;
  state.counters["pass_ms"] = pass * 1e3;
  count_records(state, loaded);
}
BENCHMARK(BM_Restart)
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void BM_PassAtTheMinute(benchmark::State& state) {
  Loaded loaded(load_of(state));
  for (auto _ : state) {
    state.PauseTiming();
    loaded.now += 60;
    const auto seen = loaded.records();
    auto marks = loaded.marks_of(seen);
    state.ResumeTiming();
    benchmark::DoNotOptimize(loaded.pass(seen, marks).size());
  }
  count_records(state, loaded);
}
BENCHMARK(BM_PassAtTheMinute)
    ->Arg(1000)
    ->Arg(100'000)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20);

void BM_PassHundredNew(benchmark::State& state) {
  Loaded loaded(load_of(state));
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 100; ++i) loaded.submit();
    const auto seen = loaded.records();
    auto marks = loaded.marks_of(seen);
    state.ResumeTiming();
    const auto& orders = loaded.pass(seen, marks);
    state.PauseTiming();
    loaded.obey(orders);
    loaded.market->round(loaded.now);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_PassHundredNew)
    ->Arg(1000)
    ->Arg(100'000)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(10);

void BM_Submit(benchmark::State& state) {
  Loaded loaded(Load{.pending = static_cast<std::uint32_t>(state.range(0))});
  for (auto _ : state) benchmark::DoNotOptimize(loaded.submit().verdict);
}
BENCHMARK(BM_Submit)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(kMostUnseen);

void BM_SubmitToAuction(benchmark::State& state) {
  Loaded loaded(Load{
      .pending = static_cast<std::uint32_t>(state.range(0)), .mechanism = "dva", .nodes = 10'000});
  for (auto _ : state) benchmark::DoNotOptimize(loaded.submit().verdict);
}
BENCHMARK(BM_SubmitToAuction)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(kMostUnseen);

void BM_JobEnded(benchmark::State& state) {
  Loaded loaded(Load{.pending = static_cast<std::uint32_t>(state.range(0))});
  std::size_t next = 200;
  for (auto _ : state) {
    market_job_t ended = loaded.record_of(loaded.jobs[next++]);
    ended.state = MARKET_JOB_COMPLETED;
    ended.start = kNow - 60;
    ended.end = kNow;
    benchmark::DoNotOptimize(loaded.market->job_ended(ended, loaded.now));
  }
}
BENCHMARK(BM_JobEnded)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(500);

void BM_SubmitArray(benchmark::State& state) {
  Loaded loaded(Load{.pending = 1000});
  for (auto _ : state)
    benchmark::DoNotOptimize(loaded.submit(static_cast<std::uint32_t>(state.range(0))).verdict);
}
BENCHMARK(BM_SubmitArray)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace market
