// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/machine.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <optional>

#include "core/sim/sacct_fields.h"

namespace market::sim {
namespace {

constexpr std::uint32_t kMostNodes = 1'000'000;
constexpr std::uint32_t kMostCores = 65536;  // of a node
constexpr const char* kForm =
    "write COUNTxCORES[:MEMORY][:gpu=COUNT],…, such as 144x8 or 100x8:64G,4x32:512G:gpu=4";

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || number == 0 || number > most)
    return std::nullopt;
  return number;
}

/// Cuts the text before the first `mark` off; all of it where there is none.
std::string_view cut(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return head;
}

/// How many nodes of which kind "100x8:64G:gpu=4" names; 0 when it is no such text.
std::uint32_t parse_group(std::string_view group, MachineNode& node) {
  if (group.ends_with(':')) return 0;
  std::string_view rest = group;
  std::string_view size = cut(rest, ":");
  const std::string_view cross = size.find("×") != std::string_view::npos ? "×" : "x";
  const auto count = parse_count(cut(size, cross), kMostNodes);
  const auto cores = parse_count(size, kMostCores);
  if (!count || !cores) return 0;
  node.cores = *cores;
  while (!rest.empty()) {
    std::string_view part = cut(rest, ":");
    if (part.starts_with("gpu=")) {
      const auto gpus = parse_count(part.substr(4), kMostCores);
      if (!gpus) return 0;
      node.gpus = *gpus;
      continue;
    }
    const auto memory = sacct::parse_memory(part, 1, 1);
    if (!memory || memory->node_mb == 0) return 0;
    node.mem_mb = memory->node_mb;
  }
  return *count;
}

}  // namespace

Result<Machine> Machine::parse(std::string_view text) {
  Machine machine;
  std::string_view rest = text;
  if (text.ends_with(',')) return fail(fmt::format("\"{}\": {}", text, kForm));
  do {
    MachineNode node;
    const std::uint32_t count = parse_group(cut(rest, ","), node);
    if (count == 0) return fail(fmt::format("\"{}\": {}", text, kForm));
    for (std::uint32_t i = 0; i < count; ++i) {
      node.name = fmt::format("n{}", machine.nodes.size() + 1);
      machine.nodes.push_back(node);
    }
    if (machine.nodes.size() > kMostNodes)
      return fail(fmt::format("\"{}\": at most {} nodes", text, kMostNodes));
  } while (!rest.empty());
  machine.partitions.push_back({"main", std::vector<std::uint32_t>(machine.nodes.size())});
  std::iota(machine.partitions[0].nodes.begin(), machine.partitions[0].nodes.end(), 0u);
  return machine;
}

std::uint32_t Machine::partition_of(std::string_view name) const {
  for (std::uint32_t i = 0; i < partitions.size(); ++i) {
    if (partitions[i].name == name) return i;
  }
  return 0;
}

std::uint64_t Machine::cores() const {
  return std::accumulate(
      nodes.begin(), nodes.end(), std::uint64_t{0},
      [](std::uint64_t sum, const MachineNode& node) { return sum + node.cores; });
}

}  // namespace market::sim
