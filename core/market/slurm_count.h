// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm will allocate to a request on the nodes there are: the part of Slurm's rules that
// looks at nodes. Source: Slurm 22.05, select/cons_common/{cons_common,job_test,dist_tasks}.c and
// select/cons_tres/{job_test,dist_tasks}.c, each rule tried on a real cluster.
#pragma once

#include <string>

#include "core/plan/node_plan.h"
#include "core/util/result.h"
#include "core/words/resources.h"
#include "core/words/slurm_view.h"

namespace market {

/// TRES and shape of what Slurm allocates for `size` in `partition`, CPUs rounded to cores and
/// raised as slurm_rules.h says. Where the number of nodes is left to Slurm and what is taken
/// depends on it (`nodes_cost`: so does the price of nodes), it becomes the least that holds the
/// job on the empty cluster. Where nodes differ in threads per core and so in the count, the
/// cheapest kind is taken and the shape keeps to it. Fails, naming the option, where the count
/// would depend on which nodes are free; a job that fits nowhere is counted as well as can be
/// (fit_reason.h).
Result<Demand> count_as_slurm(const SizeOptions& size, const market_partition_rules_t& rules,
                              const std::string& partition, const NodePlan& plan, bool nodes_cost);

}  // namespace market
