// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/slurm_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/sim/line_reader.h"
#include "core/sim/sacct_fields.h"
#include "core/util/hostlist.h"

namespace market::sim {
namespace {

constexpr std::size_t kMostConfNodes = 1'000'000;
constexpr int kDeepestInclude = 10;
constexpr std::uint32_t kMostNodeCores = 65536;

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return low;
}

/// "Key=Value Key="two words"" by keys in lower case.
using Fields = std::map<std::string, std::string>;

Fields fields_of(std::string_view line) {
  Fields fields;
  std::size_t at = 0;
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (at < line.size()) {
    while (at < line.size() && is_space(line[at])) ++at;
    std::size_t stop = at;
    bool is_quoted = false;
    while (stop < line.size() && (is_quoted || !is_space(line[stop])))
      is_quoted ^= line[stop++] == '"';
    std::string_view field = line.substr(at, stop - at);
    at = stop;
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    std::string value(field.substr(equals + 1));
    std::erase(value, '"');
    fields.emplace(lower(field.substr(0, equals)), std::move(value));
  }
  return fields;
}

std::optional<std::uint64_t> number_in(const Fields& fields, const char* key) {
  const auto found = fields.find(key);
  if (found == fields.end()) return std::nullopt;
  std::uint64_t number = 0;
  const std::string& text = found->second;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

std::string text_in(const Fields& fields, const char* key) {
  const auto found = fields.find(key);
  return found == fields.end() ? "" : found->second;
}

/// GPUs in "gpu:a100:4(S:0-1),gpu:2,shard:8".
std::uint32_t gpus_of(std::string_view gres) {
  std::uint32_t sum = 0;
  int depth = 0;
  std::string item;
  const auto add = [&] {
    const bool is_gpu = item == "gpu" || item.starts_with("gpu:");
    const std::size_t colon = item.rfind(':');
    std::uint32_t number = 1;  // a name alone is one of it
    if (colon != std::string::npos)
      (void)std::from_chars(item.data() + colon + 1, item.data() + item.size(), number);
    if (is_gpu) sum += number;
    item.clear();
  };
  for (const char c : gres) {
    if (c == '(') ++depth;
    if (c == ',' && depth == 0) {
      add();
    } else if (depth == 0) {
      item += c;
    }
    if (c == ')' && depth > 0) --depth;
  }
  add();
  return sum;
}

std::uint64_t cores_of(const Fields& fields) {
  for (const char* key : {"cpus", "procs", "cputot"}) {
    if (const auto cpus = number_in(fields, key)) return *cpus;
  }
  const std::uint64_t sockets = number_in(fields, "sockets").value_or(1);
  return sockets * number_in(fields, "corespersocket").value_or(1) *
         number_in(fields, "threadspercore").value_or(1);
}

class Builder {
 public:
  /// What is wrong with a line; "" when it is understood or not ours.
  std::string take(std::string_view line) {
    Fields fields = fields_of(line);
    const bool is_node = fields.contains("nodename");
    const std::string key = is_node                            ? "nodename"
                            : fields.contains("partitionname") ? "partitionname"
                                                               : "nodeset";
    const std::string names = text_in(fields, key.c_str());
    if (names.empty()) return "";
    if (key == "nodeset") {
      node_sets_.emplace(names, std::move(fields));
      return "";
    }
    Fields& defaults = is_node ? node_defaults_ : partition_defaults_;
    if (names == "DEFAULT") {
      fields.erase(key);
      fields.merge(defaults);
      defaults = std::move(fields);
      return "";
    }
    fields.insert(defaults.begin(), defaults.end());
    if (is_node) return add_nodes(names, fields);
    partitions_.push_back({names, std::move(fields)});
    return "";
  }

  Result<Machine> finish() {
    if (machine_.nodes.empty()) return fail("no node");
    for (const auto& [name, fields] : partitions_) {
      MachinePartition partition{name, {}};
      const std::string fault = add_members(text_in(fields, "nodes"), partition.nodes);
      if (!fault.empty()) return fail(fmt::format("partition {}: {}", name, fault));
      std::sort(partition.nodes.begin(), partition.nodes.end());
      partition.nodes.erase(std::unique(partition.nodes.begin(), partition.nodes.end()),
                            partition.nodes.end());
      if (partition.nodes.empty()) continue;
      const bool is_default = lower(text_in(fields, "default")) == "yes";
      machine_.partitions.insert(
          is_default ? machine_.partitions.begin() : machine_.partitions.end(),
          std::move(partition));
    }
    if (machine_.partitions.empty()) {
      machine_.partitions.push_back({"main", {}});
      (void)add_members("ALL", machine_.partitions[0].nodes);
    }
    return std::move(machine_);
  }

 private:
  std::string add_nodes(const std::string& list, const Fields& fields) {
    const auto names = expand_hostlist(list, kMostConfNodes);
    if (!names) return fmt::format("NodeName={}: {}", list, names.error().text);
    if (machine_.nodes.size() + names->size() > kMostConfNodes)
      return fmt::format("more than {} nodes", kMostConfNodes);
    const std::uint64_t cores = cores_of(fields);
    if (cores == 0 || cores > kMostNodeCores)
      return fmt::format("NodeName={}: {} CPUs; allowed are 1 to {}", list, cores, kMostNodeCores);
    const bool is_future = lower(text_in(fields, "state")).starts_with("future");
    for (const std::string& name : *names) {
      const auto index = static_cast<std::uint32_t>(machine_.nodes.size());
      if (is_future) {
        futures_.emplace(name, true);
        continue;
      }
      if (!places_.emplace(name, index).second)
        return fmt::format("NodeName={}: {} comes twice", list, name);
      MachineNode node{name, static_cast<std::uint32_t>(cores), gpus_of(text_in(fields, "gres")),
                       number_in(fields, "realmemory").value_or(0)};
      machine_.nodes.push_back(std::move(node));
      std::string features = text_in(fields, "feature");
      if (features.empty()) features = text_in(fields, "features");
      features_.push_back("," + features + ",");
    }
    return "";
  }

  std::string add_members(const std::string& list, std::vector<std::uint32_t>& members) {
    if (list.empty() || list == "(null)") return "";
    if (list == "ALL") {
      for (std::uint32_t i = 0; i < machine_.nodes.size(); ++i) members.push_back(i);
      return "";
    }
    const auto names = expand_hostlist(list, kMostConfNodes);
    if (!names) return fmt::format("Nodes={}: {}", list, names.error().text);
    for (const std::string& name : *names) {
      const auto place = places_.find(name);
      const auto set = node_sets_.find(name);
      if (place != places_.end()) {
        members.push_back(place->second);
      } else if (set != node_sets_.end()) {
        const Fields fields = set->second;
        node_sets_.erase(name);  // one that holds itself is not followed for ever
        const std::string fault = add_set(fields, members);
        node_sets_.emplace(name, fields);
        if (!fault.empty()) return fault;
      } else if (!futures_.contains(name)) {
        return fmt::format("{} is no node", name);
      }
    }
    return "";
  }

  std::string add_set(const Fields& fields, std::vector<std::uint32_t>& members) {
    const std::string feature = text_in(fields, "feature");
    for (std::uint32_t i = 0; i < features_.size() && !feature.empty(); ++i) {
      if (features_[i].find("," + feature + ",") != std::string::npos) members.push_back(i);
    }
    return add_members(text_in(fields, "nodes"), members);
  }

  Machine machine_;
  Fields node_defaults_, partition_defaults_;
  std::vector<std::pair<std::string, Fields>> partitions_;
  std::map<std::string, Fields> node_sets_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::unordered_map<std::string, bool> futures_;
  std::vector<std::string> features_;  // of each node, between commas
};

/// The part of a line before "#", which a backslash keeps.
std::string without_remark(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] != '\\')) break;
    text += line[i];
  }
  return text;
}

Result<void> read_lines(const std::string& path, int depth, Builder& builder) {
  auto reader = LineReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  std::string whole;
  while (const auto line = reader->next()) {
    whole += without_remark(*line);
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    const std::size_t begin = whole.find_first_not_of(" \t");
    const std::string text = begin == std::string::npos ? "" : whole.substr(begin);
    whole.clear();
    const std::string where = fmt::format("{}: line {}", path, reader->number());
    if (lower(text).starts_with("include ")) {
      const std::size_t name = text.find_first_not_of(" \t", 8);
      const std::size_t last = text.find_last_not_of(" \t");
      if (name == std::string::npos) return fail(where + ": Include without a file");
      if (depth == kDeepestInclude) return fail(where + ": files include each other too deep");
      const auto included =
          std::filesystem::path(path).parent_path() / text.substr(name, last - name + 1);
      const auto read = read_lines(included.string(), depth + 1, builder);
      if (!read) return fail(fmt::format("{}: {}", where, read.error().text));
      continue;
    }
    const std::string fault = builder.take(text);
    if (!fault.empty()) return fail(fmt::format("{}: {}", where, fault));
  }
  if (!reader->error().empty()) return fail(reader->error());
  return {};
}

Result<Machine> finish(Builder& builder, const std::string& source) {
  auto machine = builder.finish();
  if (!machine) return fail(fmt::format("{}: {}", source, machine.error().text));
  return machine;
}

}  // namespace

Result<Machine> read_slurm_conf(const std::string& path) {
  Builder builder;
  const auto read = read_lines(path, 0, builder);
  if (!read) return tl::unexpected(read.error());
  return finish(builder, path);
}

Result<Machine> machine_of_scontrol(std::string_view text, const std::string& source) {
  Builder builder;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string fault = builder.take(text.substr(0, end));
    if (!fault.empty()) return fail(fmt::format("{}: {}", source, fault));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return finish(builder, source);
}

}  // namespace market::sim
