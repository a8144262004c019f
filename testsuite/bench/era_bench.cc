// SPDX-License-Identifier: GPL-2.0-or-later
// An ERA quote over 7 days of minute slots on 150,000 cores with 10^5 promises held and four weeks
// of past bids learned, against Algorithm 1 as printed, which prices every unit of every slot.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "core/mechanism/basic_econ.h"
#include "core/mechanism/mechanism.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;
constexpr Time kWeek = 7 * 86400;
constexpr int kCores = 150'000;

Request request_for(Time earliest, Time deadline, Time duration, std::int64_t cpus, bool memory) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  if (memory) request.demand.tres["mem"] = cpus * 4096;
  request.earliest = earliest;
  request.deadline = deadline;
  request.duration = duration;
  return request;
}

std::vector<PastBid> past_bids(int count) {
  std::mt19937_64 random(1);
  std::vector<PastBid> bids;
  for (int i = 0; i < count; ++i) {
    PastBid bid;
    bid.submitted = kNow - 4 * kWeek + static_cast<Time>(random() % (4 * kWeek));
    bid.earliest = bid.submitted;
    bid.duration = 600 + static_cast<Time>(random() % 86400);
    bid.deadline = bid.earliest + bid.duration + static_cast<Time>(random() % 86400);
    bid.tres = {{"cpu", 1 + static_cast<std::int64_t>(random() % 256)}};
    bid.tres["mem"] = bid.tres["cpu"] * 4096;
    const double hours = static_cast<double>(bid.tres["cpu"] * bid.duration) / 3600;
    bid.value = hours * (0.05 + static_cast<double>(random() % 1000) / 800);
    bids.push_back(bid);
  }
  return bids;
}

Config config_with(bool memory, const char* predictor = "spread") {
  Config config;
  config.predictor = predictor;
  config.mechanism = "era";
  if (memory) config.weights = {{"cpu", 1}, {"mem", 0.25}};
  return config;
}

std::unique_ptr<PostedPrice> busy_market(bool memory, int promises) {
  auto era = make_posted_price(config_with(memory)).value();
  Tres total = {{"cpu", kCores}};
  if (memory) total["mem"] = std::int64_t{kCores} * 4096;
  era->update({total, {}}, kNow);
  era->learn(past_bids(100'000), kNow);
  std::mt19937_64 random(2);
  for (int i = 0; i < promises; ++i) {
    const Time duration = 60 * (1 + static_cast<Time>(random() % 600));
    const Time start =
        kNow +
        60 * static_cast<Time>(random() % (static_cast<std::uint64_t>(kWeek - duration) / 60));
    era->promise(request_for(start, start + duration, duration,
                             1 + static_cast<std::int64_t>(random() % 64), memory),
                 start);
  }
  return era;
}

// Arguments: CPUs asked for, seconds past the minute, whether memory is priced too.
void quote(benchmark::State& state) {
  const bool memory = state.range(2) != 0;
  const auto era = busy_market(memory, 100'000);
  const Time now = kNow + state.range(1);
  const Request request = request_for(now, kNow + kWeek, 3 * 3600, state.range(0), memory);
  for (auto _ : state) {
    const PriceList list = era->prices(request, now);
    benchmark::DoNotOptimize(*std::min_element(list.credits.begin(), list.credits.end()));
  }
  state.counters["starts"] = static_cast<double>(era->prices(request, now).credits.size());
}
BENCHMARK(quote)
    ->Args({1, 0, 0})
    ->Args({64, 0, 0})
    ->Args({10'000, 0, 0})
    ->Args({64, 17, 0})
    ->Args({64, 0, 1})
    ->Unit(benchmark::kMicrosecond);

void promise_and_release(benchmark::State& state) {
  const auto era = busy_market(false, 100'000);
  const Request request = request_for(kNow, kNow + kWeek, 3 * 3600, 64, false);
  for (auto _ : state) {
    era->promise(request, kNow + 86400);
    era->release(request, kNow + 86400, kNow + 86400);
  }
}
BENCHMARK(promise_and_release)->Unit(benchmark::kMicrosecond);

// Argument: running jobs outside the market.
void update(benchmark::State& state) {
  const auto era = busy_market(false, 100'000);
  Capacity capacity{{{"cpu", kCores}}, {}};
  for (int i = 0; i < state.range(0); ++i)
    capacity.busy.push_back({{{"cpu", 4}}, kNow + 60 * (i % 2000)});
  Time now = kNow;
  for (auto _ : state) {
    capacity.busy.pop_back();
    era->update(capacity, ++now);
    capacity.busy.push_back({{{"cpu", 4}}, now + 3600});
  }
}
BENCHMARK(update)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void learn(benchmark::State& state) {
  const auto era = busy_market(false, 0);
  const auto bids = past_bids(static_cast<int>(state.range(0)));
  for (auto _ : state) era->learn(bids, kNow);
}
BENCHMARK(learn)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Arguments: past bids, whether memory is priced too.
void learn_by_linear_program(benchmark::State& state) {
  const auto era = make_posted_price(config_with(state.range(1) != 0, "lp")).value();
  Tres total = {{"cpu", kCores}, {"mem", std::int64_t{kCores} * 4096}};
  if (state.range(1) == 0) total.erase("mem");
  // With 100,000 bids half as much again is wanted as there is.
  era->update({total, {}}, kNow);
  const auto bids = past_bids(static_cast<int>(state.range(0)));
  for (auto _ : state) era->learn(bids, kNow);
}
BENCHMARK(learn_by_linear_program)
    ->Args({1'000, 0})
    ->Args({10'000, 0})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// Algorithm 1, lines 4 to 11, as printed: every unit of every slot, every slot of every start.
double literal_quote(const std::vector<DemandCurve>& demand, const std::vector<double>& promised,
                     double capacity, int width, std::size_t duration) {
  std::vector<double> cost(demand.size());
  for (std::size_t t = 0; t < demand.size(); ++t) {
    for (int i = 1; i <= width; ++i) {
      double wanted = 0;
      for (const DemandStep& step : demand[t]) {
        wanted += step.quantity;
        if (wanted + promised[t] + i > capacity) {
          cost[t] += step.price;
          break;
        }
      }
    }
  }
  double cheapest = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t + duration <= cost.size(); ++t) {
    double total = 0;
    for (std::size_t i = t; i < t + duration; ++i) total += cost[i];
    cheapest = std::min(cheapest, total);
  }
  return cheapest;
}

struct Slots {
  std::vector<DemandCurve> demand;
  std::vector<double> promised;
};

Slots random_slots() {
  std::mt19937_64 random(3);
  Slots slots;
  for (int t = 0; t < 10'080; ++t) {
    DemandCurve curve;
    for (int step = 64; step > 0; --step)
      curve.push_back({static_cast<double>(random() % 2000), 0.01 * step});
    slots.demand.push_back(curve);
    slots.promised.push_back(static_cast<double>(random() % 100'000));
  }
  return slots;
}

// Arguments: width. 180 slots long, a curve of 64 steps for every one of 10,080 slots.
void literal_algorithm(benchmark::State& state) {
  const Slots slots = random_slots();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        literal_quote(slots.demand, slots.promised, kCores, static_cast<int>(state.range(0)), 180));
  }
}
BENCHMARK(literal_algorithm)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

void same_by_basic_econ(benchmark::State& state) {
  const Slots slots = random_slots();
  PriceCurves curves;
  for (std::size_t t = 0; t < slots.demand.size(); ++t)
    curves.add(slots.demand[t], kCores, slots.promised[t], {});
  BasicEcon econ(0, 10'080, 1);
  econ.add_good(std::move(curves), 1);
  const BasicEcon::Part parts[] = {{.good = 0, .width = static_cast<double>(state.range(0))}};
  for (auto _ : state) {
    const auto totals =
        econ.totals(parts, {.full = 180}, 10'080 - 180 + 1, BasicEcon::Combine::kSum);
    benchmark::DoNotOptimize(*std::min_element(totals.begin(), totals.end()));
  }
}
BENCHMARK(same_by_basic_econ)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace market
