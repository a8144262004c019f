// SPDX-License-Identifier: GPL-2.0-or-later
// A run in JSON. Amounts are strings of decimal credits, so that no reader rounds them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/ledger/ledger.h"

namespace market::client {

/// All fields that a bill can show.
nlohmann::ordered_json json_of(const ledger::Segment& run);

}  // namespace market::client
