// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/convert.h"

#include <algorithm>
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
        std::uint64_t{size.exclusive}, std::uint64_t{size.all_memory},
        std::uint64_t{size.memory_named}, std::uint64_t{size.cpus_per_node},
        std::uint64_t{size.tasks_per_core}, std::uint64_t{size.threads_per_core},
        std::uint64_t{size.tasks_per_gpu}, std::uint64_t{size.uncounted}}) {
    mix(number);
  }
  for (const char* value :
       {job.account, job.partition, job.tres_req, size.tres_per_job, size.tres_per_node,
        size.tres_per_socket, size.tres_per_task, size.req_nodes, size.exc_nodes, size.features,
        size.cpus_per_tres, size.mem_per_tres}) {
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
  options.memory_named = size.memory_named;
  options.cpus_per_node = size.cpus_per_node;
  options.tasks_per_core = size.tasks_per_core;
  options.threads_per_core = size.threads_per_core;
  options.tasks_per_gpu = size.tasks_per_gpu;
  options.cpus_per_tres = or_empty(size.cpus_per_tres);
  options.mem_per_tres = or_empty(size.mem_per_tres);
  options.uncounted = size.uncounted;
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

}  // namespace market
