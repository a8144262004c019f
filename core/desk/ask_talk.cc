// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/ask_talk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/desk/request_talk.h"
#include "core/market/text.h"
#include "core/util/hostlist.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kMostNodes = 65536;

// The exchange that sells a node by its owner's ask; null where nobody's ask counts.
const Exchange* exchange_of(const Site& site, const std::string& node) {
  for (const auto& exchange : site.exchanges) {
    if (exchange->awards_nodes() && exchange->settings.owners.contains(node)) return exchange.get();
  }
  return nullptr;
}

// A price that waits to be written counts as asked.
std::optional<std::string> too_soon(const Site& site, const MarketSettings& settings,
                                    const std::string& node, Time now) {
  const ledger::PostedAsk* last = site.asks.posted(settings, node);
  if (last == nullptr || settings.asks.every == 0) return std::nullopt;
  const Time left = last->since + settings.asks.every - now;
  if (left <= 0) return std::nullopt;
  return fmt::format("{}: its price may change every {} (dva.ask_every); again in {}", node,
                     span_text(settings.asks.every), span_text(std::max(left, Time{1})));
}

std::optional<std::string> refusal_of_node(const Site& site, const Admission& admission,
                                           const std::string& node, const NodeAsk& ask,
                                           const market_submission_t& asker, Time now) {
  const Exchange* exchange = exchange_of(site, node);
  if (exchange == nullptr)
    return fmt::format(
        "{}: no market sells it at its owner's price (mechanism dva and owners in "
        "market.conf)",
        node);
  const MarketSettings& settings = exchange->settings;
  const std::string& account = settings.owners.find(node)->second.account;
  if (!admission.may_manage(account, asker))
    return fmt::format("{}: only managers of account {} may ask a price for it", node, account);
  if (auto refusal = refusal_of_ask(ask, settings)) return refusal;
  return too_soon(site, settings, node, now);
}

Json outcome_of(Requests::Stage stage, const Json& ask) {
  if (stage == Requests::Stage::kWaits) return waits();
  if (stage == Requests::Stage::kRefused)
    return failure("the ledger refused it; slurmctld's log says more");
  const std::string tres = text_of(ask, "tres");
  return Json{{"ok", true},
              {"text", fmt::format("{}: asks {} for a billing unit and an hour{}; the next award "
                                   "goes by that, runs and their rates stay",
                                   printable(text_of(ask, "nodes")), text_of(ask, "price"),
                                   tres.empty() ? "" : ", " + printable(tres))}};
}

}  // namespace

Json post_ask(Site& site, const Admission& admission, const Json& ask,
              const market_submission_t& asker, Time now) {
  ledger::PostAsk request;
  auto token = token_in(ask);
  if (!token) return failure(token.error().text);
  request.token = std::move(*token);
  request.cluster = site.cluster_name;
  request.uid = asker.uid;
  const auto names = expand_hostlist(text_of(ask, "nodes"), kMostNodes);
  if (!names) return failure("NODES: " + names.error().text);
  auto wanted = parse_ask(text_of(ask, "price"), text_of(ask, "tres"));
  if (!wanted) return failure(wanted.error().text);
  request.ask = std::move(*wanted);
  const Requests::Stage stage = site.requests.stage_of(request.token, asker.uid);
  if (stage != Requests::Stage::kUnknown) return outcome_of(stage, ask);
  std::set<std::string_view> unnamed;
  for (const Node& node : site.cluster.nodes()) unnamed.insert(node.name);
  for (const std::string& node : *names) {
    if (unnamed.erase(node) == 0)
      return failure(fmt::format("there is no node {}, or it comes twice", printable(node)));
    if (const auto refusal = refusal_of_node(site, admission, node, request.ask, asker, now))
      return failure(*refusal);
    const std::string& account =
        exchange_of(site, node)->settings.owners.find(node)->second.account;
    request.nodes.push_back({node, account});
  }
  if (request.nodes.empty()) return failure("NODES: at least one node");
  if (!site.requests.has_room_for(asker.uid, now)) return waits();
  site.requests.begin(request.token, asker.uid, now);
  site.accounts.record(std::move(request));
  return waits();
}

namespace {

Json row_of(const Site& site, const Exchange& exchange, const Node& node) {
  const NodeAsk ask = site.asks.of(exchange.settings, node.name);
  Json row{{"node", node.name},
           {"owner", exchange.settings.owners.find(node.name)->second.account},
           {"ask", money_of(ask.price).to_string()},
           {"tres", tres_prices_text(ask)},
           {"market", exchange.settings.name}};
  if (const ledger::PostedAsk* last = site.asks.posted(exchange.settings, node.name)) {
    row["since"] = last->since;
    row["by"] = last->uid;
  }
  return row;
}

void add_income(const ledger::NodeEarnings& income, const Node& node,
                const ledger::EarningsQuestion& question, Json& row) {
  const double asked = income.asked.credits(), earned = income.earned.credits();
  const double cpus = static_cast<double>(node.cores) * node.threads_per_core;
  const auto seconds = static_cast<double>(std::max<Time>(1, question.until - question.since));
  row["runs"] = income.runs;
  row["asked_for"] = income.asked.to_string();
  row["earned"] = income.earned.to_string();
  row["income_to_expectation"] = asked > 0 ? Json(earned / asked) : Json(1.0);
  row["use"] = cpus > 0 ? static_cast<double>(income.cpu_seconds) / (cpus * seconds) : 0;
}

Json history_of(const ledger::PostedAsk& posted) {
  return Json{{"time", posted.since},
              {"node", posted.node},
              {"owner", posted.account},
              {"ask", money_of(posted.ask.price).to_string()},
              {"tres", tres_prices_text(posted.ask)},
              {"by", posted.uid}};
}

}  // namespace

Json owners_answer(const Site& site, const ledger::EarningsQuestion& question,
                   const ledger::EarningsPage& page) {
  const auto may_see = [&question](const std::string& account) {
    return question.sees_all || std::find(question.accounts.begin(), question.accounts.end(),
                                          account) != question.accounts.end();
  };
  std::map<std::pair<std::string, std::string>, ledger::NodeEarnings> incomes;
  for (const ledger::NodeEarnings& income : page.nodes)
    incomes[{income.node, income.account}] = income;
  Json rows = Json::array();
  for (const auto& exchange : site.exchanges) {
    if (!exchange->awards_nodes()) continue;
    for (const Node& node : site.cluster.nodes()) {
      const auto owner = exchange->settings.owners.find(node.name);
      if (owner == exchange->settings.owners.end()) continue;
      Json row = row_of(site, *exchange, node);
      if (may_see(owner->second.account))
        add_income(incomes[{node.name, owner->second.account}], node, question, row);
      rows.push_back(std::move(row));
    }
  }
  Json asks = Json::array();
  for (const ledger::PostedAsk& posted : page.asks) {
    if (may_see(posted.account)) asks.push_back(history_of(posted));
  }
  return Json{{"ok", true},
              {"since", question.since},
              {"until", question.until},
              {"owners", std::move(rows)},
              {"asks", std::move(asks)},
              {"currency", site.config.currency}};
}

}  // namespace market
