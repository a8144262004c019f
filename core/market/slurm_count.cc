// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/slurm_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/market/slurm_rules.h"
#include "core/plan/whole_nodes.h"

namespace market {
namespace {

constexpr std::uint64_t kMostCpus = std::numeric_limits<std::int32_t>::max();

/// What is the same on all nodes of a kind.
struct NodeKind {
  std::uint64_t threads_per_core = 1;
  std::uint64_t most_gpus = 0;  ///< of a node
};

/// Counts one request on nodes of one kind.
class Counter {
 public:
  Counter(const SlurmRequest& request, const market_partition_rules_t& rules, const Demand& asked,
          const NodeKind& kind, bool nodes_cost)
      : request_(request),
        size_(request.size),
        rules_(rules),
        asked_(asked),
        threads_(kind.threads_per_core),
        most_gpus_(kind.most_gpus) {
    cpus_per_task_ = at_least_one(size_.cpus_per_task);
    tasks_per_core_ = size_.tasks_per_core;
    if (tasks_per_core_ == 0 && rules.one_task_per_core) tasks_per_core_ = 1;
    used_threads_ = threads_;
    if (tasks_per_core_ > 0)
      used_threads_ = std::min(used_threads_, tasks_per_core_ * cpus_per_task_);
    if (size_.threads_per_core > 0)
      used_threads_ = std::min<std::uint64_t>(used_threads_, size_.threads_per_core);
    pinned_ = nodes_cost || size_.mem_per_node_mb > 0 || size_.all_memory ||
              asked.shape.exclusive || !asked.shape.gres_per_node.empty();
  }

  /// Each node gets the CPUs of one task at least.
  std::uint64_t tasks_on(std::uint64_t nodes) const {
    return std::max<std::uint64_t>(size_.tasks, nodes);
  }

  /// CPUs that `tasks` and `gpus` use on one node, before cores are made whole.
  std::uint64_t used_cpus(std::uint64_t tasks, std::uint64_t gpus) const {
    std::uint64_t used = tasks * cpus_per_task_;
    if (request_.least_cpus > used) {
      used = request_.least_cpus;
      // Slurm gives out whole tasks of the job, also of those it adds to reach the least.
      if (size_.tasks_per_node == 0) used = used / cpus_per_task_ * cpus_per_task_;
    }
    return std::max(used, gpus * request_.cpus_per_gpu);
  }

  std::uint64_t cores_for(std::uint64_t tasks, std::uint64_t gpus) const {
    const std::uint64_t used = used_cpus(tasks, gpus);
    if (tasks_per_core_ == 1 && cpus_per_task_ > used_threads_) {
      return std::max(tasks * divide_up(cpus_per_task_, used_threads_),
                      divide_up(gpus * request_.cpus_per_gpu, used_threads_));
    }
    return divide_up(used, used_threads_);
  }

  /// All on one node.
  Demand on_one_node() const {
    const std::uint64_t gpus =
        std::max(total_of(request_.gpus_per_job), total_of(request_.gpus_per_node));
    const std::uint64_t tasks = tasks_on(1);
    return made(1, 1, cores_for(tasks, gpus), used_cpus(tasks, gpus), 1, 0);
  }

  /// The same on each of `nodes` nodes; nothing when that is not sure.
  std::optional<Demand> on_even_nodes(std::uint64_t nodes) const {
    const std::uint64_t tasks = tasks_on(nodes);
    const bool filled = size_.tasks_per_node > 0 || tasks == nodes;
    const bool least_covers = tasks >= nodes && request_.least_cpus > 0 && cpus_per_task_ == 1 &&
                              tasks <= nodes * request_.least_cpus;
    if (!(filled || least_covers)) return std::nullopt;
    if (request_.cpus_per_gpu > 0 && !request_.gpus_per_job.empty()) return std::nullopt;
    if (request_.raised && tasks != nodes) return std::nullopt;
    const std::uint64_t gpus = total_of(request_.gpus_per_node);
    const std::uint64_t each = filled ? tasks / nodes : 1;
    // Tasks are added for the CPUs of all nodes together, and fall on any of them.
    const bool adds_tasks = request_.least_cpus > each * cpus_per_task_;
    if (adds_tasks && request_.least_cpus % cpus_per_task_ != 0) return std::nullopt;
    const std::uint64_t used = used_cpus(each, gpus);
    const bool by_gpus_or_least = used > each * cpus_per_task_;
    // Slurm counts threads where it should count cores then.
    if (by_gpus_or_least && (used_threads_ != threads_ || used % threads_ != 0))
      return std::nullopt;
    const std::uint64_t cores = cores_for(each, gpus);
    return made(nodes, nodes, cores * nodes, used * nodes, cores, 1);
  }

  /// On as many nodes as there is room; nothing when the CPUs would depend on which.
  std::optional<Demand> spread() const {
    if (request_.least_cpus > 0 || request_.cpus_per_gpu > 0 || size_.tasks_per_node > 0)
      return std::nullopt;
    const std::uint64_t nodes = at_least_one(size_.min_nodes);
    const std::uint64_t tasks = tasks_on(nodes);
    if (request_.raised && tasks != nodes) return std::nullopt;
    std::uint64_t unit = 1;  // cores
    std::uint64_t cores = 0;
    if (tasks_per_core_ == 1 && cpus_per_task_ > used_threads_) {
      unit = divide_up(cpus_per_task_, used_threads_);
      cores = tasks * unit;
    } else if (cpus_per_task_ % used_threads_ == 0) {
      unit = cpus_per_task_ / used_threads_;
      cores = tasks * unit;
    } else if (used_threads_ % cpus_per_task_ == 0) {
      cores = std::max(nodes, divide_up(tasks * cpus_per_task_, used_threads_));
    } else {
      return std::nullopt;
    }
    return made(nodes, size_.max_nodes, cores, tasks * cpus_per_task_, unit, 0);
  }

  /// For whole nodes, where only the number of nodes matters.
  Demand roughly() const {
    const std::uint64_t nodes = at_least_one(size_.min_nodes);
    const std::uint64_t unit = divide_up(cpus_per_task_, used_threads_);
    return made(nodes, size_.max_nodes, tasks_on(nodes) * unit, tasks_on(nodes) * cpus_per_task_,
                unit, size_.tasks_per_node);
  }

  bool pinned() const { return pinned_; }

  /// MB; 0 where it goes by CPUs or by GPUs that may lie anywhere.
  std::uint64_t memory_per_node() const {
    if (request_.mem_per_gpu_mb > 0)
      return total_of(request_.gpus_per_node) * request_.mem_per_gpu_mb;
    return size_.mem_per_node_mb;
  }

 private:
  Demand made(std::uint64_t least_nodes, std::uint64_t most_nodes, std::uint64_t cores,
              std::uint64_t used, std::uint64_t unit_cores, std::uint64_t units_per_node) const {
    const bool by_cpu = rules_.unit == MARKET_UNIT_CPU;
    Demand demand = asked_;
    Shape& shape = demand.shape;
    shape.min_nodes = static_cast<std::uint32_t>(least_nodes);
    shape.max_nodes = static_cast<std::uint32_t>(most_nodes);
    shape.cpus = static_cast<std::uint32_t>(std::min(cores * threads_, kMostCpus));
    shape.cpus_per_task = static_cast<std::uint32_t>(std::min(unit_cores * threads_, kMostCpus));
    shape.tasks_per_node = static_cast<std::uint32_t>(units_per_node);
    const auto cpus =
        static_cast<std::int64_t>(std::min(by_cpu ? used : cores * threads_, kMostCpus));
    demand.tres["cpu"] = std::max<std::int64_t>(cpus, shape.min_nodes);
    set_memory(demand, static_cast<std::uint64_t>(cpus));
    return demand;
  }

  // Of a core of which the job may use some threads only, the memory is theirs alone.
  void set_memory(Demand& demand, std::uint64_t cpus) const {
    Shape& shape = demand.shape;
    std::uint64_t memory = size_.mem_per_node_mb * shape.min_nodes;
    if (request_.mem_per_gpu_mb > 0) {
      const std::uint64_t all = total_gpus(demand);
      memory = request_.mem_per_gpu_mb * all;
      const std::uint64_t per_node = total_of(request_.gpus_per_node);
      shape.mem_per_node_mb =
          (per_node > 0 ? per_node : std::min(all, most_gpus_)) * request_.mem_per_gpu_mb;
    } else if (size_.mem_per_cpu_mb > 0) {
      const std::uint64_t counted = size_.threads_per_core > 0 && rules_.unit != MARKET_UNIT_CPU
                                        ? std::min<std::uint64_t>(threads_, size_.threads_per_core)
                                        : threads_;
      memory = cpus * counted / threads_ * size_.mem_per_cpu_mb;
      shape.mem_per_cpu_mb = divide_up(size_.mem_per_cpu_mb * counted, threads_);
    }
    demand.tres.erase("mem");
    if (memory > 0) demand.tres["mem"] = static_cast<std::int64_t>(memory);
  }

  static std::uint64_t total_gpus(const Demand& demand) {
    std::uint64_t gpus = 0;
    for (const auto& [name, count] : demand.tres) {
      if (name.starts_with("gres/") && is_gpu(name.substr(5)))
        gpus += static_cast<std::uint64_t>(count);
    }
    return gpus;
  }

  const SlurmRequest& request_;
  const SizeOptions& size_;
  const market_partition_rules_t& rules_;
  const Demand& asked_;
  std::uint64_t threads_, most_gpus_;
  std::uint64_t cpus_per_task_ = 1, tasks_per_core_ = 0;
  std::uint64_t used_threads_ = 1;  ///< of a core
  bool pinned_ = false;             ///< what is paid depends on the number of nodes
};

/// Of what the job takes on each kind of nodes: the fewest CPUs of the kinds it fits on, on any
/// kind when that is the same.
Result<Demand> cheapest(std::vector<Result<Demand>> counted, const std::string& partition,
                        const NodePlan& plan) {
  if (counted.size() == 1) return std::move(counted.front());
  const auto cpus = [](const Result<Demand>& demand) { return demand->tres.at("cpu"); };
  std::vector<Result<Demand>> fitting;
  for (auto& demand : counted) {
    if (demand && plan.fits_empty(demand->shape, partition)) fitting.push_back(std::move(demand));
  }
  if (fitting.empty()) return std::move(counted.front());
  const auto by_cpus = [&](const auto& a, const auto& b) { return cpus(a) < cpus(b); };
  const auto [least, most] = std::minmax_element(fitting.begin(), fitting.end(), by_cpus);
  const bool same = fitting.size() == counted.size() && cpus(*least) == cpus(*most);
  if (same) (*least)->shape.threads_per_core = 0;
  return std::move(*least);
}

/// Demand for `nodes` nodes, no more and no less, each with `memory_mb` (0: it goes by something
/// else).
void pin(Demand& demand, std::uint32_t nodes, std::uint64_t memory_mb) {
  Shape& shape = demand.shape;
  if (memory_mb > 0) demand.tres["mem"] = static_cast<std::int64_t>(memory_mb * nodes);
  for (const auto& [name, count] : shape.gres_per_node) {
    auto& total = demand.tres["gres/" + name];
    total = std::max(total, count * static_cast<std::int64_t>(nodes));
  }
  demand.tres["cpu"] = std::max<std::int64_t>(demand.tres["cpu"], nodes);
  demand.tres["node"] = nodes;
  shape.min_nodes = shape.max_nodes = nodes;
}

Result<Demand> count_on(const SlurmRequest& request, const Counter& counter,
                        const std::string& partition, const NodePlan& plan) {
  const SizeOptions& size = request.size;
  const std::uint64_t least = at_least_one(size.min_nodes);
  const auto fits = [&](const Demand& demand) { return plan.fits_empty(demand.shape, partition); };
  const std::uint64_t memory = counter.memory_per_node();
  auto spread = counter.spread();
  if (least == 1) {
    Demand one = counter.on_one_node();
    if (size.max_nodes == 1 || !spread || (counter.pinned() && fits(one))) {
      pin(one, 1, memory);
      const bool only = size.max_nodes == 1 || counter.tasks_on(1) == 1;
      if (only || fits(one)) return one;
    }
  } else if (auto even = counter.on_even_nodes(least); even && size.max_nodes == least) {
    pin(*even, static_cast<std::uint32_t>(least), memory);
    return *even;
  }
  if (!spread) {
    return fail(
        "the CPUs of this job depend on which nodes it gets: give --nodes, and --ntasks-per-node "
        "with -c a multiple of the threads of a core, --gpus-per-node instead of --gpus");
  }
  if (counter.pinned()) {
    const auto place = plan.place_empty(spread->shape, partition);
    if (place) pin(*spread, static_cast<std::uint32_t>(place->size()), memory);
  }
  return *spread;
}

/// The kinds of threads per core among the nodes that could run a task of the job.
std::set<std::uint32_t> thread_kinds(const Demand& asked, const std::string& partition,
                                     const NodePlan& plan) {
  std::set<std::uint32_t> kinds = plan.threads_per_core(partition);
  if (kinds.size() > 1) {
    Shape one = asked.shape;
    one.cpus = one.cpus_per_task = 1;
    one.tasks_per_node = 0;
    one.mem_per_cpu_mb = 0;
    kinds.clear();
    for (const std::uint32_t node : plan.able(one, partition))
      kinds.insert(plan.nodes()[node].threads_per_core);
  }
  if (kinds.empty()) kinds.insert(1);
  return kinds;
}

struct GpuNodes {
  std::uint64_t most_gpus = 1;  ///< of a node
  std::uint64_t nodes = 1;
};

/// Of the nodes that the job does not rule out.
GpuNodes gpu_nodes(const Shape& shape, const std::string& partition, const NodePlan& plan) {
  Shape any;
  any.features = shape.features;
  any.exc_nodes = shape.exc_nodes;
  const std::vector<std::uint32_t> able = plan.able(any, partition);
  std::uint64_t most = 1;
  for (const std::uint32_t node : able) {
    std::uint64_t gpus = 0;
    for (const auto& [name, count] : plan.nodes()[node].gres) {
      if (is_gpu(name)) gpus += static_cast<std::uint64_t>(count);
    }
    most = std::max(most, gpus);
  }
  return {most, at_least_one(able.size())};
}

/// Slurm gives a job that names no tasks as many nodes as its GPUs need.
void widen_for_gpus(SlurmRequest& request, const GpuNodes& there) {
  SizeOptions& size = request.size;
  const std::uint64_t gpus = total_of(request.gpus_per_job);
  const std::uint32_t least = std::max<std::uint32_t>(size.min_nodes, 1);
  if (size.tasks > 0 || gpus == 0 || size.max_nodes == least) return;
  const std::uint64_t nodes = std::min(divide_up(gpus, there.most_gpus), there.nodes);
  size.min_nodes = std::max(least, static_cast<std::uint32_t>(nodes));
  if (size.max_nodes > 0) size.min_nodes = std::min(size.min_nodes, size.max_nodes);
}

}  // namespace

Result<Demand> count_as_slurm(const SizeOptions& size, const market_partition_rules_t& rules,
                              const std::string& partition, const NodePlan& plan, bool nodes_cost) {
  auto request = as_slurm_takes(size, rules);
  if (!request) return tl::unexpected(request.error());
  auto asked = demand_of(request->size);
  if (!asked) return asked;
  const bool by_gpus = request->mem_per_gpu_mb > 0 || !request->gpus_per_job.empty();
  const GpuNodes gpus = by_gpus ? gpu_nodes(asked->shape, partition, plan) : GpuNodes{};
  widen_for_gpus(*request, gpus);
  if (auto settled = settle_tasks(*request); !settled) return tl::unexpected(settled.error());
  asked = demand_of(request->size);
  if (!asked) return asked;
  asked->shape.exclusive |= rules.exclusive;
  const std::set<std::uint32_t> kinds = thread_kinds(*asked, partition, plan);
  std::vector<Result<Demand>> counted;
  for (const std::uint32_t threads : kinds) {
    const Counter counter(*request, rules, *asked, {threads, gpus.most_gpus}, nodes_cost);
    counted.push_back(asked->shape.exclusive ? Result<Demand>(counter.roughly())
                                             : count_on(*request, counter, partition, plan));
    if (counted.back() && kinds.size() > 1) counted.back()->shape.threads_per_core = threads;
  }
  Result<Demand> best = cheapest(std::move(counted), partition, plan);
  if (!best) return best;
  if (auto whole = count_whole_nodes(*best, partition, plan); !whole)
    return tl::unexpected(whole.error());
  if (size.min_nodes > 0 && size.max_nodes > best->shape.min_nodes)
    best->shape.most_nodes = size.max_nodes;
  return best;
}

}  // namespace market
