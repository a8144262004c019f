// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/size_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace market::smarket {
namespace {

constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostMemory = 1'000'000'000'000;

/// Reads leading digits and takes them off `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::int64_t most) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    value = value * 10 + (text[digits] - '0');
    if (value > most) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

/// A positive count; 0 when the option was not given.
Result<std::uint32_t> count_of(std::string_view option, std::string_view text) {
  if (text.empty()) return 0u;
  const auto count = take_digits(text, kMostCount);
  if (!count || *count == 0 || !text.empty()) {
    return fail(fmt::format("{}: a number from 1 to {} is allowed", option, kMostCount));
  }
  return static_cast<std::uint32_t>(*count);
}

/// A number of nodes, with sbatch's suffixes k and m.
std::optional<std::int64_t> take_nodes(std::string_view text) {
  auto count = take_digits(text, kMostCount);
  if (!count) return std::nullopt;
  if (!text.empty() && (text[0] == 'k' || text[0] == 'K')) {
    *count *= 1024;
    text.remove_prefix(1);
  }
  if (!text.empty() && (text[0] == 'm' || text[0] == 'M')) {
    *count *= 1024 * 1024;
    text.remove_prefix(1);
  }
  if (!text.empty() || *count > kMostCount) return std::nullopt;
  return count;
}

Result<void> read_nodes(std::string_view text, SizeOptions& size) {
  if (text.empty()) return {};
  const std::size_t dash = text.find('-');
  const auto least = take_nodes(text.substr(0, dash));
  const auto most = dash == text.npos ? least : take_nodes(text.substr(dash + 1));
  if (!least || !most || *most < *least || *least == 0) {
    return fail("--nodes: a number of nodes or MIN-MAX is allowed");
  }
  size.min_nodes = static_cast<std::uint32_t>(*least);
  size.max_nodes = static_cast<std::uint32_t>(*most);
  return {};
}

/// Memory in MB as sbatch reads it: MB by default, suffixes K, M, G, T.
Result<std::uint64_t> memory_mb_of(std::string_view option, std::string_view text) {
  if (text.empty()) return std::uint64_t{0};
  constexpr std::int64_t kKilo = 1024;
  const auto refuse = [option] {
    return fail(fmt::format("{}: a size such as 4000, 4000M or 4G is allowed", option));
  };
  auto size = take_digits(text, kMostMemory);
  if (!size) return refuse();
  if (text.size() == 2 && (text[1] == 'B' || text[1] == 'b')) text.remove_suffix(1);
  if (text == "K" || text == "k") {
    *size = (*size + kKilo - 1) / kKilo;
  } else if (text == "G" || text == "g") {
    *size *= kKilo;
  } else if (text == "T" || text == "t") {
    *size *= kKilo * kKilo;
  } else if (!text.empty() && text != "M" && text != "m") {
    return refuse();
  }
  if (*size > kMostMemory) return refuse();
  return static_cast<std::uint64_t>(*size);
}

/// "a100:2,t4:1" → "gres:gpu:a100:2,gres:gpu:t4:1" with `prefix` "gres:gpu:"; a prefix that is
/// there is not repeated.
std::string prefixed(std::string_view prefix, std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (item.empty()) continue;
    if (!out.empty()) out += ',';
    if (item.substr(0, prefix.size()) != prefix) out += prefix;
    out += item;
  }
  return out;
}

void fill_gres(const SizeArguments& typed, SizeOptions& size) {
  constexpr std::string_view kGpu = "gres:gpu:", kGres = "gres:";
  size.tres_per_job = prefixed(kGpu, typed.gpus);
  size.tres_per_task = prefixed(kGpu, typed.gpus_per_task);
  size.tres_per_node = prefixed(kGpu, typed.gpus_per_node);
  const bool none = typed.gres == "none" || typed.gres == "NONE";
  const std::string gres = none ? "" : prefixed(kGres, typed.gres);
  if (!gres.empty()) size.tres_per_node += (size.tres_per_node.empty() ? "" : ",") + gres;
}

/// What sbatch makes of nodes, tasks and CPUs together.
void settle_counts(SizeOptions& size) {
  const bool nodes_given = size.min_nodes > 0;
  const bool nodes_fixed = size.min_nodes == size.max_nodes;
  std::uint64_t tasks = std::max<std::uint32_t>(size.tasks, 1);
  if (size.tasks_per_node > 0 && size.tasks == 0 && nodes_fixed) {
    tasks = std::uint64_t{std::max<std::uint32_t>(size.min_nodes, 1)} * size.tasks_per_node;
    size.tasks = static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks, kMostCount));
  }
  if (nodes_given && size.tasks == 0 && nodes_fixed) {
    tasks = size.min_nodes;
  } else if (nodes_given && size.tasks > 0) {
    size.max_nodes = std::min(size.max_nodes, size.tasks);
    size.min_nodes = std::min(size.min_nodes, size.tasks);
  }
  const std::uint64_t cpus = tasks * std::max<std::uint32_t>(size.cpus_per_task, 1);
  size.min_cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, kMostCount));
}

}  // namespace

Result<SizeOptions> size_options_of(const SizeArguments& typed) {
  SizeOptions size;
  if (const auto nodes = read_nodes(typed.nodes, size); !nodes) {
    return tl::make_unexpected(nodes.error());
  }
  std::uint32_t cpus_per_gpu = 0;
  const struct {
    const char* option;
    const std::string& text;
    std::uint32_t& value;
  } counts[] = {{"--ntasks", typed.tasks, size.tasks},
                {"--cpus-per-task", typed.cpus_per_task, size.cpus_per_task},
                {"--ntasks-per-node", typed.tasks_per_node, size.tasks_per_node},
                {"--mincpus", typed.mincpus, size.cpus_per_node},
                {"--ntasks-per-core", typed.tasks_per_core, size.tasks_per_core},
                {"--threads-per-core", typed.threads_per_core, size.threads_per_core},
                {"--ntasks-per-gpu", typed.tasks_per_gpu, size.tasks_per_gpu},
                {"--cpus-per-gpu", typed.cpus_per_gpu, cpus_per_gpu}};
  for (const auto& [option, text, value] : counts) {
    const auto count = count_of(option, text);
    if (!count) return tl::make_unexpected(count.error());
    value = *count;
  }
  const auto given = [](const std::string& text) { return text.empty() ? 0 : 1; };
  if (given(typed.mem) + given(typed.mem_per_cpu) + given(typed.mem_per_gpu) > 1) {
    return fail("--mem, --mem-per-cpu and --mem-per-gpu: only one of them is allowed");
  }
  const auto per_node = memory_mb_of("--mem", typed.mem);
  if (!per_node) return tl::make_unexpected(per_node.error());
  const auto per_cpu = memory_mb_of("--mem-per-cpu", typed.mem_per_cpu);
  if (!per_cpu) return tl::make_unexpected(per_cpu.error());
  const auto per_gpu = memory_mb_of("--mem-per-gpu", typed.mem_per_gpu);
  if (!per_gpu) return tl::make_unexpected(per_gpu.error());
  if (*per_gpu > 0) size.mem_per_tres = fmt::format("gres:gpu:{}", *per_gpu);
  if (cpus_per_gpu > 0) size.cpus_per_tres = fmt::format("gres:gpu:{}", cpus_per_gpu);
  size.mem_per_node_mb = *per_node;
  size.all_memory = !typed.mem.empty() && *per_node == 0;
  size.mem_per_cpu_mb = *per_cpu;
  fill_gres(typed, size);
  size.features = typed.constraint;
  size.exclusive = typed.exclusive;
  settle_counts(size);
  const auto demand = demand_of(size);
  if (!demand) return tl::make_unexpected(demand.error());
  return size;
}

}  // namespace market::smarket
