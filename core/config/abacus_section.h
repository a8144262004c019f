// SPDX-License-Identifier: GPL-2.0-or-later
// The part of market.conf about abacus.
#pragma once

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

/// Reads `abacus`, validated, into `config`; faults are noted in the document of `root`.
void read_abacus(Section& root, MarketSettings& config);

}  // namespace market::config
