// SPDX-License-Identifier: GPL-2.0-or-later
// The part of market.conf about whose nodes are whose.
#pragma once

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

/// Reads `owners`, validated, into `config`; faults are noted in the document of `root`. Prices are
/// within `config.asks`.
void read_owners(Section& root, MarketSettings& config);

}  // namespace market::config
