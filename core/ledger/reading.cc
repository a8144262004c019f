// SPDX-License-Identifier: GPL-2.0-or-later
// What commands and the market read from the books.
#include <fmt/format.h>

#include "core/ledger/books.h"
#include "core/ledger/conditions.h"
#include "core/ledger/ledger_impl.h"

namespace market::ledger {
namespace {

std::vector<std::string> members_of(Database& database, std::int64_t account) {
  Statement query = database.prepare("SELECT user FROM member WHERE account = ? ORDER BY user");
  query.bind(account);
  std::vector<std::string> members;
  while (query.step()) members.push_back(query.text(0));
  return members;
}

/// When a transfer counts. What a run's end brought (its charge, a refund by rule, its owners' parts)
/// counts when the run ended, as sbill and sacct have it, however late it was written; a refund by
/// hand when it was given. A refund by rule is written right behind its charge; payouts are known by
/// their keys (payouts.cc).
constexpr std::string_view kEntries =
    "WITH entry AS (SELECT transfer.*, coalesce(nullif(CASE "
    "WHEN kind = 'charge' THEN (SELECT \"end\" FROM segment WHERE id = transfer.segment) "
    "WHEN kind = 'refund' AND EXISTS (SELECT 1 FROM transfer AS charge WHERE "
    "charge.id = transfer.id - 1 AND charge.kind = 'charge' AND charge.time = transfer.time AND "
    "charge.segment = transfer.segment) "
    "THEN (SELECT \"end\" FROM segment WHERE id = transfer.segment) "
    "WHEN kind = 'transfer' AND instr(key, ':payout:') > 0 THEN (SELECT \"end\" FROM segment AS "
    "run "
    "WHERE run.key = substr(transfer.key, 1, instr(transfer.key, ':payout:') - 1)) "
    "END, 0), time) AS counts FROM transfer "
    "WHERE (debit = ?1 OR credit = ?1) AND kind NOT IN ('lien', 'void')) ";

Entry read_entry(const Statement& row, const AccountRow& account) {
  Entry entry;
  entry.id = row.integer(0);
  entry.time = row.integer(1);
  entry.kind = row.text(2);
  entry.account = account.name;
  entry.counterpart = row.text(3);
  entry.note = row.text(4);
  entry.segment_key = row.text(5);
  entry.amount = Money::from_micro(row.integer(6));
  entry.job_id = static_cast<std::uint32_t>(row.integer(7));
  entry.restart = static_cast<std::uint32_t>(row.integer(8));
  return entry;
}

}  // namespace

Result<std::vector<AccountInfo>> Ledger::accounts() const {
  Database& database = *impl_->database;
  return guarded([&] {
    std::vector<AccountInfo> accounts;
    Transaction transaction(database, Transaction::Kind::kRead);
    Statement query = database.prepare(
        "SELECT id, name, posted, liens, note FROM account WHERE system = 0 ORDER BY name");
    while (query.step()) {
      accounts.push_back({{query.text(1), Money::from_micro(query.integer(2)),
                           Money::from_micro(query.integer(3))},
                          query.text(4),
                          members_of(database, query.integer(0))});
    }
    return accounts;
  });
}

Result<std::vector<PotInfo>> Ledger::pots() const {
  Database& database = *impl_->database;
  return guarded([&] { return read_pots(database); });
}

Result<std::vector<WrittenRequest>> Ledger::requests(const std::string& cluster, Time since) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_requests(database, cluster, since); });
}

Result<std::vector<OpenLien>> Ledger::open_liens(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] {
    std::vector<OpenLien> liens;
    Statement query =
        database.prepare(fmt::format("SELECT {} FROM segment WHERE lien IS NOT NULL AND cluster = "
                                     "? AND id NOT IN (SELECT segment FROM rest) "
                                     "ORDER BY job_id, submitted, restart",
                                     segment_columns()));
    query.bind(cluster);
    while (query.step()) liens.push_back({read_segment(query)});
    return liens;
  });
}

Result<OpenRests> Ledger::open_rests(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_open_rests(database, cluster); });
}

Result<std::vector<PostedAsk>> Ledger::asks(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_asks(database, cluster); });
}

Result<EarningsPage> Ledger::earnings(const EarningsQuestion& question) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_earnings(database, question); });
}

Result<std::vector<PastBid>> Ledger::past_bids(const std::string& cluster, Time since,
                                               Time until) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_past_bids(database, cluster, since, until); });
}

Result<std::vector<Segment>> Ledger::segments(const SegmentFilter& filter) const {
  Database& database = *impl_->database;
  return guarded([&] {
    const Condition condition = condition_of(filter);
    Statement query = database.prepare(fmt::format(
        "SELECT {} FROM segment WHERE {} ORDER BY CASE array_job_id WHEN 0 THEN job_id ELSE "
        "array_job_id END, array_task_id, job_id, submitted, restart, id",
        segment_columns(), condition.sql));
    for (const std::string& text : condition.texts) query.bind(text);
    std::vector<Segment> segments;
    while (query.step()) segments.push_back(read_segment(query));
    return segments;
  });
}

Result<std::vector<Submission>> Ledger::submissions(const std::string& cluster,
                                                    std::uint32_t job_id) const {
  Database& database = *impl_->database;
  return guarded([&] { return read_submissions(database, cluster, job_id); });
}

Result<std::vector<Entry>> Ledger::entries(const std::string& account, Time since,
                                           Time until) const {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kRead);
    const AccountRow self = require_account(database, account);
    Statement query = database.prepare(
        std::string(kEntries) +
        "SELECT entry.id, counts, kind, other.name, entry.note, coalesce(segment.key, ''), "
        "CASE WHEN debit = ?1 THEN -amount ELSE amount END, coalesce(segment.job_id, 0), "
        "coalesce(segment.restart, 0) FROM entry "
        "JOIN account AS other ON other.id = CASE WHEN debit = ?1 THEN credit ELSE debit END "
        "LEFT JOIN segment ON segment.id = entry.segment "
        "WHERE counts >= ?2 AND counts < ?3 ORDER BY counts, entry.id");
    query.bind(self.id).bind(since).bind(until);
    std::vector<Entry> entries;
    while (query.step()) entries.push_back(read_entry(query, self));
    return entries;
  });
}

}  // namespace market::ledger
