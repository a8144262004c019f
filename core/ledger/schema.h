// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of the ledger and how an older schema becomes the present one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/ledger/sqlite.h"

namespace market::ledger {

/// steps[n] turns schema n into schema n + 1; schema 0 is an empty file.
using SchemaSteps = std::vector<std::string>;
const SchemaSteps& schema_steps();

/// Opens `path`, makes it when `mode` says so, and brings it to schema steps.size(); an older
/// schema is first copied to "PATH.schema-N". Throws Failure, naming the file: missing, no
/// permission, not a ledger, newer than this program.
std::unique_ptr<Database> open_database(const std::string& path, Mode mode,
                                        const SchemaSteps& steps);

/// Accounts that every ledger has. No name given by a person can be one of these.
inline constexpr std::int64_t kTreasury = 1;  ///< where deposits come from and withdrawals go
inline constexpr std::int64_t kRevenue = 2;   ///< what the cluster earned

}  // namespace market::ledger
