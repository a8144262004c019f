// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/fields.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/util/slurm_time.h"
#include "core/util/units.h"
#include "core/words/phrases.h"

namespace market::client {
namespace {

using ledger::Segment;

constexpr int kWidest = 4096;

std::string time_text(Time time) {
  return time == 0 ? "Unknown" : format_time(time);
}

std::string state_text(const Segment& run) {
  return run.state.empty() ? "OPEN" : run.state;
}

const Field* find_field(std::string_view name) {
  for (const Field& field : all_fields()) {
    if (field.name.size() == name.size() &&
        strncasecmp(field.name.data(), name.data(), name.size()) == 0)
      return &field;
  }
  return nullptr;
}

Result<Column> parse_column(std::string_view item) {
  const std::size_t percent = item.find('%');
  const std::string_view name = item.substr(0, percent);
  Column column;
  column.field = find_field(name);
  if (column.field == nullptr) {
    return fail(fmt::format("--format: '{}': not a field; sbill --helpformat lists them", name));
  }
  column.width = column.field->width;
  if (percent == std::string_view::npos) return column;
  const std::string_view width = item.substr(percent + 1);
  const auto [end, error] =
      std::from_chars(width.data(), width.data() + width.size(), column.width);
  if (error != std::errc() || end != width.data() + width.size() || column.width == 0 ||
      std::abs(column.width) > kWidest) {
    return fail(fmt::format(
        "--format: '{}': a width from 1 to {} (negative: to the left) follows %", item, kWidest));
  }
  column.fixed = true;
  return column;
}

}  // namespace

// As sacct writes it: 12_3 is a task of an array, 12+1 a component of a heterogeneous job.
std::string job_id_text(const Segment& run) {
  if (run.is_component())
    return fmt::format("{}+{}", run.array_job_id, run.array_task_id & ~ledger::kComponent);
  return run.array_job_id == 0 ? fmt::to_string(run.key.job_id)
                               : fmt::format("{}_{}", run.array_job_id, run.array_task_id);
}

double billing_hours_of(const Segment& run) {
  return run.billing * static_cast<double>(run.elapsed) / 3600.0;
}

namespace {

/// Whether the run was sold by the hour: a bid was its rate, and so was what it paid.
bool has_rate(const Segment& run) {
  const bool by_rate = run.mechanism.starts_with("dva/") || run.mechanism.starts_with("tycoon/");
  return by_rate && run.time_limit > 0;
}

Money bid_rate_of(const Segment& run) {
  return run.quoted.scaled(kHour, run.time_limit);
}

Money rate_of(const Segment& run) {
  return run.charged.scaled(kHour, run.elapsed);
}

std::string payment_to_budget(const Segment& run) {
  if (!has_rate(run) || run.elapsed <= 0 || run.quoted == Money()) return "";
  return fmt::format("{:.3f}", run.charged.credits() * static_cast<double>(run.time_limit) /
                                   (run.quoted.credits() * static_cast<double>(run.elapsed)));
}

}  // namespace

const std::vector<Field>& all_fields() {
  using S = const Segment&;
  static const std::vector<Field> fields = {
      {"JobID", -10, true, Type::kText, "job_id", job_id_text},
      {"JobIDRaw", -10, true, Type::kInteger, "job_id_raw",
       [](S run) { return fmt::to_string(run.key.job_id); }},
      {"Restarts", 8, true, Type::kInteger, "restarts",
       [](S run) { return fmt::to_string(run.key.restart); }},
      {"Cluster", -10, false, Type::kText, "cluster", [](S run) { return run.key.cluster; }},
      {"User", -8, false, Type::kText, "user", [](S run) { return run.user; }},
      {"UID", 6, true, Type::kInteger, "uid", [](S run) { return fmt::to_string(run.uid); }},
      {"Account", -10, false, Type::kText, "account", [](S run) { return run.account; }},
      {"Partition", -10, false, Type::kText, "partition", [](S run) { return run.partition; }},
      {"State", -10, false, Type::kText, "state", state_text},
      {"Submit", 19, true, Type::kTime, "submit",
       [](S run) { return time_text(run.key.submitted); }, [](S run) { return run.key.submitted; }},
      {"PlannedStart", 19, true, Type::kTime, "planned_start",
       [](S run) { return time_text(run.planned_start); }, [](S run) { return run.planned_start; }},
      {"PromisedEnd", 19, true, Type::kTime, "promised_end",
       [](S run) { return time_text(run.promised_end); }, [](S run) { return run.promised_end; }},
      {"Start", 19, true, Type::kTime, "start", [](S run) { return time_text(run.start); },
       [](S run) { return run.start; }},
      {"End", 19, true, Type::kTime, "end", [](S run) { return time_text(run.end); },
       [](S run) { return run.end; }},
      {"Elapsed", 10, true, Type::kText, "elapsed",
       [](S run) { return format_duration(run.elapsed); }},
      {"ElapsedRaw", 10, true, Type::kInteger, "elapsed_seconds",
       [](S run) { return fmt::to_string(run.elapsed); }},
      {"Suspended", 10, true, Type::kText, "suspended",
       [](S run) { return format_duration(run.suspended); }},
      {"SuspendedRaw", 12, true, Type::kInteger, "suspended_seconds",
       [](S run) { return fmt::to_string(run.suspended); }},
      {"AllocTRES", -20, false, Type::kText, "tres", [](S run) { return run.tres; }},
      {"Billing", 8, true, Type::kNumber, "billing",
       [](S run) { return fmt::format("{:.10g}", run.billing); }},
      {"BillingHours", 12, true, Type::kNumber, "billing_hours",
       [](S run) { return fmt::format("{:.2f}", billing_hours_of(run)); }},
      {"Quoted", 9, true, Type::kText, "quoted", [](S run) { return run.quoted.to_string(); }},
      {"Charged", 9, true, Type::kText, "charged", [](S run) { return run.charged.to_string(); }},
      {"Refunded", 9, true, Type::kText, "refunded",
       [](S run) { return run.refunded.to_string(); }},
      {"Cost", 9, true, Type::kText, "cost",
       [](S run) { return (run.charged - run.refunded).to_string(); }},
      {"BudgetRate", 10, true, Type::kText, "budget_rate",
       [](S run) { return has_rate(run) ? amount_text(bid_rate_of(run)) : ""; }},
      {"RPU", 10, true, Type::kText, "rpu",
       [](S run) { return has_rate(run) && run.elapsed > 0 ? amount_text(rate_of(run)) : ""; }},
      {"PBR", 6, true, Type::kText, "pbr", payment_to_budget},
      {"Mechanism", -12, false, Type::kText, "mechanism", [](S run) { return run.mechanism; }},
      {"Note", -20, false, Type::kText, "note", [](S run) { return run.note; }},
  };
  return fields;
}

Result<std::vector<Column>> parse_format(const std::string& format) {
  std::vector<Column> columns;
  std::size_t start = 0;
  while (start < format.size()) {
    const std::size_t end = std::min(format.find(',', start), format.size());
    const std::string_view item = std::string_view(format).substr(start, end - start);
    start = end + 1;
    if (item.empty()) continue;
    if (item == "ALL" || item == "all") {
      for (const Field& field : all_fields()) columns.push_back({&field, field.width, false});
      continue;
    }
    const auto column = parse_column(item);
    if (!column) return tl::unexpected(column.error());
    columns.push_back(*column);
  }
  if (columns.empty())
    return fail(
        fmt::format("--format: '{}': names no field; sbill --helpformat lists them", format));
  return columns;
}

Totals totals_of(const std::vector<Segment>& runs) {
  Totals totals;
  for (const Segment& run : runs) {
    ++totals.runs;
    totals.billing_hours += billing_hours_of(run);
    totals.quoted += run.quoted;
    totals.charged += run.charged;
    totals.refunded += run.refunded;
  }
  return totals;
}

}  // namespace market::client
