// SPDX-License-Identifier: GPL-2.0-or-later
// Where market.conf and the ledger are, and whether we may.
#pragma once

#include <sys/types.h>

#include <string>

#include "contrib/smarket/output.h"
#include "core/config/config.h"
#include "core/ledger/ledger.h"

namespace market::smarket {

/// --config, else $MARKET_CONF, else market.conf beside $SLURM_CONF, else /etc/slurm/market.conf.
std::string config_path(const Common& common);

/// The configuration, or why it cannot be used.
Result<Config> find_config(const Common& common);

/// Opens the ledger that the configuration names. A ledger that root makes (kCreate) is handed to
/// the owner of its folder, so that slurmctld, which runs as SlurmUser, can use it.
Result<ledger::Ledger> open_ledger(const Common& common, ledger::Mode mode);

/// SlurmUser as slurm.conf beside market.conf says; root when it says nothing or cannot be read.
uid_t slurm_user(const Common& common);

/// ClusterName as slurm.conf beside market.conf says; "" when it says nothing or cannot be read.
std::string cluster_name(const Common& common);

/// The user who types.
std::string user_name();

}  // namespace market::smarket
