// SPDX-License-Identifier: GPL-2.0-or-later
// Formal, actual and virtual resources (ERA, section 2.2).
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/config/config.h"

namespace market {

/// Amounts of resources by TRES name, "virtual/NAME" among them; parts of a unit are possible.
using Amounts = std::map<std::string, double, std::less<>>;

/// What the cluster needs for `formal`, which is what a user asked for. Each configuration in turn
/// takes as many of its formal bundles as are left of the request, whole or in part (n = the least
/// of amount left ÷ amount in the bundle; a formal gres without a type takes of all its types), and
/// stands for n of its actual bundles; what no configuration takes stands for itself. Sums are in
/// whole parts of 2^-20 unit, rounded down, so that promises add up and are taken back without a
/// trace.
Amounts actual_amounts(const Tres& formal, std::span<const ResourceConfiguration> configurations);

}  // namespace market
