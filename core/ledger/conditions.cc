// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/conditions.h"

#include <fmt/format.h>

#include "core/util/account_name.h"

namespace market::ledger {
namespace {

std::vector<std::string> lower_case_all(std::vector<std::string> names) {
  for (std::string& name : names) name = lower_case(name);
  return names;
}

}  // namespace

void Condition::one_of(std::string_view expression, const std::vector<std::string>& values) {
  if (values.empty()) return;
  sql += fmt::format(" AND {} IN ({})", expression,
                     fmt::join(std::vector<char>(values.size(), '?'), ", "));
  texts.insert(texts.end(), values.begin(), values.end());
}

std::string is_of_jobs(const std::vector<std::uint32_t>& jobs) {
  return fmt::format("(job_id IN ({0}) OR array_job_id IN ({0}))", fmt::join(jobs, ", "));
}

Condition condition_of(const SegmentFilter& filter) {
  Condition condition;
  std::string when = "status <> 'open'";
  if (filter.since) when += fmt::format(" AND \"end\" >= {}", *filter.since);
  if (filter.until) when += fmt::format(" AND \"end\" < {}", *filter.until);
  condition.sql =
      filter.open_too ? fmt::format("({} OR status = 'open')", when) : fmt::format("({})", when);
  if (!filter.jobs.empty()) {
    condition.sql += " AND " + is_of_jobs(filter.jobs);
  }
  condition.one_of(kPayingAccount, lower_case_all(filter.accounts));
  condition.one_of("user", filter.users);
  condition.one_of("partition", filter.partitions);
  condition.one_of("lower(state)", lower_case_all(filter.states));
  // "era" means every version of the rule, "era/1" just that one.
  std::vector<std::string> versions, names;
  for (const std::string& mechanism : filter.mechanisms) {
    (mechanism.find('/') == std::string::npos ? names : versions).push_back(mechanism);
  }
  Condition mechanism;
  mechanism.sql = "0";
  const auto either = [&](std::string_view expression, const std::vector<std::string>& values) {
    Condition one;
    one.one_of(expression, values);
    if (!values.empty()) mechanism.sql += fmt::format(" OR ({})", one.sql);
    mechanism.texts.insert(mechanism.texts.end(), values.begin(), values.end());
  };
  either("mechanism", versions);
  either("substr(mechanism, 1, instr(mechanism || '/', '/') - 1)", names);
  if (!filter.mechanisms.empty()) {
    condition.sql += fmt::format(" AND ({})", mechanism.sql);
    condition.texts.insert(condition.texts.end(), mechanism.texts.begin(), mechanism.texts.end());
  }
  return condition;
}

}  // namespace market::ledger
