// SPDX-License-Identifier: GPL-2.0-or-later
// `bank` in market.conf: receipts between clusters.
#pragma once

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

void read_bank(Section& root, Config& config);

}  // namespace market::config
