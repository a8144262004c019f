// SPDX-License-Identifier: GPL-2.0-or-later
// What is bought and not used: a rest has a segment with a lien, the rows here tell when it was made
// and what later sales brought of it.
#include <fmt/format.h>

#include <map>

#include "core/ledger/books.h"

namespace market::ledger {

Outcome keep_rest(Database& database, const Rest& rest) {
  const auto row = find_segment(database, rest.segment.key);
  if (!row) return Outcome::kRefused;
  database
      .prepare("INSERT INTO rest (segment, market, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
      .bind(row->id)
      .bind(rest.market)
      .bind(rest.made)
      .run();
  CountSale known;
  for (const Resold& resold : rest.resold) known.parts.push_back({rest.segment.key, resold});
  for (std::size_t part = 0; part < known.parts.size(); ++part) keep_sale(database, known, part);
  return Outcome::kDone;
}

Outcome keep_sale(Database& database, const CountSale& operation, std::size_t part) {
  const Resold& resold = operation.parts[part].resold;
  const auto row = find_segment(database, operation.parts[part].rest);
  if (!row || resold.end <= resold.begin) return Outcome::kRefused;
  database
      .prepare(
          "INSERT INTO resold (rest, sale, begin, \"end\", billing, amount) VALUES (?, ?, ?, ?, ?, "
          "?)")
      .bind(row->id)
      .bind(resold.sale)
      .bind(resold.begin)
      .bind(resold.end)
      .bind(resold.billing)
      .bind(resold.amount.micro())
      .run();
  return Outcome::kDone;
}

bool is_counted(Database& database, const std::string& sale) {
  Statement query = database.prepare("SELECT 1 FROM resold WHERE sale = ? LIMIT 1");
  query.bind(sale);
  return query.step();
}

OpenRests read_open_rests(Database& database, const std::string& cluster) {
  Transaction transaction(database, Transaction::Kind::kRead);
  OpenRests open;
  std::map<std::int64_t, std::size_t> by_row;
  Statement rests = database.prepare(fmt::format(
      "SELECT {}, segment.id, market, made FROM segment JOIN rest ON rest.segment = segment.id "
      "WHERE lien IS NOT NULL AND cluster = ? ORDER BY made, segment.id",
      segment_columns()));
  rests.bind(cluster);
  const int next = segment_column_count();
  while (rests.step()) {
    by_row[rests.integer(next)] = open.rests.size();
    open.rests.push_back({read_segment(rests), rests.text(next + 1), rests.integer(next + 2)});
  }
  Statement parts = database.prepare(
      "SELECT rest, sale, begin, resold.\"end\", resold.billing, amount FROM resold JOIN segment "
      "ON "
      "segment.id = rest WHERE segment.lien IS NOT NULL AND cluster = ? ORDER BY resold.id");
  parts.bind(cluster);
  while (parts.step()) {
    const auto rest = by_row.find(parts.integer(0));
    if (rest == by_row.end()) continue;
    open.rests[rest->second].resold.push_back({parts.text(1), parts.integer(2), parts.integer(3),
                                               parts.real(4), Money::from_micro(parts.integer(5))});
  }
  // A purchase is named by its run and the time of it.
  Statement sales = database.prepare(
      "SELECT DISTINCT sale FROM resold WHERE EXISTS (SELECT 1 FROM segment WHERE lien IS NOT NULL "
      "AND cluster = ? AND key = substr(sale, 1, instr(sale || '@', '@') - 1))");
  sales.bind(cluster);
  while (sales.step()) open.counted.push_back(sales.text(0));
  return open;
}

}  // namespace market::ledger
