// SPDX-License-Identifier: GPL-2.0-or-later
// sbill's JSON. Amounts are strings of decimal credits, so that no reader rounds them.
#pragma once

#include <string>
#include <vector>

#include "contrib/sbill/statement.h"
#include "core/ledger/ledger.h"

namespace market::sbill {

std::string bill_json(const std::vector<ledger::Segment>& runs);
std::string statement_json(const Statement& statement);

}  // namespace market::sbill
