// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon's auctioneer: one resource of one host, shared in proportion to continuous bids.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "core/util/result.h"

namespace market::tycoon {

/// Stands for "all that was allocated".
inline constexpr double kAllUsed = std::numeric_limits<double>::infinity();

struct Account {
  double balance = 0;      ///< credits, >= 0
  double interval = 0;     ///< seconds over which to spend the balance, > 0
  double used = kAllUsed;  ///< average over the period, in the unit of the capacity, >= 0
};

struct Host {
  double capacity = 0;       ///< > 0
  double period = 10;        ///< seconds between two charges, > 0
  double min_share = 0.001;  ///< bidders below this part of all bids are logged off, 0..1
};

struct Grant {
  std::size_t account = 0;  ///< index
  double bid = 0;           ///< credits/s
  double allocation = 0;    ///< in the unit of the capacity
  double charge_rate = 0;   ///< credits/s
  double balance = 0;       ///< credits, after the period
};

struct Period {
  double total_bid = 0;              ///< credits/s, of those left
  double spent_rate = 0;             ///< credits/s: what the host advertises (equation 3)
  std::vector<Grant> grants;         ///< of those left, in input order
  std::vector<std::size_t> evicted;  ///< indices in order of eviction; their balances stay
};

/// One period of an auctioneer (Tycoon, section 3.3.3, equations 1 to 3; rules of solve.md,
/// tycoon-allocate): allocation in proportion to balance/interval, smallest bidders below the
/// least share logged off first, charges for what was used. O(n log n). Fails when the bids or
/// their sum are beyond the range of a double.
Result<Period> allocate(const Host& host, const std::vector<Account>& accounts);

}  // namespace market::tycoon
