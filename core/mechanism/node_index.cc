// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/node_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace market {
namespace {

/// Bounds are computed in another order than payments; a branch is passed over only when it is
/// worse by more than rounding.
constexpr double kBoundSlack = 1 - 1e-9;

/// How much less an axis of availability is worth splitting than an axis of price (measured on the
/// paper's settings).
constexpr double kAvailabilityWeight = 1.5;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Coordinate `k` of a node in the space of the tree: square roots of prices, then availabilities.
double coordinate(const AuctionNode& node, std::size_t k) {
  const std::size_t dimensions = node.prices.size();
  return k < dimensions ? std::sqrt(node.prices[k]) : node.available[k - dimensions];
}

struct Extent {
  double low = kInfinity, high = -kInfinity;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Axis along which the nodes in `order` lie farthest apart, measured against `spread` (0: not an
/// axis).
std::size_t widest(std::span<const AuctionNode> nodes, std::span<const std::uint32_t> order,
                   std::span<const double> spread) {
  std::size_t best = 0;
  double width = 0;
  for (std::size_t k = 0; k < spread.size(); ++k) {
    if (!(spread[k] > 0)) continue;
    Extent extent;
    for (const std::uint32_t node : order) extent.add(coordinate(nodes[node], k));
    if ((extent.high - extent.low) / spread[k] <= width) continue;
    width = (extent.high - extent.low) / spread[k];
    best = k;
  }
  return best;
}

}  // namespace

struct NodeIndex::Search {
  using Found = std::pair<double, std::uint32_t>;  ///< payment, node

  Search(const NodeQuery& asked, std::size_t wanted)
      : query(asked), count(wanted), roots(asked.workload.size()), held(asked.workload.size()) {
    for (std::size_t k = 0; k < roots.size(); ++k) {
      roots[k] = std::sqrt(query.workload[k]);
      held[k] = query.workload[k] == 0 ? query.demand[k] : 0;
    }
    prices.resize(roots.size());
    available.resize(roots.size());
    shares.resize(roots.size());
  }

  double worst() const { return found.size() < count ? kInfinity : found.front().first; }

  void add(const Found& offer) {
    if (found.size() == count) {
      if (!(offer < found.front())) return;
      std::pop_heap(found.begin(), found.end());
      found.pop_back();
    }
    found.push_back(offer);
    std::push_heap(found.begin(), found.end());
  }

  const NodeQuery& query;
  std::size_t count;
  std::vector<double> roots;                      ///< √l
  std::vector<double> held;                       ///< e where l = 0, else 0
  std::vector<double> prices, available, shares;  ///< of the node at hand
  std::vector<Found> found;                       ///< a heap, the worst on top
};

double* NodeIndex::row(std::size_t level, std::size_t fork, std::size_t dimension, Row row) {
  return levels_[level].data.data() + ((fork * dimensions_ + dimension) * kRows + row) * kBranches;
}

const double* NodeIndex::row(std::size_t level, std::size_t fork, std::size_t dimension,
                             Row row) const {
  return levels_[level].data.data() + ((fork * dimensions_ + dimension) * kRows + row) * kBranches;
}

NodeIndex::NodeIndex(std::span<const AuctionNode> nodes)
    : node_at_(nodes.size()), position_of_(nodes.size()) {
  if (nodes.empty()) return;
  dimensions_ = nodes[0].prices.size();
  std::iota(node_at_.begin(), node_at_.end(), 0);
  std::vector<double> spread(2 * dimensions_);
  for (std::size_t k = 0; k < spread.size(); ++k) {
    Extent extent;
    for (const AuctionNode& node : nodes) extent.add(coordinate(node, k));
    spread[k] = (extent.high - extent.low) * (k < dimensions_ ? 1 : kAvailabilityWeight);
  }
  arrange(nodes, node_at_, spread);

  add_level(nodes.size());
  for (std::size_t position = 0; position < nodes.size(); ++position) {
    const AuctionNode& node = nodes[node_at_[position]];
    position_of_[node_at_[position]] = static_cast<std::uint32_t>(position);
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const std::size_t fork = position / kBranches, branch = position % kBranches;
      row(0, fork, k, kPrice)[branch] = node.prices[k];
      row(0, fork, k, kRoot)[branch] = std::sqrt(node.prices[k]);
      row(0, fork, k, kAvailable)[branch] = node.available[k];
    }
  }
  for (std::size_t level = 1; levels_.back().forks > 1; ++level) {
    const std::size_t branches = levels_.back().forks;
    add_level(branches);
    for (std::size_t branch = 0; branch < branches; ++branch) summarize(level, branch);
  }
}

/// Orders nodes so that every aligned group of 8, 64, … is a box: halves at powers of two, along
/// the widest axis.
void NodeIndex::arrange(std::span<const AuctionNode> nodes, std::span<std::uint32_t> order,
                        std::span<const double> spread) {
  if (order.size() <= kBranches) return;
  const std::size_t middle = std::bit_ceil(order.size()) / 2;
  const std::size_t axis = widest(nodes, order, spread);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(middle), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return coordinate(nodes[a], axis) < coordinate(nodes[b], axis);
                   });
  arrange(nodes, order.first(middle), spread);
  arrange(nodes, order.subspan(middle), spread);
}

/// A level of forks for `branches`; places without a branch look like nodes with nothing available.
void NodeIndex::add_level(std::size_t branches) {
  Level& level = levels_.emplace_back();
  level.forks = (branches + kBranches - 1) / kBranches;
  level.data.assign(level.forks * dimensions_ * kRows * kBranches, -1);
}

void NodeIndex::summarize(std::size_t level, std::size_t branch) {
  const std::size_t fork = branch / kBranches, place = branch % kBranches;
  for (std::size_t k = 0; k < dimensions_; ++k) {
    Extent price, available;
    for (std::size_t i = 0; i < kBranches; ++i) {
      const double amount = row(level - 1, branch, k, kAvailable)[i];
      if (amount < 0) continue;
      available.add(amount);
      price.add(row(level - 1, branch, k, kPrice)[i]);
    }
    row(level, fork, k, kPrice)[place] = price.low;
    row(level, fork, k, kRoot)[place] = std::sqrt(price.low);
    row(level, fork, k, kAvailable)[place] = available.high;
  }
}

void NodeIndex::refresh_available(std::size_t position) {
  std::size_t branch = position / kBranches;
  for (std::size_t level = 1; level < levels_.size(); ++level, branch /= kBranches) {
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const double* below = row(level - 1, branch, k, kAvailable);
      row(level, branch / kBranches, k, kAvailable)[branch % kBranches] =
          *std::max_element(below, below + kBranches);
    }
  }
}

std::vector<double> NodeIndex::prices(std::uint32_t node) const {
  std::vector<double> values(dimensions_);
  const std::size_t position = position_of_[node];
  for (std::size_t k = 0; k < dimensions_; ++k) {
    values[k] = row(0, position / kBranches, k, kPrice)[position % kBranches];
  }
  return values;
}

std::vector<double> NodeIndex::available(std::uint32_t node) const {
  std::vector<double> values(dimensions_);
  const std::size_t position = position_of_[node];
  for (std::size_t k = 0; k < dimensions_; ++k) {
    values[k] = row(0, position / kBranches, k, kAvailable)[position % kBranches];
  }
  return values;
}

void NodeIndex::take(std::uint32_t node, std::span<const double> shares) {
  std::vector<double> left = available(node);
  for (std::size_t k = 0; k < dimensions_; ++k) left[k] = std::max(0.0, left[k] - shares[k]);
  set_available(node, left);
}

void NodeIndex::set_available(std::uint32_t node, std::span<const double> available) {
  const std::size_t position = position_of_[node];
  for (std::size_t k = 0; k < dimensions_; ++k) {
    row(0, position / kBranches, k, kAvailable)[position % kBranches] = available[k];
  }
  refresh_available(position);
}

/// Lower bounds of the payment on the branches of a fork; infinite where no node qualifies. Held
/// space costs h credits per second for the whole time and leaves B − h, which buys no less than
/// time R²/(B − h), R = Σ √(b l).
void NodeIndex::bounds(std::size_t level, std::size_t fork, const Search& search,
                       double* bound) const {
  std::array<double, kBranches> root{}, held{}, lacking{};
  for (std::size_t k = 0; k < dimensions_; ++k) {
    const double* price = row(level, fork, k, kPrice);
    const double* price_root = row(level, fork, k, kRoot);
    const double* available = row(level, fork, k, kAvailable);
    const double workload_root = search.roots[k], space = search.held[k];
    const double demand = search.query.demand[k];
    for (std::size_t i = 0; i < kBranches; ++i) {
      lacking[i] = std::max(lacking[i], demand - available[i]);
    }
    if (space > 0) {
      for (std::size_t i = 0; i < kBranches; ++i) held[i] += space * price[i];
    } else {
      for (std::size_t i = 0; i < kBranches; ++i) root[i] += workload_root * price_root[i];
    }
  }
  const double budget = search.query.budget;
  for (std::size_t i = 0; i < kBranches; ++i) {
    const double left = budget - held[i];
    bound[i] = root[i] * root[i] * (left > budget * 1e-12 ? budget / left : 1);
    if (lacking[i] > 0 || left < -1e-12 * budget) bound[i] = kInfinity;
  }
}

void NodeIndex::search(std::size_t level, std::size_t fork, Search* search) const {
  std::array<double, kBranches> bound;
  bounds(level, fork, *search, bound.data());
  std::array<std::size_t, kBranches> open;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kBranches; ++i) {
    if (bound[i] == kInfinity || bound[i] * kBoundSlack > search->worst()) continue;
    std::size_t place = count++;
    for (; place > 0 && bound[open[place - 1]] > bound[i]; --place) open[place] = open[place - 1];
    open[place] = i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (bound[open[i]] * kBoundSlack > search->worst()) return;
    const std::size_t branch = fork * kBranches + open[i];
    if (level > 0) {
      this->search(level - 1, branch, search);
    } else {
      try_node(branch, search);
    }
  }
}

void NodeIndex::try_node(std::size_t position, Search* search) const {
  for (std::size_t k = 0; k < dimensions_; ++k) {
    search->prices[k] = row(0, position / kBranches, k, kPrice)[position % kBranches];
    search->available[k] = row(0, position / kBranches, k, kAvailable)[position % kBranches];
  }
  LovraShares outcome;
  if (!lovra({search->query.budget, search->query.workload, search->query.demand, search->prices,
              search->available},
             search->shares, &outcome)) {
    return;
  }
  if (search->query.require_demand && !outcome.meets_demand) return;
  search->add({outcome.payment, node_at_[position]});
}

std::vector<NodeOffer> NodeIndex::cheapest(const NodeQuery& query, std::size_t count) const {
  std::vector<NodeOffer> offers;
  if (node_at_.empty() || count == 0) return offers;
  Search search(query, count);
  this->search(levels_.size() - 1, 0, &search);
  std::sort_heap(search.found.begin(), search.found.end());
  offers.reserve(search.found.size());
  for (const auto& [payment, node] : search.found) {
    NodeOffer offer{node, {}, std::vector<double>(dimensions_)};
    lovra({query.budget, query.workload, query.demand, prices(node), available(node)}, offer.shares,
          &offer.outcome);
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace market
