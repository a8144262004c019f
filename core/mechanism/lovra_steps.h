// SPDX-License-Identifier: GPL-2.0-or-later
// LOVRA for what is handed out in whole units: Slurm knows no third of a CPU.
#pragma once

#include <span>

#include "core/mechanism/lovra.h"

namespace market {

/// lovra() in whole steps of each dimension, counted from its demand: the shares are cut down to
/// steps, and what is left of the budget goes, as often as it pays for a step, to the dimension in
/// which its steps shorten the run most. A dimension with a workload and without a price gets its
/// demand. False as lovra(), and when the optimal shares fall short of the demand (eq. 2).
/// `result`: payment and time of the whole shares; the payment unit stays within the budget.
bool lovra_in_steps(const LovraProblem& problem, std::span<const double> steps,
                    std::span<double> shares, LovraShares* result);

}  // namespace market
