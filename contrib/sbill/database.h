// SPDX-License-Identifier: GPL-2.0-or-later
// Which ledger to read.
#pragma once

#include <string>

#include "core/util/result.h"

namespace market::sbill {

struct Source {
  std::string database;
  std::string currency = "credits";
};

/// `database` when given, else the one that market.conf names: `config` when given, else
/// $MARKET_CONF, else market.conf beside $SLURM_CONF, else /etc/slurm/market.conf. Fails when that
/// file cannot be read or is wrong.
Result<Source> find_source(const std::string& database, const std::string& config);

}  // namespace market::sbill
