// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/node_ranks.h"

#include <algorithm>

#include "core/market/site.h"
#include "core/market/supply.h"

namespace market {
namespace {

/// Credits for a billing unit and an hour of the whole node. A market that observes asks nobody.
double ask_of(const Site& site, const Node& node) {
  for (const auto& exchange : site.exchanges) {
    const MarketSettings& settings = exchange->settings;
    if (settings.observes() || !sells(settings, node)) continue;
    const NodeAsk ask = site.asks.of(settings, node.name);
    if (ask.tres.empty()) return ask.price;
    Tres all;
    add_node(all, node);
    const double units = exchange->billing_of(all);
    return units > 0 ? asked_for(*exchange, all, ask) / units : ask.price;
  }
  return site.config.floor_price;
}

}  // namespace

std::vector<std::uint16_t> node_ranks(const Site& site) {
  const bool any_owner =
      std::any_of(site.exchanges.begin(), site.exchanges.end(), [](const auto& exchange) {
        return !exchange->settings.observes() && !exchange->settings.owners.empty();
      });
  if (!any_owner) return {};
  std::vector<double> asks;
  for (const Node& node : site.cluster.nodes()) asks.push_back(ask_of(site, node));
  std::vector<double> distinct = asks;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() < 2) return {};
  std::vector<std::uint16_t> ranks;
  for (const double ask : asks) {
    const auto rank = std::lower_bound(distinct.begin(), distinct.end(), ask) - distinct.begin();
    ranks.push_back(static_cast<std::uint16_t>(std::min<std::ptrdiff_t>(rank, UINT16_MAX)));
  }
  return ranks;
}

}  // namespace market
