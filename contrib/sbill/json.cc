// SPDX-License-Identifier: GPL-2.0-or-later
// The only file that includes nlohmann's JSON, which is slow to compile.
#include "contrib/sbill/json.h"

#include <nlohmann/json.hpp>

#include "contrib/sbill/fields.h"
#include "core/util/slurm_time.h"

namespace market::sbill {
namespace {

using Json = nlohmann::ordered_json;

/// Names and notes may hold bytes that are not UTF-8; they are replaced, never a reason to fail.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json value_of(const Field& field, const ledger::Segment& run) {
  if (field.type == Type::kTime) {
    const Time time = field.time(run);
    return time == 0 ? Json() : Json(format_time_with_offset(time));
  }
  const std::string text = field.text(run);
  switch (field.type) {
    case Type::kInteger:
      return std::stoll(text);
    case Type::kNumber:
      return std::stod(text);
    case Type::kText:
    case Type::kTime:
      break;
  }
  return text;
}

}  // namespace

std::string bill_json(const std::vector<ledger::Segment>& runs) {
  Json jobs = Json::array();
  for (const ledger::Segment& run : runs) {
    Json job;
    for (const Field& field : all_fields())
      job[std::string(field.json_name)] = value_of(field, run);
    jobs.push_back(std::move(job));
  }
  const Totals totals = totals_of(runs);
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
