// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of market.conf about what is sold: names of resources, configurations, virtual
// resources.
#pragma once

#include <string_view>

#include "core/config/config.h"
#include "core/config/reader.h"

namespace market::config {

/// Whether this is the name of a TRES that can be sold: cpu, mem, node, gres/NAME[:TYPE].
bool is_tres(std::string_view name);
/// Whether this is the name of a virtual resource: virtual/NAME.
bool is_virtual(std::string_view name);

/// Reads `configurations` and `virtual_resources`, validated, into `config`; faults are noted in
/// the document of `root`.
void read_resources(Section& root, MarketSettings& config);

}  // namespace market::config
