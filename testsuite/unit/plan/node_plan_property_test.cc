// SPDX-License-Identifier: GPL-2.0-or-later
// NodePlan against a reference that looks at every second, every core and every set of nodes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

#include "core/plan/node_plan.h"

namespace market {
namespace {

struct Booked {
  std::string key;
  Placement placement;
  Time start = 0;
  Time end = 0;
};

struct Instance {
  std::vector<Node> nodes;
  std::vector<Booked> bookings;
  Shape shape;
  Time start = 0;
  Time end = 1;
};

std::uint32_t small(int low, int high) {
  return static_cast<std::uint32_t>(*rc::gen::inRange(low, high));
}

Instance random_instance() {
  Instance instance;
  const std::uint32_t count = small(1, 5);
  for (std::uint32_t i = 0; i < count; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.cores = small(1, 5);
    node.threads_per_core = small(1, 3);
    node.mem_mb = *rc::gen::element(0, 8);
    node.gres["gpu:a"] = small(0, 4);
    node.partitions = {"batch"};
    if (*rc::gen::arbitrary<bool>()) node.features = {"fast"};
    node.usable = *rc::gen::inRange(0, 8) != 0;
    instance.nodes.push_back(node);
  }
  for (std::uint32_t b = small(0, 7); b > 0; --b) {
    Booked booked{"b" + std::to_string(b), {}, static_cast<Time>(small(0, 8)), 0};
    booked.end = booked.start + small(1, 5);
    Seat seat;
    seat.node = small(0, static_cast<int>(count));
    const std::uint64_t cores = small(1, 1 << instance.nodes[seat.node].cores);
    seat.cores = CoreSet::from_words(&cores, 1);
    seat.mem_mb = small(0, 4);
    seat.gres["gpu:a"] = small(0, 2);
    booked.placement = {seat};
    instance.bookings.push_back(booked);
  }
  Shape& shape = instance.shape;
  shape.min_nodes = small(0, 3);
  shape.max_nodes = *rc::gen::element(0, 0, 1, 2, 3);
  shape.cpus = small(1, 14);
  shape.cpus_per_task = small(1, 4);
  shape.tasks_per_node = *rc::gen::element(0, 0, 1, 2);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      shape.mem_per_node_mb = small(1, 6);
      break;
    case 1:
      shape.mem_per_cpu_mb = small(1, 4);
      break;
    case 2:
      shape.gres_per_node["gpu:a"] = small(1, 3);
      break;
    default:
      break;
  }
  if (*rc::gen::inRange(0, 6) == 0) shape.features = {"fast"};
  if (*rc::gen::inRange(0, 6) == 0) shape.req_nodes = {"n0"};
  if (*rc::gen::inRange(0, 6) == 0) shape.exc_nodes = {"n1"};
  shape.exclusive = *rc::gen::inRange(0, 6) == 0;
  instance.start = small(0, 6);
  instance.end = instance.start + small(1, 4);
  return instance;
}

/// What is free of a node in each second, and from that over the window.
struct Free {
  std::uint64_t cores = 0;
  std::int64_t mem = 0;
  std::int64_t gpus = 0;
  bool idle = true;
};

Free free_of(const Instance& instance, std::uint32_t n) {
  const Node& node = instance.nodes[n];
  Free free{(std::uint64_t{1} << node.cores) - 1, static_cast<std::int64_t>(node.mem_mb),
            node.gres.at("gpu:a"), true};
  for (Time second = instance.start; second < instance.end; ++second) {
    auto mem = static_cast<std::int64_t>(node.mem_mb);
    std::int64_t gpus = node.gres.at("gpu:a");
    for (const Booked& booked : instance.bookings) {
      const Seat& seat = booked.placement[0];
      if (seat.node != n || second < booked.start || second >= booked.end) continue;
      free.idle = false;
      free.cores &= ~seat.cores.words()[0];
      mem -= static_cast<std::int64_t>(seat.mem_mb);
      gpus -= seat.gres.at("gpu:a");
    }
    free.mem = std::max<std::int64_t>(0, std::min(free.mem, mem));
    free.gpus = std::max<std::int64_t>(0, std::min(free.gpus, gpus));
  }
  return free;
}

/// CPUs that `tasks` tasks occupy on a node: whole cores.
std::uint32_t cpus_held(const Instance& instance, const Node& node, std::uint32_t tasks) {
  const std::uint32_t cpus = tasks * instance.shape.cpus_per_task;
  return (cpus + node.threads_per_core - 1) / node.threads_per_core * node.threads_per_core;
}

bool node_holds(const Instance& instance, std::uint32_t n, std::uint32_t tasks) {
  const Node& node = instance.nodes[n];
  const Shape& shape = instance.shape;
  const Free free = free_of(instance, n);
  if (!node.usable || (shape.exclusive && !free.idle)) return false;
  if (!shape.features.empty() && !node.features.contains("fast")) return false;
  if (!shape.exc_nodes.empty() && node.name == "n1") return false;
  if (shape.tasks_per_node > 0 && tasks > shape.tasks_per_node) return false;
  const std::uint32_t cpus = cpus_held(instance, node, tasks);
  if (cpus > static_cast<std::uint32_t>(std::popcount(free.cores)) * node.threads_per_core)
    return false;
  if (node.mem_mb > 0) {
    // Slurm counts the memory of each CPU of a node that a job has for itself.
    const std::uint32_t counted = shape.exclusive ? node.cores * node.threads_per_core : cpus;
    const std::uint64_t mem =
        shape.mem_per_cpu_mb > 0 ? shape.mem_per_cpu_mb * counted : shape.mem_per_node_mb;
    if (static_cast<std::int64_t>(mem) > free.mem) return false;
  }
  return shape.gres_per_node.empty() || shape.gres_per_node.at("gpu:a") <= free.gpus;
}

std::uint32_t most_tasks_on(const Instance& instance, std::uint32_t n) {
  std::uint32_t tasks = 0;
  while (node_holds(instance, n, tasks + 1)) ++tasks;
  return tasks;
}

std::uint32_t tasks_of(const Instance& instance) {
  const Shape& shape = instance.shape;
  const std::uint32_t tasks = (shape.cpus + shape.cpus_per_task - 1) / shape.cpus_per_task;
  return std::max({tasks, shape.min_nodes, 1U});
}

/// The least number of nodes over all sets of nodes; 0 when there is none.
std::uint32_t fewest_nodes(const Instance& instance) {
  std::uint32_t best = 0;
  const auto count = static_cast<std::uint32_t>(instance.nodes.size());
  for (std::uint32_t set = 1; set < (1U << count); ++set) {
    const auto size = static_cast<std::uint32_t>(std::popcount(set));
    const Shape& shape = instance.shape;
    if (size < shape.min_nodes || size > tasks_of(instance)) continue;
    if (shape.max_nodes > 0 && size > std::max(shape.max_nodes, shape.min_nodes)) continue;
    if (!shape.req_nodes.empty() && (set & 1) == 0) continue;
    std::uint32_t tasks = 0;
    bool all = true;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (((set >> n) & 1) == 0) continue;
      const std::uint32_t here = most_tasks_on(instance, n);
      all = all && here > 0;
      tasks += here;
    }
    if (all && tasks >= tasks_of(instance) && (best == 0 || size < best)) best = size;
  }
  return best;
}

void check_seats(const Instance& instance, const Placement& placement) {
  std::uint32_t tasks = 0;
  for (const Seat& seat : placement) {
    const Node& node = instance.nodes[seat.node];
    const Free free = free_of(instance, seat.node);
    const std::uint32_t cpus = seat.cores.count() * node.threads_per_core;
    const std::uint32_t here = instance.shape.exclusive ? most_tasks_on(instance, seat.node)
                                                        : cpus / instance.shape.cpus_per_task;
    RC_ASSERT(here >= 1U);
    tasks += here;
    RC_ASSERT((seat.cores.words()[0] & ~free.cores) == 0U);
    RC_ASSERT(static_cast<std::int64_t>(seat.mem_mb) <= free.mem);
    if (instance.shape.exclusive) RC_ASSERT(seat.cores.count() == node.cores);
    if (!instance.shape.gres_per_node.empty()) {
      RC_ASSERT(seat.gres.at("gpu:a") == instance.shape.gres_per_node.at("gpu:a"));
      RC_ASSERT(seat.gres.at("gpu:a") <= free.gpus);
    }
  }
  RC_ASSERT(tasks >= tasks_of(instance));
}

NodePlan plan_of(const Instance& instance) {
  NodePlan plan;
  plan.set_nodes(instance.nodes);
  for (const Booked& booked : instance.bookings)
    plan.book(booked.key, booked.placement, booked.start, booked.end);
  return plan;
}

RC_GTEST_PROP(NodePlan, PlacesExactlyWhatFitsOnTheFewestNodes, ()) {
  const Instance instance = random_instance();
  const auto placement =
      plan_of(instance).place(instance.shape, "batch", instance.start, instance.end);
  const std::uint32_t fewest = fewest_nodes(instance);
  RC_ASSERT(placement.has_value() == (fewest > 0));
  if (!placement) return;
  RC_ASSERT(placement->size() == fewest);
  check_seats(instance, *placement);
}

RC_GTEST_PROP(NodePlan, AnIgnoredBookingCountsAsFree, ()) {
  Instance instance = random_instance();
  RC_PRE(!instance.bookings.empty());
  const NodePlan plan = plan_of(instance);
  const std::string ignored = instance.bookings.back().key;
  instance.bookings.pop_back();
  const auto expected =
      plan_of(instance).place(instance.shape, "batch", instance.start, instance.end);
  const auto placement = plan.place(instance.shape, "batch", instance.start, instance.end, ignored);
  RC_ASSERT(placement.has_value() == expected.has_value());
  if (!placement) return;
  for (std::size_t i = 0; i < expected->size(); ++i)
    RC_ASSERT((*placement)[i].cores == (*expected)[i].cores);
}

// GPUs over the whole job: the seats hold them all, and what fits on all nodes together is found.
RC_GTEST_PROP(NodePlan, GresInTotalIsHeldByTheSeatsTogether, ()) {
  Instance instance = random_instance();
  instance.shape = Shape{};
  instance.shape.cpus = small(1, 12);
  const std::int64_t wanted = small(1, 10);
  instance.shape.gres_total["gpu:a"] = wanted;
  const auto placement =
      plan_of(instance).place(instance.shape, "batch", instance.start, instance.end);
  std::int64_t gpus_free = 0;
  std::uint32_t tasks_free = 0;
  std::uint32_t nodes_free = 0;
  for (std::uint32_t n = 0; n < instance.nodes.size(); ++n) {
    const std::uint32_t here = most_tasks_on(instance, n);
    if (here == 0) continue;
    ++nodes_free;
    tasks_free += here;
    gpus_free += free_of(instance, n).gpus;
  }
  const bool together = gpus_free >= wanted && tasks_free >= instance.shape.cpus;
  if (placement) RC_ASSERT(together);
  if (instance.shape.cpus >= nodes_free) RC_ASSERT(placement.has_value() == together);
  if (!placement) return;
  check_seats(instance, *placement);
  std::int64_t held = 0;
  for (const Seat& seat : *placement) {
    const auto gpus = seat.gres.find("gpu:a");
    if (gpus == seat.gres.end()) continue;
    RC_ASSERT(gpus->second <= free_of(instance, seat.node).gpus);
    held += gpus->second;
  }
  RC_ASSERT(held == wanted);
}

RC_GTEST_PROP(NodePlan, WhatIsPlacedFitsTheEmptyCluster, ()) {
  const Instance instance = random_instance();
  const NodePlan plan = plan_of(instance);
  if (plan.place(instance.shape, "batch", instance.start, instance.end)) {
    RC_ASSERT(plan.fits_empty(instance.shape, "batch"));
  }
}

}  // namespace
}  // namespace market
