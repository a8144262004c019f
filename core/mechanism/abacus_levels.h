// SPDX-License-Identifier: GPL-2.0-or-later
// Service levels in abacus: which bids reach theirs beside all others that do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/mechanism/auction.h"
#include "core/util/draws.h"

namespace market {

/// A bid as its pool sees it.
struct LevelBid {
  double budget = 0;  ///< credits, > 0
  double cpus = 0;    ///< part of all CPUs that it asks for
  Time limit = 0,
       left = 0;  ///< seconds that it may run, and until its level; left 0: it has no level
  bool runs = false;
};

/// The part of all CPUs that a bid needs so as to be done in time: what it asks for × its time limit ÷
/// the time left. Above 1: nothing would do. Of a run, and without a level, 0: it needs no more.
double need_of(const LevelBid& bid);

/// The prolific pool among them (Abacus, section 6; divide_pools()), their utility being their share of
/// the CPUs. In the order of the bids. Where so many
/// have a level that the work is too much, those with the least budget for what they need, which were not tried, are
/// in no pool. A bid that waits and has no level takes no part in the division, and is in the pool with no share.
std::vector<ServiceLevel> service_levels(std::span<const LevelBid> bids, double alpha);

}  // namespace market
