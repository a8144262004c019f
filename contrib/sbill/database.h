// SPDX-License-Identifier: GPL-2.0-or-later
// Where bills come from: the ledger's file, for those who may read it, else the market.
#pragma once

#include <optional>
#include <string>

#include "contrib/sbill/options.h"
#include "core/util/result.h"

namespace market::sbill {

struct Source {
  std::optional<ledger::Ledger> ledger;  ///< nothing: the market is asked
  std::string currency = "credits";
};

/// The ledger that --database names, else the one of market.conf: --config, else $MARKET_CONF, else
/// market.conf beside $SLURM_CONF, else /etc/slurm/market.conf. The market when it is not there or
/// not ours to read. Fails when what an option names cannot be used, or market.conf is wrong.
Result<Source> find_source(const Options& options);

/// The runs that the options' filter names; of the market those that the user may see.
Result<std::vector<ledger::Segment>> read_runs(const Source& source, const Options& options);

}  // namespace market::sbill
