// SPDX-License-Identifier: GPL-2.0-or-later
// Which runs a question is about, in SQL. Private to the ledger.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::ledger {

/// A WHERE clause that grows by AND, with the texts of its marks.
struct Condition {
  std::string sql = "1";
  std::vector<std::string> texts;

  void one_of(std::string_view expression, const std::vector<std::string>& values);
};

/// The account that paid a run, also where a pot of it was charged: what follows the last slash.
constexpr const char* kPayingAccount =
    "CASE WHEN account GLOB '@*:*/*' THEN substr(account, length(rtrim(account, "
    "replace(account, '/', ''))) + 1) ELSE account END";

Condition condition_of(const SegmentFilter& filter);

/// The condition that a run is one of these jobs, or a task of them.
std::string is_of_jobs(const std::vector<std::uint32_t>& jobs);

}  // namespace market::ledger
