// SPDX-License-Identifier: GPL-2.0-or-later
// Bids of the past with all that a ledger keeps of them, for those who replay them.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::ledger {

/// The bids that Ledger::past_bids() tells, but for prior ones, of all times, in the order of their times; of all clusters
/// where `cluster` is empty. What a refused one could spend is not kept. The ledger is only read.
Result<std::vector<RecordBid>> read_kept_bids(const std::string& path, const std::string& cluster);

}  // namespace market::ledger
