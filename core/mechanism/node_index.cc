// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/node_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace market {
namespace {

constexpr std::size_t kLeafSize = 8;

/// Bounds are computed in another order than payments; a box is passed over only when it is worse
/// by more than rounding.
constexpr double kBoundSlack = 1 - 1e-9;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Coordinate `k` of a node in the space of the tree: square roots of prices, then availabilities.
double coordinate(const AuctionNode& node, std::size_t k) {
  const std::size_t dimensions = node.prices.size();
  return k < dimensions ? std::sqrt(node.prices[k]) : node.available[k - dimensions];
}

/// Widest coordinate of the nodes in `order`, each measured against `spread` (0: do not measure).
std::size_t widest(std::span<const AuctionNode> nodes, std::span<const std::uint32_t> order,
                   std::span<const double> spread, double* width) {
  std::size_t best = 0;
  *width = 0;
  for (std::size_t k = 0; k < spread.size(); ++k) {
    if (!(spread[k] > 0)) continue;
    double low = kInfinity, high = -kInfinity;
    for (const std::uint32_t node : order) {
      low = std::min(low, coordinate(nodes[node], k));
      high = std::max(high, coordinate(nodes[node], k));
    }
    if ((high - low) / spread[k] > *width) {
      *width = (high - low) / spread[k];
      best = k;
    }
  }
  return best;
}

}  // namespace

struct NodeIndex::Search {
  using Found = std::pair<double, std::uint32_t>;  ///< payment, node

  const NodeQuery& query;
  std::size_t count;
  std::vector<double> workload_roots;
  std::vector<double> shares;
  std::vector<Found> found;  ///< a heap, the worst on top

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
};

NodeIndex::NodeIndex(std::span<const AuctionNode> nodes)
    : node_at_(nodes.size()), position_of_(nodes.size()) {
  if (nodes.empty()) return;
  dimensions_ = nodes[0].prices.size();
  leaves_ = std::bit_ceil(std::max<std::size_t>(1, nodes.size() / kLeafSize));
  std::iota(node_at_.begin(), node_at_.end(), 0);

  std::vector<double> spread(2 * dimensions_, 1.0);
  for (std::size_t k = 0; k < spread.size(); ++k) {
    double low = kInfinity, high = -kInfinity;
    for (const AuctionNode& node : nodes) {
      low = std::min(low, coordinate(node, k));
      high = std::max(high, coordinate(node, k));
    }
    spread[k] = high - low;
  }
  arrange(nodes, 1, spread);

  prices_.resize(nodes.size() * dimensions_);
  available_.resize(nodes.size() * dimensions_);
  for (std::uint32_t position = 0; position < nodes.size(); ++position) {
    const AuctionNode& node = nodes[node_at_[position]];
    position_of_[node_at_[position]] = position;
    const auto offset = static_cast<std::ptrdiff_t>(position * dimensions_);
    std::copy(node.prices.begin(), node.prices.end(), prices_.begin() + offset);
    std::copy(node.available.begin(), node.available.end(), available_.begin() + offset);
  }
  boxes_.resize(2 * leaves_ * 3 * dimensions_);
  for (std::size_t box = 2 * leaves_; box-- > 1;) refresh(box);
}

NodeIndex::Range NodeIndex::range_of(std::size_t box) const {
  const std::size_t level = std::bit_floor(box);
  const std::size_t place = box - level;
  return {size() * place / level, size() * (place + 1) / level};
}

void NodeIndex::arrange(std::span<const AuctionNode> nodes, std::size_t box,
                        std::span<const double> spread) {
  if (is_leaf(box)) return;
  const Range range = range_of(box);
  const std::size_t middle = range_of(2 * box).end;
  const auto order = std::span(node_at_).subspan(range.begin, range.end - range.begin);
  double width = 0;
  const std::size_t axis = widest(nodes, order, spread, &width);
  if (width > 0) {
    std::nth_element(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(middle - range.begin), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return coordinate(nodes[a], axis) < coordinate(nodes[b], axis);
                     });
  }
  arrange(nodes, 2 * box, spread);
  arrange(nodes, 2 * box + 1, spread);
}

void NodeIndex::refresh(std::size_t box) {
  double* lowest = box_data(box);
  double* roots = lowest + dimensions_;
  double* highest = roots + dimensions_;
  for (std::size_t k = 0; k < dimensions_; ++k) {
    if (is_leaf(box)) {
      const Range range = range_of(box);
      lowest[k] = kInfinity;
      highest[k] = -kInfinity;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        lowest[k] = std::min(lowest[k], prices_[i * dimensions_ + k]);
        highest[k] = std::max(highest[k], available_[i * dimensions_ + k]);
      }
    } else {
      const double* left = box_data(2 * box);
      const double* right = box_data(2 * box + 1);
      lowest[k] = std::min(left[k], right[k]);
      highest[k] = std::max(left[2 * dimensions_ + k], right[2 * dimensions_ + k]);
    }
    roots[k] = std::sqrt(lowest[k]);
  }
}

void NodeIndex::refresh_upwards(std::size_t position) {
  std::size_t box = 1;
  while (!is_leaf(box)) box = 2 * box + (position < range_of(2 * box).end ? 0 : 1);
  refresh(box);
  for (box /= 2; box >= 1; box /= 2) {
    double* highest = box_data(box) + 2 * dimensions_;
    const double* left = box_data(2 * box) + 2 * dimensions_;
    const double* right = box_data(2 * box + 1) + 2 * dimensions_;
    bool changed = false;
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const double now = std::max(left[k], right[k]);
      changed = changed || now != highest[k];
      highest[k] = now;
    }
    if (!changed) return;
  }
}

std::span<const double> NodeIndex::prices(std::uint32_t node) const {
  return std::span(prices_).subspan(position_of_[node] * dimensions_, dimensions_);
}

std::span<const double> NodeIndex::available(std::uint32_t node) const {
  return std::span(available_).subspan(position_of_[node] * dimensions_, dimensions_);
}

void NodeIndex::take(std::uint32_t node, std::span<const double> shares) {
  const std::size_t position = position_of_[node];
  for (std::size_t k = 0; k < dimensions_; ++k) {
    double& left = available_[position * dimensions_ + k];
    left = std::max(0.0, left - shares[k]);
  }
  refresh_upwards(position);
}

void NodeIndex::set_available(std::uint32_t node, std::span<const double> available) {
  const std::size_t position = position_of_[node];
  std::copy(available.begin(), available.end(),
            available_.begin() + static_cast<std::ptrdiff_t>(position * dimensions_));
  refresh_upwards(position);
}

double NodeIndex::lower_bound(std::size_t box, const Search& search) const {
  const double* lowest = box_data(box);
  const double* roots = lowest + dimensions_;
  const double* highest = roots + dimensions_;
  double held = 0, root = 0, least_time = 0;
  for (std::size_t k = 0; k < dimensions_; ++k) {
    if (search.query.demand[k] > highest[k]) return kInfinity;
    if (search.query.workload[k] == 0) {
      held += lowest[k] * search.query.demand[k];
    } else {
      root += search.workload_roots[k] * roots[k];
      least_time += search.query.workload[k] / highest[k];
    }
  }
  // Held space costs `held` for the whole time; the rest of the budget buys at least time root²/(B
  // − held).
  const double budget = search.query.budget;
  if (held > budget * (1 + 1e-12)) return kInfinity;
  const double time = held < budget * (1 - 1e-12)
                          ? std::max(least_time, root * root / (budget - held))
                          : least_time;
  return root * root + held * time;
}

void NodeIndex::search(std::size_t box, Search* search) const {
  if (is_leaf(box)) return search_leaf(box, search);
  std::size_t near = 2 * box, far = 2 * box + 1;
  double near_bound = lower_bound(near, *search), far_bound = lower_bound(far, *search);
  if (far_bound < near_bound) {
    std::swap(near, far);
    std::swap(near_bound, far_bound);
  }
  if (near_bound < kInfinity && near_bound * kBoundSlack <= search->worst())
    this->search(near, search);
  if (far_bound < kInfinity && far_bound * kBoundSlack <= search->worst())
    this->search(far, search);
}

void NodeIndex::search_leaf(std::size_t box, Search* search) const {
  const Range range = range_of(box);
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const auto at = [&](const std::vector<double>& data) {
      return std::span(data).subspan(i * dimensions_, dimensions_);
    };
    LovraShares outcome;
    if (!lovra({search->query.budget, search->query.workload, search->query.demand, at(prices_),
                at(available_)},
               search->shares, &outcome)) {
      continue;
    }
    if (search->query.require_demand && !outcome.meets_demand) continue;
    search->add({outcome.payment, node_at_[i]});
  }
}

std::vector<NodeOffer> NodeIndex::cheapest(const NodeQuery& query, std::size_t count) const {
  std::vector<NodeOffer> offers;
  if (node_at_.empty() || count == 0) return offers;
  Search search{
      query, count, std::vector<double>(dimensions_), std::vector<double>(dimensions_), {}};
  for (std::size_t k = 0; k < dimensions_; ++k) {
    search.workload_roots[k] = std::sqrt(query.workload[k]);
  }
  this->search(1, &search);
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
