// SPDX-License-Identifier: GPL-2.0-or-later
// The part of market.conf about what runs owe by how they end.
#pragma once

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

/// Reads `charge`, `cancel_grace` and `ends`, validated, into `config`; faults are noted in the document of
/// `root`.
void read_charges(Section& root, MarketSettings& config);

}  // namespace market::config
