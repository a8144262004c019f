// SPDX-License-Identifier: GPL-2.0-or-later
// What the owners of nodes get of a run's charge, and give back when it is refunded.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

struct OwnersPart {
  std::int64_t account = 0;
  std::string name;
  Money left;  ///< paid and not taken back
};

bool is_system(std::int64_t account) {
  return account == kTreasury || account == kRevenue;
}

// Keys of payouts are RUN:payout:ACCOUNT, of what was taken back RUN:payback.N:ACCOUNT, so both
// stand together in the index of keys.
std::vector<OwnersPart> parts_of(Database& database, const SegmentKey& key) {
  Statement query = database.prepare(
      "SELECT owner.id, owner.name, sum(CASE WHEN credit = owner.id THEN amount ELSE -amount END) "
      "FROM transfer JOIN account AS owner ON owner.id = CASE WHEN debit = ?1 THEN credit ELSE "
      "debit END WHERE (key > ?2 || ':payout:' AND key < ?2 || ':payout;') OR "
      "(key > ?2 || ':payback.' AND key < ?2 || ':payback/') GROUP BY owner.id ORDER BY owner.id");
  query.bind(kRevenue).bind(key.text());
  std::vector<OwnersPart> parts;
  while (query.step()) {
    parts.push_back({query.integer(0), query.text(1), Money::from_micro(query.integer(2))});
  }
  return parts;
}

void move(Database& database, std::string key, std::int64_t from, std::int64_t to, Money amount,
          std::string note, Time now) {
  post(database, {.key = std::move(key),
                  .time = now,
                  .kind = Kind::kTransfer,
                  .debit = from,
                  .credit = to,
                  .amount = amount,
                  .resolves = std::nullopt,
                  .segment = std::nullopt,
                  .note = std::move(note)});
}

// What the nodes of an account earned of a run, less their parts of what was taken back.
void take_from_nodes(Database& database, const SegmentKey& key, const std::string& account,
                     Money amount) {
  const auto run = find_segment(database, key);
  if (!run) return;
  std::vector<std::string> nodes;
  std::vector<std::int64_t> earned;
  {
    Statement query = database.prepare(
        "SELECT node, earned FROM node_income WHERE segment = ? AND account = ? ORDER BY node");
    query.bind(run->id).bind(account);
    while (query.step()) {
      nodes.push_back(query.text(0));
      earned.push_back(query.integer(1));
    }
  }
  const std::vector<Money> parts = apportion(amount, earned);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    database
        .prepare(
            "UPDATE node_income SET earned = max(0, earned - ?) WHERE segment = ? AND node = ?")
        .bind(parts[i].micro())
        .bind(run->id)
        .bind(nodes[i])
        .run();
  }
}

}  // namespace

std::optional<Money> total_of(const std::vector<Payee>& payees) {
  Money total;
  for (const Payee& payee : payees) {
    if (payee.amount < Money()) return std::nullopt;
    total += payee.amount;
  }
  return total;
}

void pay_owners(Database& database, const SegmentKey& key, const std::vector<Payee>& payees,
                Time now) {
  std::map<std::string, Money> by_name;
  for (const Payee& payee : payees) by_name[lower_case(payee.account)] += payee.amount;
  for (const auto& [name, amount] : by_name) {
    const auto owner = find_account(database, name);
    if (!owner || is_system(owner->id) || amount == Money()) continue;
    if (!fits(database, kRevenue, owner->id, amount)) continue;
    move(database, fmt::format("{}:payout:{}", key.text(), owner->name), kRevenue, owner->id,
         amount, fmt::format("job {} ran on its nodes", key.job_id), now);
  }
}

void take_back(Database& database, const SegmentKey& key, std::int64_t number, Money amount,
               Money left, Time now) {
  const std::vector<OwnersPart> owners = parts_of(database, key);
  if (owners.empty()) return;
  std::vector<std::int64_t> weights;
  Money site = left;
  for (const OwnersPart& owner : owners) {
    weights.push_back(owner.left.micro());
    site -= owner.left;
  }
  weights.push_back(std::max(site, Money()).micro());
  const std::vector<Money> parts = apportion(amount, weights);
  for (std::size_t i = 0; i < owners.size() && i < parts.size(); ++i) {
    if (parts[i] == Money() || !fits(database, owners[i].account, kRevenue, parts[i])) continue;
    move(database, fmt::format("{}:payback.{}:{}", key.text(), number, owners[i].name),
         owners[i].account, kRevenue, parts[i], fmt::format("refund of job {}", key.job_id), now);
    take_from_nodes(database, key, owners[i].name, parts[i]);
  }
}

}  // namespace market::ledger
