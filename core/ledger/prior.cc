// SPDX-License-Identifier: GPL-2.0-or-later
// Prior bids: made up from a log before there are real ones, and known by their ids.
#include <fmt/format.h>

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"

namespace market::ledger {
namespace {

/// Ids of a cluster's prior bids, from the first one on and before the second one.
std::pair<std::string, std::string> prior_range(const std::string& cluster) {
  return {fmt::format("prior:{}:", cluster), fmt::format("prior:{};", cluster)};
}

PriorBids prior_of(Database& database, const std::string& cluster) {
  const auto [from, until] = prior_range(cluster);
  Statement query = database.prepare(
      "SELECT count(*), coalesce(sum(value), 0.0) FROM bid WHERE id >= ? AND id < ?");
  query.bind(from).bind(until);
  if (!query.step()) return {};
  return {query.integer(0), query.real(1)};
}

}  // namespace

Result<std::size_t> Ledger::learn_prior(const std::vector<RecordBid>& records) {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kWrite);
    std::size_t stored = 0;
    for (RecordBid record : records) {
      record.id = prior_range(record.cluster).first + record.id;
      record.accepted = true;
      stored += record_bid(database, record) == Outcome::kDone ? 1 : 0;
    }
    transaction.commit();
    return stored;
  });
}

Result<std::size_t> Ledger::forget_prior(const std::string& cluster) {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kWrite);
    const auto [from, until] = prior_range(cluster);
    database.prepare("DELETE FROM bid WHERE id >= ? AND id < ?").bind(from).bind(until).run();
    const auto count = static_cast<std::size_t>(database.changes());
    transaction.commit();
    return count;
  });
}

Result<PriorBids> Ledger::prior(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] {
    PriorBids prior = prior_of(database, cluster);
    if (cluster.empty()) return prior;
    const PriorBids of_all = prior_of(database, "");
    return PriorBids{prior.count + of_all.count, prior.value + of_all.value};
  });
}

}  // namespace market::ledger
