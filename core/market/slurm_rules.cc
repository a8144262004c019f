// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/slurm_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace market {
namespace {

constexpr std::uint64_t kMostCount = std::numeric_limits<std::int32_t>::max();

struct RefusedOption {
  std::uint32_t bit;
  const char* text;
};

// What Slurm allocates for these depends on what it chooses, or the market cannot hold such a
// place.
constexpr RefusedOption kRefused[] = {
    {MARKET_OVERCOMMIT, "--overcommit: a job with a bid pays for the CPUs of its tasks"},
    {MARKET_CORE_SPEC, "--core-spec and --thread-spec cannot be priced"},
    {MARKET_EXCLUSIVE_USER,
     "--exclusive=user and --exclusive=mcs cannot be priced; --exclusive (whole nodes) can"},
    {MARKET_CONTIGUOUS, "--contiguous cannot be planned; --nodelist can"},
    {MARKET_SPREAD, "--spread-job cannot be priced; --nodes and --ntasks-per-node can"},
    {MARKET_SOCKETS,
     "--sockets-per-node, --cores-per-socket, -B and --hint=memory_bound cannot be planned; "
     "--threads-per-core and --ntasks-per-core can"},
    {MARKET_TASKS_PER_SOCKET,
     "--ntasks-per-socket cannot be planned; --ntasks-per-node and --ntasks-per-core can"},
    {MARKET_PLANE, "--distribution: plane and arbitrary cannot be planned"},
    {MARKET_GRES_BINDING, "--gres-flags=enforce-binding cannot be priced"},
};

Result<void> refuse_uncounted(const SizeOptions& size, const market_partition_rules_t& rules) {
  if (rules.unit == MARKET_UNIT_SOCKET) {
    return fail(
        "SelectTypeParameters allocates whole sockets here, which cannot be priced: submit "
        "without a bid");
  }
  for (const RefusedOption& option : kRefused) {
    if ((size.uncounted & option.bit) != 0) return fail(option.text);
  }
  return {};
}

GresCounts gpus_of(const GresCounts& gres) {
  GresCounts gpus;
  for (const auto& [name, count] : gres) {
    if (is_gpu(name)) gpus.emplace(name, count);
  }
  return gpus;
}

/// GPUs in the three forms.
struct Gpus {
  GresCounts per_job, per_node, per_task;
  bool any() const { return !per_job.empty() || !per_node.empty() || !per_task.empty(); }
};

Result<Gpus> read_gpus(const SizeOptions& size) {
  const auto job = parse_gres(size.tres_per_job, "--gpus");
  if (!job) return tl::unexpected(job.error());
  const auto node = parse_gres(size.tres_per_node, "--gres or --gpus-per-node");
  if (!node) return tl::unexpected(node.error());
  const auto task = parse_gres(size.tres_per_task, "--gpus-per-task");
  if (!task) return tl::unexpected(task.error());
  return Gpus{gpus_of(*job), gpus_of(*node), gpus_of(*task)};
}

/// --cpus-per-gpu and --mem-per-gpu: one number for all GPUs; 0: not given.
Result<std::uint64_t> read_per_gpu(const std::string& text, std::string_view option,
                                   const Gpus& gpus) {
  const auto counts = parse_gres(text, option);
  if (!counts) return fail(fmt::format("{}: a number for each GPU is allowed", option));
  if (counts->empty()) return std::uint64_t{0};
  if (counts->size() > 1 || counts->begin()->first != "gpu")
    return fail(fmt::format("{}: one number for all GPUs is allowed", option));
  if (!gpus.any()) return fail(fmt::format("{}: the job asks for no GPUs", option));
  return static_cast<std::uint64_t>(counts->begin()->second);
}

Result<void> set_tasks(SizeOptions& size, std::uint64_t tasks, std::string_view option) {
  if (tasks > kMostCount) return fail(fmt::format("{}: more tasks than any cluster has", option));
  size.tasks = static_cast<std::uint32_t>(tasks);
  return {};
}

std::uint64_t asked_nodes(const SizeOptions& size) {
  return std::max<std::uint32_t>(size.min_nodes, 1);
}

/// --ntasks-per-gpu: tasks from GPUs, or GPUs from tasks.
Result<void> apply_tasks_per_gpu(SizeOptions& size, Gpus& gpus) {
  if (size.tasks_per_gpu == 0) return {};
  if (!size.cpus_per_tres.empty())
    return fail("--ntasks-per-gpu and --cpus-per-gpu together cannot be priced; -c can");
  if (!gpus.per_task.empty()) return fail("--ntasks-per-gpu and --gpus-per-task: give only one");
  if (gpus.any()) {
    const std::uint64_t total =
        std::max(total_of(gpus.per_job), total_of(gpus.per_node) * asked_nodes(size));
    return set_tasks(size, total * size.tasks_per_gpu, "--ntasks-per-gpu");
  }
  if (size.tasks == 0 || size.tasks % size.tasks_per_gpu != 0)
    return fail("--ntasks-per-gpu: -n must be a multiple of it, or GPUs must be asked for");
  gpus.per_job["gpu"] = size.tasks / size.tasks_per_gpu;
  size.tres_per_job = fmt::format("gres:gpu:{}", gpus.per_job["gpu"]);
  return {};
}

/// GPUs in two forms fix the tasks or the nodes; Slurm refuses or never starts what does not agree.
Result<void> reconcile_gpu_forms(SizeOptions& size, const Gpus& gpus) {
  for (const auto& [name, per_node] : gpus.per_node) {
    if (const auto job = gpus.per_job.find(name); job != gpus.per_job.end()) {
      const auto nodes = static_cast<std::uint32_t>(job->second / per_node);
      const bool agrees = job->second % per_node == 0 && nodes >= size.min_nodes &&
                          (size.max_nodes == 0 || nodes <= size.max_nodes);
      if (!agrees) return fail("--gpus and --gpus-per-node do not agree on the number of nodes");
      size.min_nodes = size.max_nodes = nodes;
    }
    const auto task = gpus.per_task.find(name);
    if (task == gpus.per_task.end()) continue;
    const std::uint64_t total = static_cast<std::uint64_t>(per_node) * asked_nodes(size);
    const auto each = static_cast<std::uint64_t>(task->second);
    if (total % each != 0 || (size.tasks != 0 && size.tasks != total / each))
      return fail("--gpus-per-node and --gpus-per-task do not agree on the number of tasks");
    if (auto set = set_tasks(size, total / each, "--gpus-per-task"); !set) return set;
  }
  for (const auto& [name, per_task] : gpus.per_task) {
    const auto job = gpus.per_job.find(name);
    if (job == gpus.per_job.end()) continue;
    const std::int64_t tasks = job->second / per_task;
    if (job->second % per_task != 0 || (size.tasks != 0 && size.tasks != tasks))
      return fail("--gpus and --gpus-per-task do not agree on the number of tasks");
    if (auto set = set_tasks(size, static_cast<std::uint64_t>(tasks), "--gpus"); !set) return set;
  }
  return {};
}

/// A default of the site counts only where -c is not given, as in Slurm.
Result<void> apply_cpus_per_gpu(SlurmRequest& request, const market_partition_rules_t& rules,
                                const Gpus& gpus, std::uint64_t asked, bool has_cpus_per_task) {
  SizeOptions& size = request.size;
  std::uint64_t each = asked;
  if (asked == 0 && gpus.any() && !has_cpus_per_task) each = rules.def_cpus_per_gpu;
  if (each > 0 && size.tasks_per_gpu > 0)
    return fail("--ntasks-per-gpu where DefCpuPerGPU is set cannot be priced: give -c 1 too");
  if (each == 0) return {};
  const std::uint64_t per_task = total_of(gpus.per_task) * each;
  if (each > kMostCount || per_task > kMostCount)
    return fail("--cpus-per-gpu: more CPUs than any cluster has");
  if (per_task > 0) {
    size.cpus_per_task =
        static_cast<std::uint32_t>(std::max<std::uint64_t>({size.cpus_per_task, 1, per_task}));
    return {};
  }
  request.cpus_per_gpu = static_cast<std::uint32_t>(each);
  return {};
}

/// Memory for each CPU above the site's limit: Slurm gives each task more CPUs instead.
Result<void> raise_cpus_per_task(SlurmRequest& request, std::uint64_t limit) {
  SizeOptions& size = request.size;
  if (size.mem_per_cpu_mb <= limit) return {};
  const std::uint64_t factor = divide_up(size.mem_per_cpu_mb, limit);
  const std::uint64_t cpus = std::max<std::uint64_t>(size.cpus_per_task, 1) * factor;
  if (factor > kMostCount || cpus > kMostCount)
    return fail(fmt::format("--mem-per-cpu: MaxMemPerCPU is {} MB here", limit));
  size.mem_per_cpu_mb = divide_up(size.mem_per_cpu_mb, factor);
  size.cpus_per_task = static_cast<std::uint32_t>(cpus);
  request.raised = true;
  return {};
}

/// The CPUs of a node that the site's limits know of a request, as Slurm estimates them.
std::uint64_t expected_cpus_per_node(const SizeOptions& size) {
  std::uint64_t tasks = std::max<std::uint32_t>(size.tasks_per_node, 1);
  if (size.tasks > 0 && size.max_nodes > 0)
    tasks = std::max(tasks, divide_up(size.tasks, size.max_nodes));
  return std::max<std::uint64_t>(tasks * std::max<std::uint32_t>(size.cpus_per_task, 1),
                                 size.cpus_per_node);
}

/// MaxMemPerCPU and MaxMemPerNode.
Result<void> apply_memory_limits(SlurmRequest& request, const market_partition_rules_t& rules) {
  SizeOptions& size = request.size;
  if (const std::uint64_t limit = rules.max_mem_per_cpu_mb; limit > 0) {
    if (size.all_memory) {
      return fail(fmt::format(
          "--mem=0, or no --mem: name the memory, since MaxMemPerCPU is {} MB here", limit));
    }
    if (size.mem_per_cpu_mb > 0) return raise_cpus_per_task(request, limit);
    const std::uint64_t cpus = divide_up(size.mem_per_node_mb, limit);
    if (cpus > kMostCount) return fail(fmt::format("--mem: MaxMemPerCPU is {} MB here", limit));
    size.cpus_per_node = std::max(size.cpus_per_node, static_cast<std::uint32_t>(cpus));
    return {};
  }
  const std::uint64_t limit = rules.max_mem_per_node_mb;
  if (limit == 0) return {};
  const bool per_cpu = size.mem_per_cpu_mb > limit / expected_cpus_per_node(size);
  if (size.all_memory || size.mem_per_node_mb > limit || per_cpu) {
    return fail(
        fmt::format("{}: MaxMemPerNode is {} MB here", per_cpu ? "--mem-per-cpu" : "--mem", limit));
  }
  return {};
}

/// Nodes of a request with --ntasks-per-node, and the tasks that Slurm runs then: it fills each
/// node.
Result<void> fill_nodes(SizeOptions& size) {
  const std::uint32_t each = size.tasks_per_node;
  if (each == 0) return {};
  const bool nodes_fixed = size.min_nodes > 0 && size.max_nodes == size.min_nodes;
  std::uint64_t nodes = at_least_one(size.min_nodes);
  if (!nodes_fixed && size.tasks > each * nodes) {
    if (size.tasks % each != 0) {
      return fail(fmt::format(
          "--ntasks-per-node={}: -n {} is no multiple of it, and Slurm would start no such job",
          each, size.tasks));
    }
    nodes = size.tasks / each;
  }
  if (size.tasks > each * nodes || (size.max_nodes > 0 && nodes > size.max_nodes))
    return fail(
        fmt::format("--ntasks-per-node={}: {} tasks do not fit on so few nodes", each, size.tasks));
  size.min_nodes = size.max_nodes = static_cast<std::uint32_t>(nodes);
  if (each * nodes > kMostCount) return fail("--ntasks-per-node: more tasks than any cluster has");
  size.tasks = static_cast<std::uint32_t>(each * nodes);
  return {};
}

/// More CPUs than the tasks need are tasks more, as Slurm distributes them.
Result<void> fill_cpus(SizeOptions& size) {
  const std::uint64_t cpus_per_task = at_least_one(size.cpus_per_task);
  const std::uint64_t tasks = size.tasks > 0 ? size.tasks : at_least_one(size.min_nodes);
  if (size.min_cpus <= tasks * cpus_per_task) return {};
  if (size.tasks_per_node > 0)
    return fail("--ntasks-per-node: more CPUs than those of the tasks cannot be priced");
  size.tasks = static_cast<std::uint32_t>(std::max(tasks, size.min_cpus / cpus_per_task));
  return {};
}

Result<void> check_gpus(const SlurmRequest& request) {
  const std::uint64_t tasks = at_least_one(request.size.tasks);
  const std::uint64_t gpus = total_of(request.gpus_per_job);
  const std::uint64_t cpus = tasks * at_least_one(request.size.cpus_per_task);
  if (request.cpus_per_gpu == 0 || gpus == 0 || cpus <= gpus * request.cpus_per_gpu) return {};
  return fail(
      fmt::format("--cpus-per-gpu={} (or DefCpuPerGPU): the CPUs of {} GPUs are fewer than the {} "
                  "of the tasks, "
                  "which cannot be priced: give -c",
                  request.cpus_per_gpu, gpus, cpus));
}

}  // namespace

bool is_gpu(std::string_view gres) {
  return gres == "gpu" || gres.starts_with("gpu:");
}

Result<SlurmRequest> as_slurm_takes(const SizeOptions& size,
                                    const market_partition_rules_t& rules) {
  if (auto known = refuse_uncounted(size, rules); !known) return tl::unexpected(known.error());
  SlurmRequest request;
  request.size = size;
  auto gpus = read_gpus(size);
  if (!gpus) return tl::unexpected(gpus.error());
  if (auto done = apply_tasks_per_gpu(request.size, *gpus); !done)
    return tl::unexpected(done.error());
  const auto cpus_per_gpu = read_per_gpu(size.cpus_per_tres, "--cpus-per-gpu", *gpus);
  if (!cpus_per_gpu) return tl::unexpected(cpus_per_gpu.error());
  const auto mem_per_gpu = read_per_gpu(size.mem_per_tres, "--mem-per-gpu", *gpus);
  if (!mem_per_gpu) return tl::unexpected(mem_per_gpu.error());
  if (auto done = reconcile_gpu_forms(request.size, *gpus); !done)
    return tl::unexpected(done.error());
  if (auto done = apply_memory_limits(request, rules); !done) return tl::unexpected(done.error());
  if (auto done = apply_cpus_per_gpu(request, rules, *gpus, *cpus_per_gpu, size.cpus_per_task > 0);
      !done)
    return tl::unexpected(done.error());
  request.gpus_per_job = gpus->per_job;
  request.gpus_per_node = gpus->per_node;
  const bool memory_by_gpu = gpus->any() && !size.memory_named;
  if (memory_by_gpu)
    request.mem_per_gpu_mb = *mem_per_gpu > 0 ? *mem_per_gpu : rules.def_mem_per_gpu_mb;
  if (request.mem_per_gpu_mb > 0) {
    request.size.mem_per_node_mb = request.size.mem_per_cpu_mb = 0;
    request.size.all_memory = false;
  }
  if (request.size.cpus_per_node > std::max<std::uint32_t>(request.size.cpus_per_task, 1))
    request.least_cpus = request.size.cpus_per_node;
  // Slurm counts tasks for CPUs there, and allocates for fewer.
  if (size.tasks_per_gpu > 0 && request.size.cpus_per_task > 1)
    return fail("--ntasks-per-gpu cannot be priced with more than one CPU for a task: give -n");
  if (gpus->any() && request.least_cpus > 0) {
    return fail(
        "with GPUs, --mincpus and --mem above MaxMemPerCPU cannot be priced: ask for the CPUs with "
        "-c");
  }
  return request;
}

Result<void> settle_tasks(SlurmRequest& request) {
  const std::uint64_t cpus_per_task = at_least_one(request.size.cpus_per_task);
  if (request.size.tasks_per_node > 0 && cpus_per_task > 1 &&
      request.least_cpus > request.size.tasks_per_node * cpus_per_task) {
    return fail(
        "--ntasks-per-node with -c cannot be priced where --mincpus, or --mem above MaxMemPerCPU, "
        "takes more CPUs than the tasks: give a larger -c");
  }
  if (auto checked = check_gpus(request); !checked) return checked;
  if (auto filled = fill_nodes(request.size); !filled) return filled;
  return fill_cpus(request.size);
}

std::uint64_t total_of(const GresCounts& counts) {
  std::uint64_t total = 0;
  for (const auto& [name, count] : counts) total += static_cast<std::uint64_t>(count);
  return total;
}

}  // namespace market
