// SPDX-License-Identifier: GPL-2.0-or-later
// How much prior bids, which `smarket learn` made up from a log, still count.
#pragma once

#include <vector>

#include "core/config/config.h"
#include "core/mechanism/mechanism.h"
#include "core/words/past_bid.h"

namespace market {

/// Sets the weights of the prior ones among `bids`, which are of one market and without rates. The
/// prior bids tell of a usual cycle (`predictor.cycle`). Each billing-hour of a real bid takes the
/// place of one of that cycle, so that demand which stays the same is learned as the same all the
/// while; when as much was bid for as in a cycle, they count no more.
void weigh_prior(std::vector<PastBid>& bids, const MarketSettings& settings,
                 const Capacity& capacity, Time now);

}  // namespace market
