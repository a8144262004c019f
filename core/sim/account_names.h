// SPDX-License-Identifier: GPL-2.0-or-later
// Accounts of a log as books can have them.
#pragma once

#include <string>
#include <vector>

#include "core/sim/workload.h"

namespace market::sim {

/// A name for each account of the log, by number: its own in lower case where the ledger allows it, else
/// "accountN". No two are the same.
std::vector<std::string> ledger_accounts(const Workload& workload);

}  // namespace market::sim
