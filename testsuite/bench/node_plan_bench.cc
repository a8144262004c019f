// SPDX-License-Identifier: GPL-2.0-or-later
// Placing a job on 1,000 nodes of which 10^5 bookings of up to twelve hours take nearly all, beside the same search without bounds, which looks at the bookings of
// every node ("times_naive").
#include <benchmark/benchmark.h>

#include <random>

#include "core/plan/node_plan.h"
#include "ratio.h"

namespace market {
namespace {

constexpr Time kWeek = 7 * 86400;

NodePlan empty_plan() {
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
  return plan;
}

// Each where there is room for it, as a market sells them; booked in `plain` too.
NodePlan booked_plan(NodePlan& plain) {
  NodePlan plan = empty_plan();
  plan.forget_before(0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    Shape shape;
    shape.cpus = 1 + static_cast<std::uint32_t>(random() % 32);
    shape.mem_per_cpu_mb = 2048;
    const auto start = static_cast<Time>(random() % kWeek);
    const Time end = start + 3600 * (1 + static_cast<Time>(random() % 12));
    const auto placement = plan.place(shape, "batch", start, end);
    if (!placement) continue;
    plan.book(std::to_string(i), *placement, start, end);
    plain.book(std::to_string(i), *placement, start, end);
  }
  return plan;
}

// Argument: CPUs, with 2 GB each.
void place(benchmark::State& state) {
  static NodePlan plain = empty_plan();
  static const NodePlan plan = booked_plan(plain);
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
  const auto all_week = [&shape](const NodePlan& on) {
    for (Time at = 0; at < kWeek; at += 7200)
      benchmark::DoNotOptimize(on.place(shape, "batch", at, at + 7200));
  };
  bench::report_ratio(
      state, [&] { all_week(plan); }, [&] { all_week(plain); });
}
BENCHMARK(place)->Arg(16)->Arg(1024)->Arg(64'000)->Unit(benchmark::kMicrosecond);

void book_and_cancel(benchmark::State& state) {
  NodePlan plain = empty_plan();
  NodePlan plan = booked_plan(plain);
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
