// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/demand_predictor.h"

#include <algorithm>
#include <utility>

namespace market {
namespace {

double quantity(const PastDemand& demand) {
  return demand.width * demand.duration;
}

std::size_t different_prices(const std::vector<PastDemand*>& by_price) {
  std::size_t count = by_price.empty() ? 0 : 1;
  for (std::size_t i = 1; i < by_price.size(); ++i)
    count += by_price[i]->price != by_price[i - 1]->price;
  return count;
}

void give_mean_price(std::span<PastDemand*> group) {
  double value = 0;
  double units = 0;
  for (const PastDemand* demand : group) {
    value += quantity(*demand) * demand->price;
    units += quantity(*demand);
  }
  for (PastDemand* demand : group) demand->price = value / units;
}

}  // namespace

// The prices are sorted beside their indices, so that no comparison looks elsewhere.
std::vector<std::uint32_t> by_falling_price(std::span<const PastDemand> demands) {
  std::vector<std::pair<double, std::uint32_t>> keys(demands.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = {demands[i].price, i};
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::uint32_t> order(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) order[i] = keys[i].second;
  return order;
}

void merge_prices(std::span<PastDemand> demands, std::size_t levels) {
  std::vector<PastDemand*> by_price;
  by_price.reserve(demands.size());
  double total = 0;
  for (const PastDemand& demand : demands) total += quantity(demand);
  for (const std::uint32_t i : by_falling_price(demands)) by_price.push_back(&demands[i]);
  if (different_prices(by_price) <= levels) return;

  const double share = total / static_cast<double>(levels);
  double seen = 0;
  std::size_t group_begin = 0;
  std::size_t group = 0;
  for (std::size_t i = 0; i < by_price.size(); ++i) {
    // A demand belongs to the group in which its middle lies.
    const double middle = seen + quantity(*by_price[i]) / 2;
    const auto own_group = std::min(levels - 1, static_cast<std::size_t>(middle / share));
    if (own_group != group) {
      give_mean_price(std::span(by_price).subspan(group_begin, i - group_begin));
      group_begin = i;
      group = own_group;
    }
    seen += quantity(*by_price[i]);
  }
  give_mean_price(std::span(by_price).subspan(group_begin));
}

}  // namespace market
