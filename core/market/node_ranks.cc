// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/node_ranks.h"

#include <algorithm>

#include "core/market/site.h"

namespace market {
namespace {

double ask_of(const Site& site, const Node& node) {
  for (const auto& exchange : site.exchanges) {
    const MarketSettings& settings = exchange->settings;
    if (!sells(settings, node)) continue;
    return site.asks.of(settings, node.name).price;
  }
  return site.config.floor_price;
}

}  // namespace

std::vector<std::uint16_t> node_ranks(const Site& site) {
  const bool any_owner =
      std::any_of(site.exchanges.begin(), site.exchanges.end(),
                  [](const auto& exchange) { return !exchange->settings.owners.empty(); });
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
