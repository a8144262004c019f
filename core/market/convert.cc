// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/market/text.h"

namespace market {

std::uint64_t fingerprint_of(const market_job_t& job) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3;
    hash ^= hash >> 29;
  };
  const auto text = [&mix](const char* value) {
    mix(std::hash<std::string_view>{}(or_empty(value)));
  };
  const market_size_t& size = job.size;
  for (const std::uint64_t number :
       {std::uint64_t{job.time_limit_min}, static_cast<std::uint64_t>(job.deadline),
        std::uint64_t{size.min_nodes}, std::uint64_t{size.max_nodes}, std::uint64_t{size.tasks},
        std::uint64_t{size.cpus_per_task}, std::uint64_t{size.tasks_per_node},
        std::uint64_t{size.min_cpus}, size.mem_per_node_mb, size.mem_per_cpu_mb,
        std::uint64_t{size.exclusive}, std::uint64_t{size.all_memory}}) {
    mix(number);
  }
  for (const char* value :
       {job.account, job.partition, job.tres_req, size.tres_per_job, size.tres_per_node,
        size.tres_per_socket, size.tres_per_task, size.req_nodes, size.exc_nodes, size.features}) {
    text(value);
  }
  return hash;
}

SizeOptions size_options(const market_size_t& size) {
  SizeOptions options;
  options.min_nodes = size.min_nodes;
  options.max_nodes = size.max_nodes;
  options.tasks = size.tasks;
  options.cpus_per_task = size.cpus_per_task;
  options.tasks_per_node = size.tasks_per_node;
  options.min_cpus = size.min_cpus;
  options.mem_per_node_mb = size.mem_per_node_mb;
  options.mem_per_cpu_mb = size.mem_per_cpu_mb;
  options.tres_per_job = or_empty(size.tres_per_job);
  options.tres_per_node = or_empty(size.tres_per_node);
  options.tres_per_socket = or_empty(size.tres_per_socket);
  options.tres_per_task = or_empty(size.tres_per_task);
  options.req_nodes = or_empty(size.req_nodes);
  options.exc_nodes = or_empty(size.exc_nodes);
  options.features = or_empty(size.features);
  options.exclusive = size.exclusive;
  options.all_memory = size.all_memory;
  return options;
}

namespace {

// Where the node is among `nodes`; their size when it is not.
std::size_t index_of(const market_alloc_t& alloc, const std::vector<Node>& nodes) {
  if (alloc.name == nullptr) return std::min<std::size_t>(alloc.node, nodes.size());
  if (alloc.node < nodes.size() && nodes[alloc.node].name == alloc.name) return alloc.node;
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const Node& node) { return node.name == alloc.name; });
  return static_cast<std::size_t>(found - nodes.begin());
}

}  // namespace

Placement placement_of(const market_alloc_t* allocs, std::uint32_t count,
                       const std::vector<Node>& nodes) {
  Placement placement;
  placement.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t node = index_of(allocs[i], nodes);
    if (node >= nodes.size()) continue;
    Seat seat;
    seat.node = static_cast<std::uint32_t>(node);
    seat.mem_mb = allocs[i].mem_mb;
    seat.cores = allocs[i].core_words == nullptr
                     ? CoreSet::first(nodes[node].cores)
                     : CoreSet::from_words(allocs[i].core_words, allocs[i].word_count);
    placement.push_back(std::move(seat));
  }
  return placement;
}

std::string text_of(const Placement& placement, const std::vector<Node>& nodes) {
  std::string text;
  for (const Seat& seat : placement) {
    if (seat.node >= nodes.size()) return {};
    if (!text.empty()) text += ',';
    text += nodes[seat.node].name + ':';
    for (std::size_t i = 0; i < seat.cores.words().size(); ++i) {
      text += fmt::format("{}{:x}", i == 0 ? "" : ".", seat.cores.words()[i]);
    }
    text += ':';
    if (seat.mem_mb != 0) text += std::to_string(seat.mem_mb);
    text += ':';
    bool first = true;
    for (const auto& [name, count] : seat.gres) {
      text += fmt::format("{}{}={}", first ? "" : "+", name, count);
      first = false;
    }
  }
  return text;
}

namespace {

/// Cuts the part before the first `mark` off `text`; all of it when there is none.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::uint64_t number_from(std::string_view text, int base) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

}  // namespace

std::optional<Placement> placement_from(std::string_view text, const std::vector<Node>& nodes) {
  Placement placement;
  while (!text.empty()) {
    std::string_view part = cut(text, ',');
    const std::string_view name = cut(part, ':');
    const auto node =
        std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name == name; });
    if (node == nodes.end() || !node->usable) return std::nullopt;
    Seat seat;
    seat.node = static_cast<std::uint32_t>(node - nodes.begin());
    std::vector<std::uint64_t> words;
    for (std::string_view cores = cut(part, ':'); !cores.empty();)
      words.push_back(number_from(cut(cores, '.'), 16));
    seat.cores = CoreSet::from_words(words.data(), words.size());
    seat.mem_mb = number_from(cut(part, ':'), 10);
    while (!part.empty()) {
      std::string_view gres = cut(part, '+');
      const std::string_view gres_name = cut(gres, '=');
      seat.gres[std::string(gres_name)] = static_cast<std::int64_t>(number_from(gres, 10));
    }
    placement.push_back(std::move(seat));
  }
  if (placement.empty()) return std::nullopt;
  return placement;
}

}  // namespace market
