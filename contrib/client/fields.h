// SPDX-License-Identifier: GPL-2.0-or-later
// What a bill can show of a run: one table of fields for columns, --helpformat and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/util/result.h"

namespace market::client {

/// How a field is written in JSON. Amounts are strings, so that no reader rounds them.
enum class Type { kText, kInteger, kNumber, kTime };

struct Field {
  std::string_view name;
  int width;   ///< least width of its column; negative: to the left, as in sacct
  bool exact;  ///< its column grows rather than cut a value, unless a width was asked for
  Type type;
  std::string_view json_name;
  std::string (*text)(const ledger::Segment&);
  Time (*time)(const ledger::Segment&) = nullptr;  ///< of kTime; 0: not known
};

const std::vector<Field>& all_fields();
inline constexpr std::string_view kDefaultFormat =
    "JobID,Restarts,User,Account,Partition,State,Elapsed,BillingHours,Quoted,Charged,Refunded,"
    "Mechanism";

struct Column {
  const Field* field = nullptr;
  int width = 0;       ///< negative: to the left
  bool fixed = false;  ///< the width was asked for: longer values are cut
};

/// Reads "JobID,Note%40,User%-12". Names match without regard to case; "ALL" means every field.
/// Fails naming the field.
Result<std::vector<Column>> parse_format(const std::string& format);

/// "12_3" for a task of an array, "12+1" for a component of a heterogeneous job, else "12".
std::string job_id_text(const ledger::Segment& run);

/// Sums over runs.
struct Totals {
  std::size_t runs = 0;
  double billing_hours = 0;
  Money quoted, charged, refunded;
};
Totals totals_of(const std::vector<ledger::Segment>& runs);
/// Billing units times hours run.
double billing_hours_of(const ledger::Segment& run);

}  // namespace market::client
