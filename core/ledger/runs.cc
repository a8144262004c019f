// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/ledger/books.h"
#include "core/ledger/conditions.h"
#include "core/ledger/ledger_impl.h"
#include "core/util/clean_text.h"

namespace market::ledger {
namespace {

Condition visible_and_wanted(const RunsQuestion& question) {
  Condition condition = condition_of(question.filter);
  if (question.viewer.sees_all) return condition;
  Condition coordinated;
  coordinated.one_of(kPayingAccount, question.viewer.accounts);
  const bool coordinates = !question.viewer.accounts.empty();
  condition.sql += fmt::format(" AND (uid = {}{})", question.viewer.uid,
                               coordinates ? " OR (" + coordinated.sql + ")" : "");
  condition.texts.insert(condition.texts.end(), coordinated.texts.begin(), coordinated.texts.end());
  return condition;
}

/// The rows that are looked at, in their order. Without the plus SQLite would walk through all ends
/// for the few runs of a job.
std::string rows_after(const RunsQuestion& question, const RunsCursor& after) {
  const SegmentFilter& filter = question.filter;
  if (!after.over)
    return fmt::format("lien IS NOT NULL AND id > {} ORDER BY id LIMIT {}", after.row,
                       kRowsLookedAt);
  const Time since = std::max(after.end, filter.since.value_or(after.end));
  std::string rows =
      fmt::format("(\"end\", id) > ({}, {}) AND \"end\" >= {}", after.end, after.row, since);
  if (filter.until) rows += fmt::format(" AND \"end\" < {}", *filter.until);
  const bool few = !filter.jobs.empty();
  if (few) rows += " AND " + is_of_jobs(filter.jobs);
  return rows + fmt::format(" ORDER BY {}\"end\", id LIMIT {}", few ? "+" : "", kRowsLookedAt);
}

/// What a run takes on its way: a text that JSON cannot hold goes as the numbers of its bytes.
std::size_t bytes_of(const Segment& run) {
  constexpr std::size_t kNumbers = 150, kOfAByte = 4;
  std::size_t bytes = kNumbers;
  for (const std::string* text : {&run.key.cluster, &run.key.bid, &run.user, &run.account,
                                  &run.partition, &run.state, &run.mechanism, &run.tres, &run.note})
    bytes += is_clean_text(*text) ? text->size() : kOfAByte * text->size();
  return bytes;
}

/// One page of the open runs, or of those that are over.
RunsPage read_page(Database& database, const RunsQuestion& question, RunsCursor after) {
  const Condition wanted = visible_and_wanted(question);
  const int columns = 3;
  Statement query =
      database.prepare(fmt::format("SELECT {}, ({}), \"end\", id FROM segment WHERE {}",
                                   segment_columns(), wanted.sql, rows_after(question, after)));
  for (const std::string& text : wanted.texts) query.bind(text);
  RunsPage page;
  std::int64_t seen = 0;
  std::size_t bytes = 0;
  while (query.step()) {
    ++seen;
    const int first = query.columns() - columns;
    if (after.over) after.end = query.integer(first + 1);
    after.row = query.integer(first + 2);
    if (query.integer(first) == 0) continue;
    page.runs.push_back({after.row, read_segment(query)});
    bytes += bytes_of(page.runs.back().run);
    if (page.runs.size() == kRunsInPage || bytes >= kBytesInPage) break;
  }
  const bool full = page.runs.size() == kRunsInPage || bytes >= kBytesInPage;
  if (full || seen == kRowsLookedAt) page.next = after;
  return page;
}

}  // namespace

Result<RunsPage> Ledger::runs(const RunsQuestion& question) const {
  Database& database = *impl_->database;
  return guarded([&] {
    const bool skips_open = question.after.over || !question.filter.open_too;
    RunsCursor after = question.after;
    after.over = skips_open;
    RunsPage page = read_page(database, question, after);
    if (!page.next && !skips_open) page.next = RunsCursor{.over = true};
    return page;
  });
}

std::vector<Segment> merged(std::vector<NumberedRun> runs) {
  std::map<std::int64_t, Segment> by_row;
  for (NumberedRun& numbered : runs) by_row.insert_or_assign(numbered.row, std::move(numbered.run));
  std::vector<Segment> once;
  for (auto& [row, run] : by_row) once.push_back(std::move(run));
  const auto place = [](const Segment& run) {
    return std::make_tuple(run.array_job_id == 0 ? run.key.job_id : run.array_job_id,
                           run.array_task_id, run.key.job_id, run.key.submitted, run.key.restart);
  };
  std::stable_sort(once.begin(), once.end(),
                   [&](const Segment& a, const Segment& b) { return place(a) < place(b); });
  return once;
}

}  // namespace market::ledger
