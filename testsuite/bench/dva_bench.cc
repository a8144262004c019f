// SPDX-License-Identifier: GPL-2.0-or-later
// Double-sided Vickrey auction on the paper's settings (Tables 1 and 2), against a scan of all
// nodes.
#include <benchmark/benchmark.h>

#include "core/mechanism/double_vickrey.h"
#include "core/util/seeded_random.h"
#include "testsuite/bench/ratio.h"

namespace market {
namespace {

constexpr double kDemand[5][2] = {{1, 25.6}, {20, 80}, {0.2, 10}, {20, 240}, {512, 4096}};

double unit_price(std::size_t k, double ratio, SeededRandom* random) {
  return random->uniform(1, 10) / (ratio * (kDemand[k][0] + kDemand[k][1]) / 2);
}

std::vector<AuctionNode> paper_nodes(std::size_t count, double ratio, SeededRandom* random) {
  constexpr double kProcessors[] = {1, 2, 4, 8}, kRates[] = {1, 2, 2.4, 3.2},
                   kDisks[] = {20, 60, 120, 240};
  std::vector<AuctionNode> nodes(count);
  for (AuctionNode& node : nodes) {
    node.available = {kProcessors[random->below(4)] * kRates[random->below(4)],
                      20.0 * static_cast<double>(1 + random->below(4)), random->uniform(0.2, 10),
                      kDisks[random->below(4)], static_cast<double>(512U << random->below(4))};
    for (std::size_t k = 0; k < 5; ++k) node.prices.push_back(unit_price(k, ratio, random));
  }
  return nodes;
}

std::vector<AuctionTask> paper_tasks(std::size_t count, double ratio, SeededRandom* random) {
  std::vector<AuctionTask> tasks(count);
  for (AuctionTask& task : tasks) {
    for (std::size_t k = 0; k < 5; ++k) {
      const double amount = random->uniform(ratio * kDemand[k][0], ratio * kDemand[k][1]);
      task.demand.push_back(amount);
      task.workload.push_back(k < 3 ? amount * random->uniform(200, 1800) : 0);
      task.budget += unit_price(k, ratio, random) * amount;
    }
    task.budget *= random->uniform(1, 1.4);
  }
  return tasks;
}

void Lovra5(benchmark::State& state) {
  SeededRandom random(1);
  const auto nodes = paper_nodes(1000, 0.25, &random);
  const auto tasks = paper_tasks(1000, 0.25, &random);
  std::vector<double> shares(5);
  LovraShares result;
  std::size_t i = 0;
  for (auto _ : state) {
    const AuctionTask& task = tasks[i % 1000];
    const AuctionNode& node = nodes[(i++ * 7) % 1000];
    benchmark::DoNotOptimize(lovra(
        {task.budget, task.workload, task.demand, node.prices, node.available}, shares, &result));
  }
}
BENCHMARK(Lovra5);

/// LOVRA on every node for every task.
void scan(const std::vector<AuctionTask>& tasks, const std::vector<AuctionNode>& nodes) {
  std::vector<double> shares(5);
  LovraShares result;
  for (const AuctionTask& task : tasks) {
    for (const AuctionNode& node : nodes) {
      benchmark::DoNotOptimize(lovra(
          {task.budget, task.workload, task.demand, node.prices, node.available}, shares, &result));
    }
  }
}

void Pass(benchmark::State& state) {
  const double ratio = static_cast<double>(state.range(2)) / 100;
  SeededRandom random(1);
  const auto nodes = paper_nodes(static_cast<std::size_t>(state.range(1)), ratio, &random);
  const auto tasks = paper_tasks(static_cast<std::size_t>(state.range(0)), ratio, &random);
  double seconds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    NodeIndex index(nodes);
    state.ResumeTiming();
    seconds = bench::best_of(
        1, [&] { run_auction(tasks, {}, Listing::kNeeded, &index, [](const TaskResult&) {}); });
  }
  const std::vector<AuctionTask> few(tasks.begin(), tasks.begin() + 50);
  state.counters["times_naive"] = bench::best_of(3, [&] { scan(few, nodes); }) *
                                  static_cast<double>(tasks.size() / few.size()) / seconds;
}
BENCHMARK(Pass)
    ->Args({1000, 10000, 25})
    ->Args({10000, 100000, 25})
    ->Args({10000, 100000, 50})
    ->Args({10000, 100000, 83})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

/// Tasks, nodes, kinds of nodes: what ties must not make dear.
void Alike(benchmark::State& state) {
  SeededRandom random(1);
  const auto kinds = paper_nodes(static_cast<std::size_t>(state.range(2)), 0.5, &random);
  const auto tasks = paper_tasks(static_cast<std::size_t>(state.range(0)), 0.5, &random);
  std::vector<AuctionNode> nodes(static_cast<std::size_t>(state.range(1)));
  for (AuctionNode& node : nodes) node = kinds[random.below(kinds.size())];
  for (auto _ : state) {
    state.PauseTiming();
    NodeIndex index(nodes);
    state.ResumeTiming();
    run_auction(tasks, {}, Listing::kNeeded, &index, [](const TaskResult&) {});
  }
}
BENCHMARK(Alike)
    ->Args({1000, 10000, 8})
    ->Args({10000, 100000, 1})
    ->Args({10000, 100000, 8})
    ->Args({10000, 100000, 256})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void BuildIndex(benchmark::State& state) {
  SeededRandom random(1);
  const auto nodes = paper_nodes(100000, 0.5, &random);
  for (auto _ : state) benchmark::DoNotOptimize(NodeIndex(nodes));
}
BENCHMARK(BuildIndex)->Unit(benchmark::kMillisecond)->Iterations(1);

void ScanPerTask(benchmark::State& state) {
  SeededRandom random(1);
  const auto nodes = paper_nodes(100000, 0.5, &random);
  for (auto _ : state) scan(paper_tasks(1, 0.5, &random), nodes);
}
BENCHMARK(ScanPerTask)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace market
