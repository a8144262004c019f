// SPDX-License-Identifier: GPL-2.0-or-later
// The price basis of jobs that take more of a node than they ask for: --exclusive and --mem=0.
#pragma once

#include <string>

#include "core/plan/node_plan.h"
#include "core/util/result.h"
#include "core/words/resources.h"

namespace market {

/// Counts in `demand.tres` what the job takes: with shape.exclusive all CPUs, gres and (where it is
/// consumable) memory of its nodes, with shape.all_memory their memory; other demands stay as they
/// are. The number of nodes is the least that holds the job on the empty cluster, and becomes the
/// most it may have, so that what is priced is what is placed. Doing it twice changes nothing.
/// Fails when the nodes the job could get differ in what is counted, since the price of a start is
/// known before its nodes are.
Result<void> count_whole_nodes(Demand& demand, const std::string& partition, const NodePlan& plan);

}  // namespace market
