// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/asks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/words/phrases.h"

namespace market {
namespace {

// Between which prices a TRES may be asked for: where it has a weight, as `price` times that.
std::pair<double, double> bounds_of(std::string_view tres, const MarketSettings& settings) {
  const double weight = settings.weight_of(tres);
  if (!(weight > 0)) return {0, settings.asks.most};
  return {settings.asks.least * weight, settings.asks.most * weight};
}

}  // namespace

const ledger::PostedAsk* Asks::posted(const MarketSettings& settings,
                                      const std::string& node) const {
  const auto owner = settings.owners.find(node);
  const auto found = posted_.find(node);
  if (owner == settings.owners.end() || found == posted_.end()) return nullptr;
  return found->second.account == owner->second.account ? &found->second : nullptr;
}

NodeAsk Asks::of(const MarketSettings& settings, const std::string& node) const {
  const auto owner = settings.owners.find(node);
  if (owner == settings.owners.end()) return NodeAsk{settings.floor_price};
  const ledger::PostedAsk* last = posted(settings, node);
  if (last == nullptr) return NodeAsk{owner->second.ask};
  NodeAsk ask = last->ask;
  ask.price = std::clamp(ask.price, settings.asks.least, settings.asks.most);
  for (auto& [name, price] : ask.tres) {
    const auto [least, most] = bounds_of(name, settings);
    price = std::clamp(price, least, most);
  }
  return ask;
}

void Asks::install(std::vector<ledger::PostedAsk> asks) {
  posted_.clear();
  for (ledger::PostedAsk& ask : asks) {
    std::string node = ask.node;
    posted_.insert_or_assign(std::move(node), std::move(ask));
  }
}

std::optional<std::string> refusal_of_ask(const NodeAsk& ask, const MarketSettings& settings) {
  const AskBounds& bounds = settings.asks;
  if (ask.price < bounds.least || ask.price > bounds.most)
    return fmt::format("PRICE {}: from {} to {} for a billing unit and an hour",
                       number_text(ask.price), number_text(bounds.least), number_text(bounds.most));
  for (const auto& [name, price] : ask.tres) {
    const auto [least, most] = bounds_of(name, settings);
    if (price < least || price > most)
      return fmt::format("--tres={}:{}: from {} to {} an hour", name, number_text(price),
                         number_text(least), number_text(most));
  }
  return std::nullopt;
}

}  // namespace market
