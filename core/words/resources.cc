// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace market {
namespace {

constexpr std::int64_t kMostCpus = std::numeric_limits<std::int32_t>::max();
/// A million nodes of a terabyte in MB; also keeps every product of two counts within 64 bits.
constexpr std::int64_t kMostMemoryMb = 1'000'000'000'000;
constexpr std::int64_t kMostGres = 1'000'000'000'000;
constexpr std::int64_t kMostTres = 1'000'000'000'000'000;
constexpr std::size_t kLongestText = 65536;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

/// Features may carry values ("cpu=genoa"), so everything printable that is not an operator of
/// --constraint is a name.
bool is_feature(std::string_view text) {
  constexpr std::string_view kOperators = "&|,*[]()!:\"\\'";
  return !text.empty() && std::all_of(text.begin(), text.end(), [=](char c) {
    return c > ' ' && c <= '~' && kOperators.find(c) == kOperators.npos;
  });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to - from));
    if (to == text.npos) return parts;
    from = to + 1;
  }
}

/// Decimal digits, with at most `decimals` of them after a point; the value in units of
/// 10^-decimals.
std::optional<__int128> fixed_point(std::string_view text, int decimals, std::int64_t most) {
  __int128 value = 0;
  int after_point = -1;
  bool digits = false;
  for (const char c : text) {
    if (c == '.' && after_point < 0 && decimals > 0) {
      after_point = 0;
      continue;
    }
    if (c < '0' || c > '9' || after_point >= decimals) return std::nullopt;
    value = value * 10 + (c - '0');
    digits = true;
    if (after_point >= 0) ++after_point;
    if (value > most) return std::nullopt;
  }
  if (!digits) return std::nullopt;
  for (int i = std::max(after_point, 0); i < decimals; ++i) value *= 10;
  return value;
}

/// Power of `base` that a size suffix stands for: 0 for none or K's, 1 …; nothing when it is no
/// suffix.
std::optional<int> suffix_power(char suffix) {
  constexpr std::string_view kSuffixes = "KMGTPE";
  const char upper =
      suffix >= 'a' && suffix <= 'z' ? static_cast<char>(suffix - 'a' + 'A') : suffix;
  const std::size_t at = kSuffixes.find(upper);
  if (at == kSuffixes.npos) return std::nullopt;
  return static_cast<int>(at) + 1;
}

/// A count as Slurm prints or reads it: "4", "2K", "1.50M"; suffixes are powers of 1024.
std::optional<std::int64_t> parse_count(std::string_view text, std::int64_t most) {
  constexpr int kDecimals = 2;
  int power = 0;
  if (!text.empty()) {
    if (const auto suffix = suffix_power(text.back())) {
      power = *suffix;
      text.remove_suffix(1);
    }
  }
  const auto hundredths = fixed_point(text, power > 0 ? kDecimals : 0, most);
  if (!hundredths) return std::nullopt;
  __int128 count = *hundredths;
  for (int i = 0; i < power; ++i) count *= 1024;
  if (power > 0) count /= 100;
  if (count > most) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

/// Memory as Slurm prints it, in MB: a bare number is MB, a suffix gives the unit.
std::optional<std::int64_t> parse_memory_mb(std::string_view text) {
  constexpr std::int64_t kKilobytesPerMb = 1024;
  const bool has_suffix = !text.empty() && suffix_power(text.back()).has_value();
  if (!has_suffix) return parse_count(text, kMostMemoryMb);
  const auto bytes = parse_count(text, kMostMemoryMb * kKilobytesPerMb * kKilobytesPerMb);
  if (!bytes) return std::nullopt;
  return *bytes / (kKilobytesPerMb * kKilobytesPerMb);
}

/// "gres/gpu:a100" belongs to "gres/gpu"; empty for other names.
std::string_view untyped_name(std::string_view name) {
  constexpr std::string_view kPrefix = "gres/";
  if (name.substr(0, kPrefix.size()) != kPrefix) return {};
  const std::size_t colon = name.find(':');
  return colon == name.npos ? std::string_view{} : name.substr(0, colon);
}

/// Slurm counts a typed gres under both names; what is left under the plain name is of no known
/// type.
void count_typed_once(Tres& tres) {
  for (const auto& [name, count] : Tres(tres)) {
    const auto plain = tres.find(untyped_name(name));
    if (plain == tres.end()) continue;
    plain->second -= count;
    if (plain->second <= 0) tres.erase(plain);
  }
}

bool is_tres_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_name_character(c) || c == '/' || c == ':';
  });
}

/// Slurm takes the largest of the forms for the same gres, so that giving one twice does not count
/// twice.
void keep_largest(GresCounts& into, const GresCounts& from, std::int64_t factor) {
  for (const auto& [name, count] : from) {
    auto& largest = into[name];
    largest = std::max(largest, count > kMostTres / factor ? kMostTres : count * factor);
  }
}

Result<void> refuse_mixed_types(const GresCounts& counts) {
  for (const auto& [name, count] : counts) {
    const std::string plain = name.substr(0, name.find(':'));
    if (plain != name && counts.contains(plain)) {
      return fail(fmt::format(
          "--gres/--gpus: {} is asked for with and without a type; use one form", plain));
    }
  }
  return {};
}

struct GresForms {
  GresCounts per_job, per_node, per_task;
};

Result<GresForms> gres_forms_of(const SizeOptions& size) {
  if (!size.tres_per_socket.empty()) {
    return fail(
        "--gpus-per-socket: the market cannot tell the number of sockets; use --gpus-per-node");
  }
  GresForms forms;
  const auto job = parse_gres(size.tres_per_job, "--gpus");
  if (!job) return tl::make_unexpected(job.error());
  const auto node = parse_gres(size.tres_per_node, "--gres or --gpus-per-node");
  if (!node) return tl::make_unexpected(node.error());
  const auto task = parse_gres(size.tres_per_task, "--gpus-per-task");
  if (!task) return tl::make_unexpected(task.error());
  return GresForms{*job, *node, *task};
}

Result<std::vector<std::string>> parse_names(std::string_view text, char separator,
                                             bool (*valid)(std::string_view),
                                             std::string_view refusal) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  if (text.size() > kLongestText) return fail(std::string(refusal));
  for (const std::string_view name : split(text, separator)) {
    if (!valid(name)) return fail(std::string(refusal));
    names.emplace_back(name);
  }
  return names;
}

Result<void> fill_names(const SizeOptions& size, Shape& shape) {
  const auto wanted =
      parse_names(size.req_nodes, ',', is_name, "--nodelist: plain node names only");
  if (!wanted) return tl::make_unexpected(wanted.error());
  const auto unwanted =
      parse_names(size.exc_nodes, ',', is_name, "--exclude: plain node names only");
  if (!unwanted) return tl::make_unexpected(unwanted.error());
  const auto features =
      parse_names(size.features, '&', is_feature,
                  "--constraint: the market can place plain feature names joined by & only");
  if (!features) return tl::make_unexpected(features.error());
  shape.req_nodes = *wanted;
  shape.exc_nodes = *unwanted;
  shape.features = *features;
  return {};
}

/// CPUs as slurmctld counts them for the request: the most that any of the options asks for.
Result<std::int64_t> cpus_of(const SizeOptions& size, std::int64_t nodes) {
  const std::int64_t per_task = std::max<std::int64_t>(size.cpus_per_task, 1);
  const std::int64_t tasks = std::max<std::int64_t>(
      {size.tasks, 1, size.tasks == 0 ? nodes * size.tasks_per_node : std::int64_t{0}});
  if (tasks > kMostCpus || tasks * per_task > kMostCpus) {
    return fail("-n/-c: more CPUs than any cluster has");
  }
  return std::max<std::int64_t>({tasks * per_task, size.min_cpus, nodes});
}

Result<std::int64_t> memory_of(const SizeOptions& size, std::int64_t nodes, std::int64_t cpus) {
  const std::uint64_t each = std::max(size.mem_per_node_mb, size.mem_per_cpu_mb);
  const std::int64_t factor = size.mem_per_cpu_mb > 0 ? cpus : nodes;
  if (each > static_cast<std::uint64_t>(kMostMemoryMb / factor)) {
    return fail("--mem/--mem-per-cpu: more memory than any cluster has");
  }
  return static_cast<std::int64_t>(each) * factor;
}

Shape shape_of(const SizeOptions& size, std::int64_t nodes, std::int64_t cpus) {
  Shape shape;
  shape.min_nodes = static_cast<std::uint32_t>(nodes);
  shape.max_nodes = size.max_nodes;
  shape.cpus = static_cast<std::uint32_t>(cpus);
  shape.cpus_per_task = std::max<std::uint32_t>(size.cpus_per_task, 1);
  shape.tasks_per_node = size.tasks_per_node;
  shape.mem_per_node_mb = size.mem_per_node_mb;
  shape.mem_per_cpu_mb = size.mem_per_cpu_mb;
  shape.exclusive = size.exclusive;
  shape.all_memory = size.all_memory;
  return shape;
}

std::int64_t tasks_of(const SizeOptions& size, std::int64_t nodes) {
  if (size.tasks > 0) return size.tasks;
  return nodes * std::max<std::int64_t>(size.tasks_per_node, 1);
}

}  // namespace

Result<GresCounts> parse_gres(std::string_view text, std::string_view option) {
  GresCounts counts;
  if (text.empty() || text == "none" || text == "gres:none") return counts;
  const auto refuse = [option] {
    return fail(fmt::format(
        "{}: allowed is NAME[:TYPE][:COUNT], comma separated, such as gpu:a100:4", option));
  };
  if (text.size() > kLongestText) return refuse();
  for (std::string_view item : split(text, ',')) {
    constexpr std::string_view kPrefixes[] = {"gres:", "gres/"};
    for (const std::string_view prefix : kPrefixes) {
      if (item.substr(0, prefix.size()) == prefix) item.remove_prefix(prefix.size());
    }
    std::vector<std::string_view> parts = split(item, ':');
    std::int64_t count = 1;
    const std::string_view last = parts.back();
    if (parts.size() > 1 && !last.empty() && last.front() >= '0' && last.front() <= '9') {
      const auto number = parse_count(last, kMostGres);
      if (!number) return refuse();
      count = *number;
      parts.pop_back();
    }
    if (parts.size() > 2 || !std::all_of(parts.begin(), parts.end(), is_name)) return refuse();
    std::string name(parts[0]);
    if (parts.size() == 2) name += fmt::format(":{}", parts[1]);
    if (count > 0) counts[name] = std::min(kMostGres, counts[name] + count);
  }
  return counts;
}

Result<Tres> parse_tres(std::string_view text) {
  Tres tres;
  if (text.empty()) return tres;
  if (text.size() > kLongestText) return fail("TRES text is too long");
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    if (equals == item.npos || !is_tres_name(name)) {
      return fail("TRES text is not of the form NAME=COUNT,…");
    }
    if (name == "billing" || name == "energy") continue;
    const std::string_view number = item.substr(equals + 1);
    const auto count = name == "mem" ? parse_memory_mb(number) : parse_count(number, kMostTres);
    if (!count) return fail(fmt::format("TRES {}: the count is not a number in range", name));
    if (*count > 0) tres[std::string(name)] = *count;
  }
  count_typed_once(tres);
  return tres;
}

Result<Demand> demand_of(const SizeOptions& size) {
  for (const std::uint32_t count : {size.min_nodes, size.max_nodes, size.tasks, size.cpus_per_task,
                                    size.tasks_per_node, size.min_cpus}) {
    if (count > kMostCpus) return fail("-N/-n/-c: more than any cluster has");
  }
  const std::int64_t nodes = std::max<std::uint32_t>(size.min_nodes, 1);
  if (size.max_nodes > 0 && size.max_nodes < nodes) {
    return fail("--nodes: the largest number is below the smallest");
  }
  const auto cpus = cpus_of(size, nodes);
  if (!cpus) return tl::make_unexpected(cpus.error());
  const auto memory_mb = memory_of(size, nodes, *cpus);
  if (!memory_mb) return tl::make_unexpected(memory_mb.error());
  const auto forms = gres_forms_of(size);
  if (!forms) return tl::make_unexpected(forms.error());

  Demand demand;
  demand.shape = shape_of(size, nodes, *cpus);
  if (const auto named = fill_names(size, demand.shape); !named) {
    return tl::make_unexpected(named.error());
  }
  demand.shape.gres_per_node = forms->per_node;
  keep_largest(demand.shape.gres_total, forms->per_job, 1);
  keep_largest(demand.shape.gres_total, forms->per_task, tasks_of(size, nodes));

  GresCounts total = demand.shape.gres_total;
  keep_largest(total, forms->per_node, nodes);
  // The same GPUs in two forms: what every node gives is all there is of them.
  erase_if(demand.shape.gres_total, [&](const auto& item) {
    const auto each = forms->per_node.find(item.first);
    return each != forms->per_node.end() && item.second <= each->second * nodes;
  });
  if (const auto consistent = refuse_mixed_types(total); !consistent) {
    return tl::make_unexpected(consistent.error());
  }
  demand.tres = {{"cpu", *cpus}, {"node", nodes}};
  if (*memory_mb > 0) demand.tres["mem"] = *memory_mb;
  for (const auto& [name, count] : total) demand.tres["gres/" + name] = count;
  return demand;
}

}  // namespace market
