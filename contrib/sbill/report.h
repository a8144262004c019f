// SPDX-License-Identifier: GPL-2.0-or-later
// What sbill prints: the bill of runs and the statement of an account.
#pragma once

#include <string>

#include "contrib/sbill/options.h"
#include "core/ledger/ledger.h"

namespace market::sbill {

/// The names for --format, four to a line.
std::string help_format();

/// A row for each of the runs that the options ask for. Fails when --format names no field.
Result<std::string> bill(std::vector<ledger::Segment> runs, const Options& options);

/// Opening balance, every change of the balance, closing balance of one account. `currency` is
/// named in the heading.
Result<std::string> statement(const ledger::Ledger& ledger, const Options& options,
                              const std::string& currency);

}  // namespace market::sbill
