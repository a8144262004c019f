// SPDX-License-Identifier: GPL-2.0-or-later
// The mechanisms by name: a new one is its file pair and one line in table.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/mechanism/mechanism.h"

namespace market {

using MechanismMaker = std::unique_ptr<Mechanism> (*)(const MarketSettings& config);

/// All names that market.conf may give, in the table's order.
std::vector<std::string> mechanism_names();

/// The mechanism that the configuration names, a PostedPrice or an Auction; or which names there
/// are.
Result<std::unique_ptr<Mechanism>> make_mechanism(const MarketSettings& config);

/// Adds a mechanism from outside this folder to the table; before any market is open. False when
/// the name is taken.
bool add_mechanism(const std::string& name, MechanismMaker make);

}  // namespace market
