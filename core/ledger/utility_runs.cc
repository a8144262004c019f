// SPDX-License-Identifier: GPL-2.0-or-later
// What utilities are learned from: for each name of a user's jobs its newest runs.
#include "core/ledger/utility_runs.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"

namespace market::ledger {
namespace {

// "cpu=0.25,mem=0.5": the shortest digits that are read back to the same number.
std::string encode(const std::map<std::string, double, std::less<>>& shares) {
  std::string text;
  for (const auto& [tres, share] : shares)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", tres, share);
  return text;
}

std::map<std::string, double, std::less<>> decode(std::string_view text) {
  std::map<std::string, double, std::less<>> shares;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.rfind('=');
    if (equals == item.npos) continue;
    double share = 0;
    std::from_chars(item.data() + equals + 1, item.data() + item.size(), share);
    shares.emplace(item.substr(0, equals), share);
  }
  return shares;
}

bool is_sound(const UtilityRun& run) {
  bool sound = run.seconds > 0 && std::isfinite(run.seconds) && !run.shares.empty();
  for (const auto& [tres, share] : run.shares)
    sound = sound && share >= 0 && share <= 1 + 1e-9 && tres.find_first_of(",=") == tres.npos;
  return sound;
}

// The names of a user beyond the most, those whose last run is the longest ago.
void drop_old_names(Database& database, const RecordUtility& record) {
  database
      .prepare(
          "DELETE FROM utility_run WHERE cluster = ?1 AND market = ?2 AND uid = ?3 AND name IN "
          "(SELECT name FROM utility_run WHERE cluster = ?1 AND market = ?2 AND uid = ?3 GROUP BY "
          "name ORDER BY max(ended) DESC, max(id) DESC LIMIT -1 OFFSET ?4)")
      .bind(record.cluster)
      .bind(record.run.of.market)
      .bind(std::int64_t{record.run.of.uid})
      .bind(std::int64_t{kMostUtilityNames})
      .run();
}

void drop_old_runs(Database& database, const RecordUtility& record) {
  database
      .prepare(
          "DELETE FROM utility_run WHERE cluster = ?1 AND market = ?2 AND uid = ?3 AND name = ?4 "
          "AND (ended < ?5 OR id IN (SELECT id FROM utility_run WHERE cluster = ?1 AND market = ?2 "
          "AND uid = ?3 AND name = ?4 ORDER BY ended DESC, id DESC LIMIT -1 OFFSET ?6))")
      .bind(record.cluster)
      .bind(record.run.of.market)
      .bind(std::int64_t{record.run.of.uid})
      .bind(record.run.of.name)
      .bind(record.forget_before)
      .bind(std::int64_t{kMostUtilityRuns})
      .run();
}

bool is_known(Database& database, const RecordUtility& record) {
  Statement query = database.prepare(
      "SELECT 1 FROM utility_run WHERE cluster = ? AND market = ? AND uid = ? AND name = ? LIMIT "
      "1");
  query.bind(record.cluster)
      .bind(record.run.of.market)
      .bind(std::int64_t{record.run.of.uid})
      .bind(record.run.of.name);
  return query.step();
}

}  // namespace

Outcome record_utility(Database& database, const RecordUtility& record) {
  if (!is_sound(record.run)) return Outcome::kRefused;
  const bool is_new = !is_known(database, record);
  database
      .prepare(
          "INSERT INTO utility_run (key, cluster, market, uid, name, ended, seconds, shares) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING")
      .bind(record.key)
      .bind(record.cluster)
      .bind(record.run.of.market)
      .bind(std::int64_t{record.run.of.uid})
      .bind(record.run.of.name)
      .bind(record.run.ended)
      .bind(record.run.seconds)
      .bind(encode(record.run.shares))
      .run();
  if (database.changes() == 0) return Outcome::kAlreadyDone;
  if (is_new) drop_old_names(database, record);
  drop_old_runs(database, record);
  return Outcome::kDone;
}

Outcome forget_utility(Database& database, const ForgetUtility& operation) {
  database
      .prepare("DELETE FROM utility_run WHERE cluster = ? AND market = ? AND uid = ? AND name = ?")
      .bind(operation.cluster)
      .bind(operation.of.market)
      .bind(std::int64_t{operation.of.uid})
      .bind(operation.of.name)
      .run();
  return database.changes() > 0 ? Outcome::kDone : Outcome::kAlreadyDone;
}

Result<std::vector<UtilityRun>> Ledger::utility_runs(const UtilityQuestion& question) const {
  Database& database = *impl_->database;
  return guarded([&] {
    std::string sql =
        "SELECT market, uid, name, ended, seconds, shares FROM utility_run WHERE cluster = ?1 AND "
        "ended >= ?2";
    if (question.of) sql += " AND market = ?3 AND uid = ?4 AND name = ?5";
    Statement query = database.prepare(sql + " ORDER BY market, uid, name, ended, id");
    query.bind(question.cluster).bind(question.since);
    if (question.of)
      query.bind(question.of->market).bind(std::int64_t{question.of->uid}).bind(question.of->name);
    std::vector<UtilityRun> runs;
    while (query.step()) {
      UtilityRun& run = runs.emplace_back();
      run.of = {query.text(0), static_cast<std::uint32_t>(query.integer(1)), query.text(2)};
      run.ended = query.integer(3);
      run.seconds = query.real(4);
      run.shares = decode(query.text(5));
    }
    return runs;
  });
}

}  // namespace market::ledger
