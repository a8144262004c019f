// SPDX-License-Identifier: GPL-2.0-or-later
// sbatch's size options, as typed, and what sbatch would put into the job description for them.
#pragma once

#include <string>

#include "core/util/result.h"
#include "core/words/resources.h"

namespace market::smarket {

/// Texts exactly as typed; empty: not given.
struct SizeArguments {
  std::string nodes, tasks, cpus_per_task, tasks_per_node;
  std::string mincpus, tasks_per_core, threads_per_core, tasks_per_gpu;
  std::string mem, mem_per_cpu, mem_per_gpu;
  std::string gres, gpus, gpus_per_node, gpus_per_task, cpus_per_gpu;
  std::string constraint;
  bool exclusive = false;
};

/// The fields as sbatch fills them (tasks that follow from nodes, CPUs that follow from tasks,
/// "gres:" before each gres). Fails with one line that names the option.
Result<SizeOptions> size_options_of(const SizeArguments& typed);

}  // namespace market::smarket
