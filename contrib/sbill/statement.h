// SPDX-License-Identifier: GPL-2.0-or-later
// A statement of an account: what its balance was, each change, what it is.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::sbill {

struct StatementLine {
  ledger::Entry entry;
  std::string job, restarts;  ///< of the run it belongs to; empty: of none
  Money balance;              ///< after this line
};

struct Statement {
  std::string account;
  Time since = 0, until = 0;  ///< [since, until)
  Money opening, closing;
  std::vector<StatementLine> lines;
};

/// Reads the statement of `account` over [since, until); fails when there is no such account.
Result<Statement> read_statement(const ledger::Ledger& ledger, const std::string& account,
                                 Time since, Time until);

}  // namespace market::sbill
