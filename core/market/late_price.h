// SPDX-License-Identifier: GPL-2.0-or-later
// What a run owes of a contract's price that begins late.
#pragma once

#include <optional>

#include "core/config/config.h"
#include "core/market/job.h"
#include "core/words/slurm_view.h"

namespace market {

/// The part of the price that a run owes which began after what is planned for starting up (eq. 2 of the
/// contracts' paper, with the replica's value); nothing where it was in time. `observed`: by the start
/// that the market would have given it.
std::optional<double> ex_post_share(const Job& job, const market_job_t& ended,
                                    const MarketSettings& settings, bool observed);
/// What its completion at the end of its time limit is worth by its owner's own bid (section II-E).
Money worth_that_came_true(const Job& job, const market_job_t& ended,
                           const MarketSettings& settings);

}  // namespace market
