// SPDX-License-Identifier: GPL-2.0-or-later
// Billing units: what a price is a price of. One formula for prices, quotes, bills and learning.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/mechanism/resource_map.h"

namespace market {

/// Billing units of one unit of a TRES as Slurm counts it (memory: MB); the weight of market.conf.
double weight_per_unit(const MarketSettings& config, std::string_view tres);

/// Billing units of actual resources: the sum over them, or the largest, as `billing_rule` says.
double billing_units(const MarketSettings& config, const Amounts& actual);

/// `tres` with each gres that is asked for without a type named by its type, where `names` (TRES
/// names of a cluster) has only one.
Tres with_only_types(const Tres& tres, const std::set<std::string, std::less<>>& names);

/// Billing units of what a job asks for on a cluster with these TRES names: those of the actual
/// resources that its `configurations` make of it.
double billing_units_of(const MarketSettings& config, const Tres& tres,
                        const std::set<std::string, std::less<>>& names);

}  // namespace market
