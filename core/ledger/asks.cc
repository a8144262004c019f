// SPDX-License-Identifier: GPL-2.0-or-later
// What owners of nodes ask, and what their nodes bring them.
#include <fmt/format.h>

#include <algorithm>

#include "core/ledger/books.h"
#include "core/words/node_ask.h"

namespace market::ledger {
namespace {

constexpr const char* kAskColumns = "node, account, price, tres, token, time, uid";

PostedAsk read_ask(const Statement& row) {
  PostedAsk posted;
  posted.node = row.text(0);
  posted.account = row.text(1);
  const std::string price = Money::from_micro(row.integer(2)).to_string();
  if (auto ask = parse_ask(price, row.text(3))) posted.ask = std::move(*ask);
  posted.token = row.text(4);
  posted.since = row.integer(5);
  posted.uid = static_cast<std::uint32_t>(row.integer(6));
  return posted;
}

}  // namespace

Outcome post_ask(Database& database, const PostAsk& operation, Time now) {
  const auto price = Money::from_credits(operation.ask.price);
  if (!price || *price < Money() || operation.token.empty()) return Outcome::kRefused;
  Statement known = database.prepare("SELECT 1 FROM ask WHERE token = ?");
  known.bind(operation.token);
  if (known.step()) return Outcome::kAlreadyDone;
  for (const PostAsk::Node& node : operation.nodes) {
    database
        .prepare(
            "INSERT INTO ask (token, time, cluster, node, account, price, tres, uid) VALUES "
            "(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(operation.token)
        .bind(now)
        .bind(operation.cluster)
        .bind(node.name)
        .bind(node.account)
        .bind(price->micro())
        .bind(tres_prices_text(operation.ask))
        .bind(std::int64_t{operation.uid})
        .run();
  }
  return Outcome::kDone;
}

std::vector<PostedAsk> read_asks(Database& database, const std::string& cluster) {
  Statement query = database.prepare(
      fmt::format("SELECT {} FROM ask WHERE id IN (SELECT max(id) FROM ask WHERE cluster = ? GROUP "
                  "BY node) ORDER BY node",
                  kAskColumns));
  query.bind(cluster);
  std::vector<PostedAsk> asks;
  while (query.step()) asks.push_back(read_ask(query));
  return asks;
}

void keep_node_incomes(Database& database, std::int64_t segment, const Segment& run,
                       const std::vector<NodeIncome>& nodes) {
  for (const NodeIncome& node : nodes) {
    database
        .prepare(
            "INSERT INTO node_income (segment, node, account, cluster, \"end\", asked, earned, "
            "cpu_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "\"end\" = excluded.\"end\", asked = excluded.asked, earned = excluded.earned, "
            "cpu_seconds = excluded.cpu_seconds")
        .bind(segment)
        .bind(node.node)
        .bind(lower_case(node.account))
        .bind(run.key.cluster)
        .bind(run.end)
        .bind(std::max(node.asked, Money()).micro())
        .bind(std::max(node.earned, Money()).micro())
        .bind(std::max<std::int64_t>(0, node.cpu_seconds))
        .run();
  }
}

EarningsPage read_earnings(Database& database, const EarningsQuestion& question) {
  EarningsPage page;
  Statement incomes = database.prepare(
      "SELECT node, account, count(*), sum(cpu_seconds), sum(asked), sum(earned) FROM node_income "
      "WHERE cluster = ? AND \"end\" >= ? AND \"end\" < ? GROUP BY node, account "
      "ORDER BY node, account");
  incomes.bind(question.cluster).bind(question.since).bind(question.until);
  while (incomes.step()) {
    page.nodes.push_back({incomes.text(0), incomes.text(1), incomes.integer(2), incomes.integer(3),
                          Money::from_micro(incomes.integer(4)),
                          Money::from_micro(incomes.integer(5))});
  }
  Statement asks = database.prepare(fmt::format(
      "SELECT {} FROM ask WHERE cluster = ? AND time >= ? AND time < ? ORDER BY id DESC LIMIT ?",
      kAskColumns));
  asks.bind(question.cluster).bind(question.since).bind(question.until).bind(kMostAsksShown);
  while (asks.step()) page.asks.push_back(read_ask(asks));
  std::reverse(page.asks.begin(), page.asks.end());
  return page;
}

}  // namespace market::ledger
