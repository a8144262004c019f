// SPDX-License-Identifier: GPL-2.0-or-later
// What a job asks for, in Slurm's words: TRES totals for the price, a shape for the places on
// nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/flat_map.h"
#include "core/util/result.h"

namespace market {

/// TRES totals of one job. Names as in Slurm: "cpu" (CPUs), "mem" (MB), "node", "gres/gpu",
/// "gres/gpu:a100". A typed gres counts under its typed name only; TresPrice (config) falls back
/// from "gres/gpu:a100" to "gres/gpu".
using Tres = FlatMap<std::int64_t>;

/// Amounts of gres by name, "gpu:a100" → 4.
using GresCounts = FlatMap<std::int64_t>;

/// 0 where `tres` does not name it.
inline std::int64_t amount_in(const Tres& tres, std::string_view name) {
  const auto found = tres.find(name);
  return found == tres.end() ? 0 : found->second;
}

/// Parses Slurm's own text form "cpu=4,mem=4G,node=1,billing=4,gres/gpu=4,gres/gpu:a100=4"
/// (job_record_t's tres_fmt_req_str and tres_fmt_alloc_str). Memory comes out in MB; "billing" and
/// "energy" are dropped; an untyped gres count is reduced by its typed counts so that nothing
/// counts twice. Fails on text of another form.
Result<Tres> parse_tres(std::string_view text);

/// Sizes as sbatch's options give them; 0 or empty: not given.
struct SizeOptions {
  std::uint32_t min_nodes = 0;
  std::uint32_t max_nodes = 0;
  std::uint32_t tasks = 0;
  std::uint32_t cpus_per_task = 0;
  std::uint32_t tasks_per_node = 0;
  std::uint32_t min_cpus = 0;  ///< job_desc_msg_t.min_cpus: CPUs for the whole job
  std::uint64_t mem_per_node_mb = 0;
  std::uint64_t mem_per_cpu_mb = 0;
  std::string tres_per_job, tres_per_node, tres_per_socket,
      tres_per_task;                 ///< "gres:gpu:a100:4,gres:…"
  std::string req_nodes, exc_nodes;  ///< plain comma lists of node names (already expanded)
  std::string features;              ///< only plain names joined by "&"
  bool exclusive = false;
  bool all_memory = false;          ///< --mem=0
  bool memory_named = false;        ///< the memory is no default
  std::uint32_t cpus_per_node = 0;  ///< --mincpus
  std::uint32_t tasks_per_core = 0, threads_per_core = 0, tasks_per_gpu = 0;
  std::string cpus_per_tres, mem_per_tres;  ///< "gres:gpu:4"
  std::uint32_t uncounted = 0;              ///< bits of enum market_uncounted
};

/// Where a job fits: `nodes` nodes (0: any number), each with whole multiples of `cpus_per_task`
/// CPUs.
struct Shape {
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 0;  ///< 0: no limit
  /// Of a range of nodes that was asked for, the most, which an auction may award: 0: none.
  std::uint32_t most_nodes = 0;
  std::uint32_t cpus = 1;  ///< for the whole job
  std::uint32_t cpus_per_task = 1;
  std::uint32_t tasks_per_node = 0;  ///< 0: free
  std::uint64_t mem_per_node_mb = 0;
  std::uint64_t mem_per_cpu_mb = 0;
  GresCounts gres_per_node;  ///< least on every node used
  GresCounts gres_total;     ///< over the whole job
  std::vector<std::string> req_nodes, exc_nodes, features;
  std::uint32_t threads_per_core = 0;  ///< only nodes with so many; 0: any
  bool exclusive = false;              ///< whole nodes
  bool all_memory = false;  ///< all memory of every node used, where memory is consumable
  bool operator==(const Shape& other) const = default;
};

/// Reads Slurm's "gres:gpu:a100:4,gres:shard:2" as sbatch's options leave it; `option` names it in
/// refusals.
Result<GresCounts> parse_gres(std::string_view text, std::string_view option);

/// What the options alone ask for, before Slurm's rules (slurm_count.h) and without a look at
/// nodes: TRES totals and shape of one job (or one array task); GPUs asked for by
/// --gres, --gpus,
/// --gpus-per-node, --gpus-per-task and --gpus-per-socket come out the same when they are the same
/// GPUs. Memory that is not given counts 0 here. Fails, naming the option, on what the market
/// cannot price or place (features with operators other than "&", malformed gres).
struct Demand {
  Tres tres;
  Shape shape;
};
Result<Demand> demand_of(const SizeOptions& size);

}  // namespace market
