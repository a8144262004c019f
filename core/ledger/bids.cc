// SPDX-License-Identifier: GPL-2.0-or-later
// The bids that prices learn from. What costs nothing must teach little: a refused bid is kept only
// as its uid's largest of the hour, and an account's refused bids of a day only up to what it could
// spend, so that nobody moves prices by asking again and again.
#include <fmt/format.h>

#include <cmath>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

constexpr Time kHoursOfDay = 24;

// Refused bids sort by cluster and hour, so that those of a day are neighbours. Those of markets that
// only observe are apart; no cluster's name has a star.
std::string refused_from(const RecordBid& record, Time hour) {
  return fmt::format("refused:{}{}:{:08}", record.cluster, record.observed.empty() ? "" : "*",
                     hour);
}

std::string refused_id(const RecordBid& record) {
  return fmt::format("{}:{}", refused_from(record, record.bid.submitted / kHour), record.uid);
}

/// What the account's other refused bids of the same day are worth together.
double refused_that_day(Database& database, const RecordBid& record, const std::string& id) {
  const Time midnight = record.bid.submitted / kHour / kHoursOfDay * kHoursOfDay;
  Statement query = database.prepare(
      "SELECT coalesce(sum(value), 0.0) FROM bid WHERE id >= ? AND id < ? AND id <> ? AND account "
      "= ?");
  query.bind(refused_from(record, midnight))
      .bind(refused_from(record, midnight + kHoursOfDay))
      .bind(id)
      .bind(lower_case(record.account));
  return query.step() ? query.real(0) : 0;
}

Outcome store(Database& database, const RecordBid& record, const std::string& id) {
  std::optional<std::int64_t> observation;
  if (!record.observed.empty()) {
    observation = open_observation(database, record.cluster, record.observed);
    if (!observation) return Outcome::kRefused;
  }
  Statement insert = database.prepare(
      "INSERT INTO bid (id, submitted, earliest, deadline, duration, tres, value, partition, "
      "account, uid, accepted, price, mechanism, cluster, class, falls, zero, work, observation) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET submitted = excluded.submitted, earliest = "
      "excluded.earliest, deadline = excluded.deadline, duration = excluded.duration, tres = "
      "excluded.tres, value = excluded.value, partition = excluded.partition, account = "
      "excluded.account, price = excluded.price, mechanism = excluded.mechanism, "
      "class = excluded.class, falls = excluded.falls, zero = excluded.zero, work = excluded.work, "
      "observation = excluded.observation "
      "WHERE excluded.accepted = 0 AND excluded.value > bid.value");
  insert.bind(id)
      .bind(record.bid.submitted)
      .bind(record.bid.earliest)
      .bind(record.bid.deadline)
      .bind(record.bid.duration)
      .bind(encode_tres(record.bid.tres))
      .bind(record.bid.value)
      .bind(record.partition)
      .bind(lower_case(record.account))
      .bind(std::int64_t{record.uid})
      .bind(std::int64_t{record.accepted})
      .bind(record.price.micro())
      .bind(record.mechanism)
      .bind(record.cluster)
      .bind(record.bid.job_class)
      .bind(record.bid.drop)
      .bind(record.bid.zero)
      .bind(record.bid.work);
  observation ? insert.bind(*observation) : insert.bind_null();
  insert.run();
  return database.changes() == 1 ? Outcome::kDone : Outcome::kAlreadyDone;
}

}  // namespace

Outcome record_bid(Database& database, const RecordBid& record) {
  if (!std::isfinite(record.bid.value)) return Outcome::kRefused;
  if (record.accepted) return store(database, record, record.id);
  const std::string id = refused_id(record);
  const double together = refused_that_day(database, record, id) + record.bid.value;
  if (together > record.could_spend.credits()) return Outcome::kAlreadyDone;
  return store(database, record, id);
}

Outcome forget_bid(Database& database, const ForgetBid& operation) {
  Statement forget = database.prepare("UPDATE bid SET accepted = 0 WHERE id = ? AND accepted = 1");
  forget.bind(operation.id).run();
  return database.changes() == 1 ? Outcome::kDone : Outcome::kAlreadyDone;
}

// Of the bids of observing markets those of times that go on, marked as such. Rows with `accepted` 0
// under another id are bids that were taken back, or refused ones from before refused bids were limited.
std::vector<PastBid> read_past_bids(Database& database, const std::string& cluster, Time since,
                                    Time until) {
  Statement query = database.prepare(
      "SELECT submitted, earliest, deadline, duration, tres, value, partition, "
      "substr(id, 1, 6) = 'prior:', observation IS NOT NULL, substr(id, 1, 8) = 'refused:', class, "
      "falls, zero, work FROM bid WHERE submitted >= ? AND "
      "submitted < ? AND cluster IN ('', ?) AND (accepted = 1 OR substr(id, 1, 8) = 'refused:') "
      "AND "
      "(observation IS NULL OR observation IN (SELECT id FROM observation WHERE ended IS NULL)) "
      "ORDER BY submitted, id");
  query.bind(since).bind(until).bind(cluster);
  std::vector<PastBid> bids;
  while (query.step()) {
    PastBid& bid = bids.emplace_back(PastBid{query.integer(0), query.integer(1), query.integer(2),
                                             query.integer(3), decode_tres(query.text(4)),
                                             query.real(5), query.text(6)});
    bid.is_prior = query.integer(7) == 1;
    bid.observed = query.integer(8) == 1;
    bid.is_refused = query.integer(9) == 1;
    bid.job_class = query.text(10);
    bid.drop = query.integer(11);
    bid.zero = query.integer(12);
    bid.work = query.real(13);
  }
  return bids;
}

}  // namespace market::ledger
