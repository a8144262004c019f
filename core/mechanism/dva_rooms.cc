// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_rooms.h"

#include <algorithm>
#include <map>

#include "core/words/node_ask.h"

namespace market {
namespace {

constexpr double kRoomRounding = 1e-9;

// Credits per amount and second, of each good.
std::vector<double> prices_of(const Goods& goods, const NodeAsk& ask) {
  std::vector<double> prices;
  for (std::size_t j = 0; j < goods.names.size(); ++j) {
    const auto own = ask.tres.find(goods.names[j]);
    const double price = own == ask.tres.end() ? ask.price * goods.weights[j]
                                               : own->second / units_of_price(own->first);
    prices.push_back(price / kSecondsPerHour);
  }
  return prices;
}

}  // namespace

std::vector<double> Goods::amounts(const Tres& tres) const {
  std::vector<double> values;
  values.reserve(names.size());
  for (const std::string& name : names) values.push_back(amount_of(tres, name));
  return values;
}

double Goods::billing(std::span<const double> amounts) const {
  double sum = 0;
  for (std::size_t j = 0; j < amounts.size(); ++j) sum += amounts[j] * weights[j];
  return sum;
}

void Goods::add(std::string_view name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  names.emplace_back(name);
  weights.push_back(0);
}

DvaRooms::DvaRooms(const Goods& goods, std::span<const NodeRoom> nodes, double floor,
                   std::span<const std::uint32_t> by_ask)
    : spots_(nodes.size()), largest_(goods.names.size()), weights_(goods.weights) {
  for (const NodeRoom& node : nodes) {
    for (std::size_t j = 0; j < largest_.size(); ++j)
      largest_[j] = std::max(largest_[j], amount_of(node.total, goods.names[j]));
  }
  std::vector<double> asks;
  for (const std::uint32_t node : by_ask)
    asks.push_back(nodes[node].ask ? nodes[node].ask->price / kSecondsPerHour : floor);
  add_shelf(goods, nodes, {by_ask.begin(), by_ask.end()}, std::move(asks), {});
  std::map<std::vector<double>, std::vector<std::uint32_t>> same_prices;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].ask && !nodes[node].ask->tres.empty())
      same_prices[prices_of(goods, *nodes[node].ask)].push_back(node);
  }
  for (auto& [prices, numbers] : same_prices)
    add_shelf(goods, nodes, std::move(numbers), {}, prices);
}

void DvaRooms::add_shelf(const Goods& goods, std::span<const NodeRoom> nodes,
                         std::vector<std::uint32_t> numbers, std::vector<double> asks,
                         std::vector<double> prices) {
  std::vector<double> free;
  free.reserve(numbers.size() * goods.names.size());
  for (std::uint32_t place = 0; place < numbers.size(); ++place) {
    spots_[numbers[place]] = {static_cast<std::uint32_t>(shelves_.size()), place};
    for (const std::string& name : goods.names)
      free.push_back(amount_of(nodes[numbers[place]].free, name));
  }
  const std::size_t places = numbers.size();
  shelves_.push_back({RoomIndex(std::move(free), places, goods.names.size()), std::move(numbers),
                      std::move(asks), std::move(prices)});
}

std::span<const double> DvaRooms::free_at(std::uint32_t node) const {
  return shelves_[spots_[node].shelf].free.free_at(spots_[node].place);
}

void DvaRooms::take(std::uint32_t node, std::span<const double> demand) {
  shelves_[spots_[node].shelf].free.take(spots_[node].place, demand);
}

double DvaRooms::asked(const Shelf& shelf, std::size_t place, std::span<const double> demand,
                       double units) {
  if (shelf.prices.empty()) return units * shelf.asks[place];
  double sum = 0;
  for (std::size_t j = 0; j < demand.size(); ++j) sum += demand[j] * shelf.prices[j];
  return sum;
}

double DvaRooms::asked(std::uint32_t node, std::span<const double> demand, double units) const {
  return asked(shelves_[spots_[node].shelf], spots_[node].place, demand, units);
}

std::vector<double> DvaRooms::prices_at(std::uint32_t node) const {
  const Shelf& shelf = shelves_[spots_[node].shelf];
  if (!shelf.prices.empty()) return shelf.prices;
  std::vector<double> prices = weights_;
  for (double& price : prices) price *= shelf.asks[spots_[node].place];
  return prices;
}

// Of each shelf the first; their nodes by what they ask.
std::vector<std::uint32_t> DvaRooms::first(const Wanted& wanted) {
  const double most = wanted.most * (1 + kRoomRounding);
  std::vector<std::uint32_t> found;
  for (Shelf& shelf : shelves_) {
    std::size_t end = shelf.nodes.size();
    if (shelf.prices.empty()) {
      const auto over = std::partition_point(shelf.asks.begin(), shelf.asks.end(), [&](double ask) {
        return !(wanted.units * ask > most);
      });
      end = static_cast<std::size_t>(over - shelf.asks.begin());
    } else if (asked(shelf, 0, wanted.demand, wanted.units) > most) {
      continue;
    }
    const std::size_t least = shelves_.size() == 1 ? wanted.least : 1;
    const std::size_t count = wanted.able == nullptr ? wanted.count : end;
    for (const std::uint32_t place : shelf.free.first(wanted.demand, end, least, count))
      found.push_back(shelf.nodes[place]);
  }
  if (shelves_.size() > 1) {
    std::vector<std::pair<double, std::uint32_t>> by_price;
    for (const std::uint32_t node : found)
      by_price.emplace_back(asked(node, wanted.demand, wanted.units), node);
    std::sort(by_price.begin(), by_price.end());
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = by_price[i].second;
  }
  return found;
}

namespace {

void keep_able(const std::vector<char>& able, std::size_t least,
               std::vector<std::uint32_t>* nodes) {
  std::erase_if(*nodes, [&](std::uint32_t node) { return able[node] == 0; });
  const auto must = std::count(able.begin(), able.end(), kRequiredNode);
  if (must == 0) return;
  std::vector<std::uint32_t> kept;
  for (const bool required : {true, false}) {
    for (const std::uint32_t node : *nodes) {
      if ((able[node] == kRequiredNode) == required && kept.size() < least) kept.push_back(node);
    }
    if (required && std::cmp_less(kept.size(), must)) return nodes->clear();
  }
  std::erase_if(*nodes, [&](std::uint32_t node) {
    return std::find(kept.begin(), kept.end(), node) == kept.end();
  });
}

}  // namespace

std::vector<NodeOffer> DvaRooms::offers(const Wanted& wanted) {
  std::vector<std::uint32_t> nodes = first(wanted);
  if (wanted.able != nullptr) keep_able(*wanted.able, wanted.least, &nodes);
  if (nodes.size() < wanted.least) return {};
  nodes.resize(std::min(nodes.size(), wanted.count));
  std::vector<NodeOffer> offers;
  offers.reserve(nodes.size());
  for (const std::uint32_t node : nodes) {
    const double unit = asked(node, wanted.demand, wanted.units);
    offers.push_back({node, {unit, wanted.seconds, unit * wanted.seconds, true}, {}});
  }
  return offers;
}

}  // namespace market
