// SPDX-License-Identifier: GPL-2.0-or-later
// Why a job fits on no nodes, in the words of the options that ask for too much.
#pragma once

#include <optional>
#include <string>

#include "core/plan/node_plan.h"
#include "core/words/resources.h"

namespace market {

/// Nothing when `shape` fits in `partition` if it were empty and all nodes usable; else one line
/// that names the option of which nothing there is enough: the first of features, named nodes,
/// CPUs, memory and gres of one node, then what all its nodes together lack.
std::optional<std::string> fit_reason(const Shape& shape, const std::string& partition,
                                      const NodePlan& plan);

}  // namespace market
