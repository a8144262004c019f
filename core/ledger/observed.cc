// SPDX-License-Identifier: GPL-2.0-or-later
// What markets that only observe would have done. None of it is money: no account, transfer or
// segment knows of it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/ledger/books.h"
#include "core/ledger/conditions.h"
#include "core/ledger/ledger_impl.h"

namespace market::ledger {
namespace {

bool fits_the_books(const Segment& segment) {
  return segment.quoted >= Money() && segment.refunded >= Money() &&
         segment.charged >= segment.refunded;
}

std::set<std::string> observing(Database& database, const std::string& cluster) {
  Statement query =
      database.prepare("SELECT market FROM observation WHERE cluster = ? AND ended IS NULL");
  query.bind(cluster);
  std::set<std::string> markets;
  while (query.step()) markets.insert(query.text(0));
  return markets;
}

}  // namespace

std::optional<std::int64_t> open_observation(Database& database, const std::string& cluster,
                                             const std::string& market) {
  Statement query = database.prepare(
      "SELECT id FROM observation WHERE cluster = ? AND market = ? AND ended IS NULL");
  query.bind(cluster).bind(market);
  return query.step() ? std::optional(query.integer(0)) : std::nullopt;
}

Outcome observe_run(Database& database, const ObserveRun& operation) {
  const Segment& segment = operation.segment;
  const auto observation = open_observation(database, segment.key.cluster, operation.market);
  if (!observation || !fits_the_books(segment)) return Outcome::kRefused;
  static const std::string sql = fmt::format(
      "INSERT INTO observed ({}, key, observation, status, waited, would_wait) VALUES ({}?, ?, ?, "
      "?, ?) ON CONFLICT (key) DO NOTHING",
      segment_columns(),
      fmt::join(std::vector<std::string>(static_cast<std::size_t>(segment_column_count()), "?, "),
                ""));
  Statement insert = database.prepare(sql);
  bind_segment(insert, segment);
  insert.bind(segment.key.text())
      .bind(*observation)
      .bind(operation.refused ? "refused" : "billed")
      .bind(std::max<Time>(0, operation.waited));
  operation.would_wait ? insert.bind(std::max<Time>(0, *operation.would_wait)) : insert.bind_null();
  insert.run();
  return database.changes() == 1 ? Outcome::kDone : Outcome::kAlreadyDone;
}

Result<void> Ledger::observe(const std::string& cluster, const std::vector<std::string>& markets,
                             Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    const std::set<std::string> wanted(markets.begin(), markets.end());
    if (observing(database, cluster) == wanted) return;
    Transaction transaction(database, Transaction::Kind::kWrite);
    const std::set<std::string> open = observing(database, cluster);
    for (const std::string& market : open) {
      if (wanted.contains(market)) continue;
      database
          .prepare(
              "UPDATE observation SET ended = ? WHERE cluster = ? AND market = ? AND ended IS NULL")
          .bind(now)
          .bind(cluster)
          .bind(market)
          .run();
    }
    for (const std::string& market : wanted) {
      if (open.contains(market)) continue;
      database.prepare("INSERT INTO observation (cluster, market, began) VALUES (?, ?, ?)")
          .bind(cluster)
          .bind(market)
          .bind(now)
          .run();
    }
    transaction.commit();
  });
}

Result<std::vector<Observation>> Ledger::observations() const {
  Database& database = *impl_->database;
  return guarded([&] {
    Statement query = database.prepare(
        "SELECT cluster, market, began, coalesce(ended, 0) FROM observation ORDER BY began, id");
    std::vector<Observation> observations;
    while (query.step())
      observations.push_back({query.text(0), query.text(1), query.integer(2), query.integer(3)});
    return observations;
  });
}

Result<std::vector<ObserveRun>> Ledger::observed(const SegmentFilter& filter) const {
  Database& database = *impl_->database;
  return guarded([&] {
    const Condition condition = condition_of(filter);
    Statement query = database.prepare(fmt::format(
        "SELECT {}, (SELECT market FROM observation WHERE id = observation), status, waited, "
        "would_wait FROM observed WHERE {} ORDER BY CASE array_job_id WHEN 0 THEN job_id ELSE "
        "array_job_id END, array_task_id, job_id, submitted, restart, id",
        segment_columns(), condition.sql));
    for (const std::string& text : condition.texts) query.bind(text);
    const int next = segment_column_count();
    std::vector<ObserveRun> runs;
    while (query.step()) {
      ObserveRun run;
      run.segment = read_segment(query);
      run.market = query.text(next);
      run.refused = query.text(next + 1) == "refused";
      run.waited = query.integer(next + 2);
      if (!query.is_null(next + 3)) run.would_wait = query.integer(next + 3);
      runs.push_back(std::move(run));
    }
    return runs;
  });
}

Result<std::map<std::string, Money>> Ledger::observed_sums(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] {
    Statement query = database.prepare(
        "SELECT account, sum(charged - refunded) FROM observed WHERE observation IN (SELECT id "
        "FROM observation WHERE cluster = ? AND ended IS NULL) GROUP BY account");
    query.bind(cluster);
    std::map<std::string, Money> sums;
    while (query.step()) sums.emplace(query.text(0), Money::from_micro(query.integer(1)));
    return sums;
  });
}

}  // namespace market::ledger
