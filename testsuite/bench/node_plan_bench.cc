// SPDX-License-Identifier: GPL-2.0-or-later
// Placing a job on 1,000 nodes with 10^5 bookings.
#include <benchmark/benchmark.h>

#include <random>

#include "core/plan/node_plan.h"

namespace market {
namespace {

constexpr Time kWeek = 7 * 86400;

NodePlan booked_plan() {
  std::vector<Node> nodes;
  for (int i = 0; i < 1000; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.cores = 64;
    node.mem_mb = 256 * 1024;
    node.partitions = {"batch"};
    nodes.push_back(node);
  }
  NodePlan plan;
  plan.set_nodes(std::move(nodes));
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    Seat seat;
    seat.node = static_cast<std::uint32_t>(random() % 1000);
    const std::uint64_t cores = std::uint64_t{0xffff} << (random() % 48);
    seat.cores = CoreSet::from_words(&cores, 1);
    seat.mem_mb = 16 * 1024;
    const auto start = static_cast<Time>(random() % kWeek);
    plan.book(std::to_string(i), {seat}, start, start + 3600);
  }
  return plan;
}

// Argument: CPUs, with 2 GB each.
void place(benchmark::State& state) {
  const NodePlan plan = booked_plan();
  Shape shape;
  shape.cpus = static_cast<std::uint32_t>(state.range(0));
  shape.mem_per_cpu_mb = 2048;
  Time start = 0;
  bool placed = true;
  for (auto _ : state) {
    placed = plan.place(shape, "batch", start, start + 7200).has_value() && placed;
    start = (start + 977) % kWeek;
  }
  state.counters["placed"] = placed ? 1 : 0;
}
BENCHMARK(place)->Arg(16)->Arg(1024)->Arg(64'000)->Unit(benchmark::kMicrosecond);

void book_and_cancel(benchmark::State& state) {
  NodePlan plan = booked_plan();
  Seat seat;
  seat.cores = CoreSet::first(16);
  for (auto _ : state) {
    plan.book("x", {seat}, 0, 3600);
    plan.cancel("x");
  }
}
BENCHMARK(book_and_cancel)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace market
