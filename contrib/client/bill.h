// SPDX-License-Identifier: GPL-2.0-or-later
// Runs of those who may not read the ledger's file: the market tells them.
#pragma once

#include <vector>

#include "core/ledger/ledger.h"
#include "core/util/result.h"

namespace market::client {

/// The runs that the filter names and the asking user may see, in the ledger's order. Waits at most
/// some seconds for each page of them.
Result<std::vector<ledger::Segment>> ask_runs(const ledger::SegmentFilter& filter);

}  // namespace market::client
