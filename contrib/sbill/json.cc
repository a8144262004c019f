// SPDX-License-Identifier: GPL-2.0-or-later
// The only file that includes nlohmann's JSON, which is slow to compile.
#include "contrib/sbill/json.h"

#include <nlohmann/json.hpp>

#include "contrib/client/fields.h"
#include "contrib/client/run_json.h"
#include "core/util/slurm_time.h"

namespace market::sbill {
namespace {

using Json = nlohmann::ordered_json;

/// Names and notes may hold bytes that are not UTF-8; they are replaced, never a reason to fail.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string bill_json(const std::vector<ledger::Segment>& runs) {
  Json jobs = Json::array();
  for (const ledger::Segment& run : runs) jobs.push_back(client::json_of(run));
  const client::Totals totals = client::totals_of(runs);
  return dump({{"jobs", std::move(jobs)},
               {"totals",
                {{"runs", totals.runs},
                 {"quoted", totals.quoted.to_string()},
                 {"charged", totals.charged.to_string()},
                 {"refunded", totals.refunded.to_string()},
                 {"cost", (totals.charged - totals.refunded).to_string()}}}});
}

std::string statement_json(const Statement& statement) {
  Json lines = Json::array();
  for (const StatementLine& line : statement.lines) {
    lines.push_back({{"time", format_time_with_offset(line.entry.time)},
                     {"kind", line.entry.kind},
                     {"job_id", line.job},
                     {"restarts", line.restarts},
                     {"counterpart", line.entry.counterpart},
                     {"amount", line.entry.amount.to_string()},
                     {"balance", line.balance.to_string()},
                     {"note", line.entry.note}});
  }
  return dump({{"account", statement.account},
               {"since", format_time_with_offset(statement.since)},
               {"until", format_time_with_offset(statement.until)},
               {"opening_balance", statement.opening.to_string()},
               {"lines", std::move(lines)},
               {"closing_balance", statement.closing.to_string()}});
}

}  // namespace market::sbill
