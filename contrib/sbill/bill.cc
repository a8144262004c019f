// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "contrib/client/fields.h"
#include "contrib/client/table.h"
#include "contrib/sbill/json.h"
#include "contrib/sbill/report.h"

namespace market::sbill {
namespace {

using namespace client;
using ledger::Segment;

bool wanted(const Segment& run, const Options& options) {
  const auto& clusters = options.clusters;
  if (!clusters.empty() &&
      std::find(clusters.begin(), clusters.end(), run.key.cluster) == clusters.end())
    return false;
  if (options.tasks.empty()) return true;
  const std::uint32_t array = run.array_job_id;
  const auto asks_for_task = [&](const auto& task) {
    return task.first == array && task.second == run.array_task_id;
  };
  if (array != 0 && std::any_of(options.tasks.begin(), options.tasks.end(), asks_for_task))
    return true;
  // A job that is asked for whole stays, even when tasks of other arrays are asked for.
  const auto only_tasks_of = [&](std::uint32_t job) {
    return std::any_of(options.tasks.begin(), options.tasks.end(),
                       [&](const auto& task) { return task.first == job; });
  };
  const auto asked_whole = [&](std::uint32_t job) {
    const auto& jobs = options.filter.jobs;
    return job != 0 && std::find(jobs.begin(), jobs.end(), job) != jobs.end() &&
           !only_tasks_of(job);
  };
  return asked_whole(array) || asked_whole(run.key.job_id);
}

std::string total_text(const Field& field, const Totals& totals) {
  if (field.name == "BillingHours") return fmt::format("{:.2f}", totals.billing_hours);
  if (field.name == "Quoted") return totals.quoted.to_string();
  if (field.name == "Charged") return totals.charged.to_string();
  if (field.name == "Refunded") return totals.refunded.to_string();
  if (field.name == "Cost") return (totals.charged - totals.refunded).to_string();
  return "";
}

std::vector<std::string> total_row(const std::vector<Column>& columns, const Totals& totals) {
  std::vector<std::string> row;
  row.reserve(columns.size());
  for (const Column& column : columns) row.push_back(total_text(*column.field, totals));
  if (row.front().empty()) row.front() = "TOTAL";
  return row;
}

}  // namespace

std::string help_format() {
  constexpr std::size_t kPerLine = 4;
  std::string text;
  const auto& fields = all_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool last = i % kPerLine == kPerLine - 1 || i + 1 == fields.size();
    text += last ? fmt::format("{}\n", fields[i].name) : fmt::format("{:<18}", fields[i].name);
  }
  return text;
}

Result<std::string> bill(std::vector<Segment> runs, const Options& options) {
  const auto columns =
      parse_format(options.format.empty() ? std::string(kDefaultFormat) : options.format);
  if (!columns) return tl::unexpected(columns.error());
  std::erase_if(runs, [&](const Segment& run) { return !wanted(run, options); });
  if (options.style.output == Output::kJson) return bill_json(runs);

  std::vector<TextColumn> text_columns;
  for (const Column& column : *columns) {
    text_columns.push_back(
        {std::string(column.field->name), column.width, column.fixed || !column.field->exact});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Segment& run : runs) {
    std::vector<std::string> row;
    for (const Column& column : *columns) row.push_back(column.field->text(run));
    rows.push_back(std::move(row));
  }
  if (options.totals) rows.push_back(total_row(*columns, totals_of(runs)));
  return render(text_columns, rows, options.style);
}

}  // namespace market::sbill
