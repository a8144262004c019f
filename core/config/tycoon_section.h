// SPDX-License-Identifier: GPL-2.0-or-later
// The part of market.conf about tycoon.
#pragma once

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

/// Reads `tycoon`, validated, into `config`; faults are noted in the document of `root`.
void read_tycoon(Section& root, MarketSettings& config);

}  // namespace market::config
