// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's rules for sizes, the part that needs no nodes: what a site's settings make of the options
// before nodes are chosen, and which options are refused. slurm_count.h does the part with nodes.
// Source: Slurm 22.05, slurmctld/job_mgr.c (_valid_pn_min_mem), common/gres.c
// (gres_job_state_validate), select/cons_common/job_test.c (_set_gpu_defaults), each rule tried on
// a real cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/util/result.h"
#include "core/words/resources.h"
#include "core/words/slurm_view.h"

namespace market {

/// A request as Slurm takes it.
struct SlurmRequest {
  /// Tasks, CPUs per task and memory after the site's limits and defaults; memory per GPU and CPUs
  /// per GPU stand below instead.
  SizeOptions size;
  std::uint32_t least_cpus = 0;    ///< on every node, more than one task needs; 0: none
  std::uint32_t cpus_per_gpu = 0;  ///< 0: CPUs go by tasks alone
  std::uint64_t mem_per_gpu_mb = 0;
  GresCounts gpus_per_job, gpus_per_node;  ///< asked for; per task: part of `size` only
  bool raised = false;  ///< CPUs per task were raised to keep within MaxMemPerCPU
};

/// Whether a gres, "gpu" or "gpu:a100", is one of the GPUs that Slurm has options for.
bool is_gpu(std::string_view gres);

/// What Slurm takes `size` for in a partition with these rules. Fails with one line that names the
/// option where Slurm refuses it, or what it would allocate cannot be told.
Result<SlurmRequest> as_slurm_takes(const SizeOptions& size, const market_partition_rules_t& rules);

/// Settles the tasks, and the nodes where they go by --ntasks-per-node, once the least number of
/// nodes is known.
Result<void> settle_tasks(SlurmRequest& request);

inline std::uint64_t divide_up(std::uint64_t amount, std::uint64_t by) {
  return amount / by + (amount % by != 0 ? 1 : 0);
}

inline std::uint64_t at_least_one(std::uint64_t count) {
  return std::max<std::uint64_t>(count, 1);
}

/// Of all kinds of a gres together.
std::uint64_t total_of(const GresCounts& counts);

}  // namespace market
