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

Asks::Stage Asks::stage_of(const std::string& token, std::uint32_t uid) const {
  const auto found = requests_.find(token);
  if (found != requests_.end() && found->second.uid == uid) return found->second.stage;
  // After a restart the books alone know it.
  const bool is_there = std::any_of(posted_.begin(), posted_.end(), [&](const auto& entry) {
    return entry.second.token == token && entry.second.uid == uid;
  });
  return is_there ? Stage::kWritten : Stage::kUnknown;
}

bool Asks::has_room_for(std::uint32_t uid, Time now) {
  std::erase_if(requests_, [now](const auto& entry) {
    const Time age = now - entry.second.made;
    return entry.second.stage != Stage::kWaits && (age > kKept || age < 0);
  });
  std::size_t of_user = 0, in_all = 0;
  for (const auto& [token, request] : requests_) {
    if (request.stage != Stage::kWaits) continue;
    ++in_all;
    of_user += request.uid == uid;
  }
  return of_user < kOfAUser && in_all < kInAll;
}

void Asks::begin(const ledger::PostAsk& request, Time now) {
  requests_[request.token] = {request.uid, now, Stage::kWaits};
}

void Asks::written(const ledger::PostAsk& request, ledger::Outcome outcome) {
  const auto found = requests_.find(request.token);
  if (found == requests_.end()) return;
  const bool is_there =
      outcome == ledger::Outcome::kDone || outcome == ledger::Outcome::kAlreadyDone;
  found->second.stage = is_there ? Stage::kWritten : Stage::kRefused;
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
