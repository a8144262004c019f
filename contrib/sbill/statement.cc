// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/sbill/statement.h"

#include <fmt/format.h>

#include <limits>

#include "contrib/client/table.h"
#include "contrib/sbill/json.h"
#include "contrib/sbill/report.h"
#include "core/util/slurm_time.h"

namespace market::sbill {
namespace {

using client::TextColumn;

const std::vector<TextColumn>& columns() {
  static const std::vector<TextColumn> columns = {
      {"Time", -19, false},        {"Kind", -8, false},   {"JobID", -10, false},
      {"Restarts", 8, false},      {"Amount", 12, false}, {"Balance", 12, false},
      {"Counterpart", -12, false}, {"Note", -20, false}};
  return columns;
}

std::vector<std::vector<std::string>> rows_of(const Statement& statement) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {format_time(statement.since), "opening", "", "", "", statement.opening.to_string(), "", ""});
  for (const StatementLine& line : statement.lines) {
    rows.push_back({format_time(line.entry.time), line.entry.kind, line.job, line.restarts,
                    line.entry.amount.to_string(), line.balance.to_string(), line.entry.counterpart,
                    line.entry.note});
  }
  rows.push_back(
      {format_time(statement.until), "closing", "", "", "", statement.closing.to_string(), "", ""});
  return rows;
}

}  // namespace

Result<Statement> read_statement(const ledger::Ledger& ledger, const std::string& account,
                                 Time since, Time until) {
  const auto all = ledger.entries(account, std::numeric_limits<Time>::min(), until);
  if (!all) return tl::unexpected(all.error());
  Statement statement{account, since, until, {}, {}, {}};
  for (const ledger::Entry& entry : *all) {
    statement.account = entry.account;
    statement.closing += entry.amount;
    if (entry.time < since) {
      statement.opening += entry.amount;
      continue;
    }
    StatementLine line{entry, "", "", statement.closing};
    if (!entry.segment_key.empty()) {
      line.job = std::to_string(entry.job_id);
      line.restarts = std::to_string(entry.restart);
    }
    statement.lines.push_back(std::move(line));
  }
  return statement;
}

Result<std::string> statement(const ledger::Ledger& ledger, const Options& options,
                              const std::string& currency) {
  const Time since = options.filter.since.value_or(std::numeric_limits<Time>::min());
  const Time until = options.filter.until.value_or(std::numeric_limits<Time>::max());
  const auto result = read_statement(ledger, options.statement_of, since, until);
  if (!result) return tl::unexpected(result.error());
  if (options.style.output == Output::kJson) return statement_json(*result);
  std::string text;
  if (options.style.output == Output::kTable && options.style.header) {
    text = fmt::format("Statement of {}, {} to {}, in {}\n", result->account, format_time(since),
                       format_time(until), currency);
  }
  return text + client::render(columns(), rows_of(*result), options.style);
}

}  // namespace market::sbill
