// SPDX-License-Identifier: GPL-2.0-or-later
// One file although it is long: the index is one structure, and its parts change together.
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

/// How much less an axis of availability is worth splitting than an axis of price (measured on the
/// paper's settings).
constexpr double kAvailabilityWeight = 2;

constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kUnlimited = std::numeric_limits<float>::infinity();

/// Bounds below this are not told apart: single precision may have lost all digits of their parts.
constexpr float kNothing = 1e-30F;
/// Execution times of a bound end here, so that kNothing covers what their product can lose.
constexpr float kLongest = 1e12F;
constexpr float kLarge = 1e30F;
/// Part of the budget that counts as left at least: less is not known well enough.
constexpr float kLeastLeft = 1.0F / 64;

/// Coordinate `k` of a node in the space of the tree: square roots of prices, then availabilities.
double coordinate(const AuctionNode& node, std::size_t k) {
  const std::size_t dimensions = node.prices.size();
  return k < dimensions ? std::sqrt(node.prices[k]) : node.available[k - dimensions];
}

struct Extent {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();

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

  /// What the bounds need to know of the task in one dimension, in single precision.
  struct Wish {
    Lanes demand, root, held;  ///< e, √l; e/B where l = 0, else 0
    float workload;            ///< l
    bool holds;                ///< held is not 0
  };

  Search(const NodeQuery& asked, std::size_t wanted)
      : query(asked),
        count(wanted),
        budget(below(asked.budget)),
        slack(1 + 4 * static_cast<float>(asked.workload.size() + 8) *
                      std::numeric_limits<float>::epsilon()),
        shares(asked.workload.size()) {
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const double workload = query.workload[k], held = workload == 0 ? query.demand[k] : 0;
      const float part = held > 0 ? below(held / query.budget) : 0;
      wishes.push_back({Lanes{} + below(query.demand[k]), Lanes{} + below(std::sqrt(workload)),
                        Lanes{} + part, below(workload), part > 0});
    }
  }

  /// Keeps the offer if it is among the best.
  bool add(const Found& offer) {
    if (found.size() == count) {
      if (!(offer < found.front())) return false;
      std::pop_heap(found.begin(), found.end());
      found.pop_back();
    }
    found.push_back(offer);
    std::push_heap(found.begin(), found.end());
    if (found.size() == count) {
      limit = above(found.front().first * slack) + kNothing;
    }
    return true;
  }

  const NodeQuery& query;
  std::size_t count;
  float budget;
  float slack;               ///< more than what rounding can do to a bound
  float limit = kUnlimited;  ///< nodes with a higher bound are not among the best
  std::vector<Wish> wishes;
  std::vector<double> shares;  ///< of the node at hand
  std::vector<Found> found;    ///< a heap, the worst on top
};

std::span<NodeIndex::Axis> NodeIndex::axes(std::size_t level, std::size_t fork) {
  return std::span(levels_[level].axes).subspan(fork * dimensions_, dimensions_);
}

std::span<const NodeIndex::Axis> NodeIndex::axes(std::size_t level, std::size_t fork) const {
  return std::span(levels_[level].axes).subspan(fork * dimensions_, dimensions_);
}

std::span<const double> NodeIndex::prices_at(std::size_t position) const {
  return std::span(values_).subspan(position * 2 * dimensions_, dimensions_);
}

std::span<const double> NodeIndex::available_at(std::size_t position) const {
  return std::span(values_).subspan((position * 2 + 1) * dimensions_, dimensions_);
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
  values_.reserve(2 * dimensions_ * nodes.size());
  for (std::size_t position = 0; position < nodes.size(); ++position) {
    const AuctionNode& node = nodes[node_at_[position]];
    position_of_[node_at_[position]] = static_cast<std::uint32_t>(position);
    values_.insert(values_.end(), node.prices.begin(), node.prices.end());
    values_.insert(values_.end(), node.available.begin(), node.available.end());
    show_node(position);
  }
  for (std::size_t level = 1; levels_.back().forks > 1; ++level) {
    const std::size_t branches = levels_.back().forks;
    add_level(branches);
    for (std::size_t branch = 0; branch < branches; ++branch) summarize(level, branch);
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (std::size_t fork = 0; fork < levels_[level].forks; ++fork) {
      levels_[level].alike[fork] = all_alike(level, fork);
    }
  }
}

/// Orders nodes so that every aligned group of 8, 64, … is a box: halves at powers of two, along
/// the widest axis. Nodes that are alike stay in the order of their numbers.
void NodeIndex::arrange(std::span<const AuctionNode> nodes, std::span<std::uint32_t> order,
                        std::span<const double> spread) {
  if (order.size() <= kBranches) return std::sort(order.begin(), order.end());
  const std::size_t middle = std::bit_ceil(order.size()) / 2;
  const std::size_t axis = widest(nodes, order, spread);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(middle), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     const double left = coordinate(nodes[a], axis);
                     const double right = coordinate(nodes[b], axis);
                     return left < right || (left == right && a < b);
                   });
  arrange(nodes, order.first(middle), spread);
  arrange(nodes, order.subspan(middle), spread);
}

/// A level of forks for `branches`; places without a branch look like dear nodes with less than
/// nothing available.
void NodeIndex::add_level(std::size_t branches) {
  Level& level = levels_.emplace_back();
  level.forks = (branches + kBranches - 1) / kBranches;
  Axis nowhere;
  std::fill_n(nowhere.root, kGroups, Lanes{} + kMost);
  std::fill_n(nowhere.available, kGroups, Lanes{} - 1);
  level.axes.assign(level.forks * dimensions_, nowhere);
  level.alike.assign(level.forks, 0);
}

/// A node with nothing left of some kind serves no task that wants any, so its price of that kind
/// must not make its neighbours look cheap.
void NodeIndex::show_node(std::size_t position) {
  const std::span<Axis> axes = this->axes(0, position / kBranches);
  const std::size_t group = position % kBranches / kLanes, lane = position % kLanes;
  for (std::size_t k = 0; k < dimensions_; ++k) {
    const double available = available_at(position)[k];
    axes[k].root[group][lane] = available > 0 ? below(std::sqrt(prices_at(position)[k])) : kMost;
    axes[k].available[group][lane] = above(available);
  }
}

void NodeIndex::summarize(std::size_t level, std::size_t branch) {
  const std::span<const Axis> below = axes(level - 1, branch);
  const std::span<Axis> above = axes(level, branch / kBranches);
  const std::size_t place = branch % kBranches;
  for (std::size_t k = 0; k < dimensions_; ++k) {
    float root = kMost, available = -1;
    for (std::size_t i = 0; i < kBranches; ++i) {
      root = std::min(root, below[k].root[i / kLanes][i % kLanes]);
      available = std::max(available, below[k].available[i / kLanes][i % kLanes]);
    }
    above[k].root[place / kLanes][place % kLanes] = root;
    above[k].available[place / kLanes][place % kLanes] = available;
  }
}

std::vector<double> NodeIndex::prices(std::uint32_t node) const {
  const auto values = prices_at(position_of_[node]);
  return {values.begin(), values.end()};
}

std::vector<double> NodeIndex::available(std::uint32_t node) const {
  const auto values = available_at(position_of_[node]);
  return {values.begin(), values.end()};
}

void NodeIndex::take(std::uint32_t node, std::span<const double> shares) {
  std::vector<double> left = available(node);
  for (std::size_t k = 0; k < dimensions_; ++k) left[k] = std::max(0.0, left[k] - shares[k]);
  set_available(node, left);
}

void NodeIndex::set_available(std::uint32_t node, std::span<const double> available) {
  const std::size_t position = position_of_[node];
  std::copy(available.begin(), available.end(),
            values_.begin() + static_cast<std::ptrdiff_t>((position * 2 + 1) * dimensions_));
  show_node(position);
  std::size_t branch = position / kBranches;
  levels_[0].alike[branch] = all_alike(0, branch);
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    summarize(level, branch);
    branch /= kBranches;
    levels_[level].alike[branch] = all_alike(level, branch);
  }
}

/// Whether a node differs from the one before it in nothing but a higher number.
bool NodeIndex::follows(std::size_t position) const {
  const auto values = values_.begin() + static_cast<std::ptrdiff_t>(position * 2 * dimensions_);
  const auto before = values - static_cast<std::ptrdiff_t>(2 * dimensions_);
  return node_at_[position - 1] < node_at_[position] && std::equal(before, values, values);
}

bool NodeIndex::all_alike(std::size_t level, std::size_t fork) const {
  for (std::size_t branch = fork * kBranches; branch < (fork + 1) * kBranches; ++branch) {
    const std::size_t first = branch << kBits * level;
    if (first >= size()) break;
    if (level > 0 && levels_[level - 1].alike[branch] == 0) return false;
    if (branch > fork * kBranches && !follows(first)) return false;
  }
  return true;
}

void NodeIndex::prefetch(std::size_t level, std::size_t fork) const {
  const Axis* axes = &levels_[level].axes[fork * dimensions_];
  for (std::size_t k = 0; k < dimensions_; ++k) __builtin_prefetch(axes + k);
}

/// A bit for each branch of a fork that may hold a node which qualifies and is among the best, and
/// lower bounds of the payment there.
///
/// Held space costs a part h of the budget for the whole time and leaves (1 − h) B, which buys no
/// less than time R²/((1 − h) B), R = Σ √(b l).
[[gnu::always_inline]] inline unsigned NodeIndex::open_branches(const Axis* axes,
                                                                const Search& search,
                                                                Lanes* bound) const {
  Lanes root[kGroups]{}, held[kGroups]{}, left[kGroups];
  Flags closed[kGroups]{};
  const Search::Wish* wish = search.wishes.data();
  for (std::size_t k = 0; k < dimensions_; ++k, ++wish, ++axes) {
#pragma GCC unroll 2
    for (std::size_t group = 0; group < kGroups; ++group) {
      closed[group] |= axes->available[group] < wish->demand;
      root[group] += wish->root * axes->root[group];
    }
    if (!wish->holds) continue;
#pragma GCC unroll 2
    for (std::size_t group = 0; group < kGroups; ++group) {
      held[group] += wish->held * axes->root[group] * axes->root[group];
    }
  }
#pragma GCC unroll 2
  for (std::size_t group = 0; group < kGroups; ++group) {
    left[group] = 1 - held[group];
    left[group] = left[group] > kLeastLeft ? left[group] : Lanes{} + kLeastLeft;
    root[group] *= root[group];
    closed[group] |= held[group] > search.slack;
    closed[group] |= root[group] > search.limit * left[group];
  }
  const unsigned open = unset(closed);
  if (open == 0) return 0;
#pragma GCC unroll 2
  for (std::size_t group = 0; group < kGroups; ++group) bound[group] = root[group] / left[group];
  return open;
}

/// Raises the bounds on nodes, of which no task takes more than they have or spends less than
/// min(B, b·a).
void NodeIndex::raise_bounds(const Axis* axes, std::size_t group, const Search& search,
                             Lanes* bound) const {
  Lanes time{}, unit{}, held{};
  for (std::size_t k = 0; k < dimensions_; ++k) {
    const Search::Wish& wish = search.wishes[k];
    const Lanes& root = axes[k].root[group];
    const Lanes& most = axes[k].available[group];
    if (wish.workload == 0) {
      held += wish.held * root * root;
    } else {
      time += wish.workload / (most > kNothing ? most : Lanes{} + kNothing);
      unit += root * (most > kNothing ? (most < kLarge ? most : Lanes{} + kLarge) : Lanes{}) * root;
    }
  }
  time = time > kNothing ? time : Lanes{};
  unit += (held > kNothing ? held : Lanes{}) * search.budget;
  const Lanes payment = (time < kLongest ? time : Lanes{} + kLongest) *
                        (unit < search.budget ? unit : Lanes{} + search.budget);
  *bound = payment > *bound ? payment : *bound;
}

/// All of these nodes pay the same, so the first that is not among the best is the last.
void NodeIndex::search_alike(std::size_t level, std::size_t fork, Search* search) const {
  const std::size_t end = std::min(size(), (fork + 1) << kBits * (level + 1));
  for (std::size_t position = fork << kBits * (level + 1); position < end; ++position) {
    if (!try_node(position, search)) return;
  }
}

/// Above the level of nodes.
void NodeIndex::search_fork(std::size_t level, std::size_t fork, Search* search) const {
  if (levels_[level].alike[fork] != 0) return search_alike(level, fork, search);
  Lanes bound[kGroups];
  const unsigned open = open_branches(&levels_[level].axes[fork * dimensions_], *search, bound);
  for (unsigned rest = open; rest != 0; rest &= rest - 1) {
    prefetch(level - 1, fork * kBranches + static_cast<std::size_t>(std::countr_zero(rest)));
  }
  if (level == 1) {
    for (unsigned rest = open; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      if (bound[i / kLanes][i % kLanes] > search->limit) continue;
      search_nodes(fork * kBranches + i, search);
    }
    return;
  }
  std::array<std::pair<float, std::size_t>, kBranches> sorted;
  std::size_t count = 0;
  for (unsigned rest = open; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    const float least = bound[i / kLanes][i % kLanes];
    std::size_t place = count++;
    for (; place > 0 && sorted[place - 1].first > least; --place) sorted[place] = sorted[place - 1];
    sorted[place] = {least, fork * kBranches + i};
  }
  for (std::size_t i = 0; i < count && sorted[i].first <= search->limit; ++i) {
    search_fork(level - 1, sorted[i].second, search);
  }
}

void NodeIndex::search_nodes(std::size_t fork, Search* search) const {
  if (levels_[0].alike[fork] != 0) return search_alike(0, fork, search);
  Lanes bound[kGroups];
  const Axis* axes = &levels_[0].axes[fork * dimensions_];
  const unsigned open = open_branches(axes, *search, bound);
  if (open == 0) return;
  for (std::size_t group = 0; group < kGroups; ++group) {
    raise_bounds(axes, group, *search, &bound[group]);
  }
  for (unsigned rest = open; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    if (bound[i / kLanes][i % kLanes] > search->limit) continue;
    try_node(fork * kBranches + i, search);
  }
}

/// False if the node is not among the best or does not qualify.
bool NodeIndex::try_node(std::size_t position, Search* search) const {
  const NodeQuery& query = search->query;
  LovraShares outcome;
  if (!lovra(
          {query.budget, query.workload, query.demand, prices_at(position), available_at(position)},
          search->shares, &outcome)) {
    return false;
  }
  if (query.require_demand && !outcome.meets_demand) return false;
  return search->add({outcome.payment, node_at_[position]});
}

std::vector<NodeOffer> NodeIndex::cheapest(const NodeQuery& query, std::size_t count) const {
  std::vector<NodeOffer> offers;
  if (node_at_.empty() || count == 0) return offers;
  Search search(query, count);
  if (levels_.size() > 1) {
    search_fork(levels_.size() - 1, 0, &search);
  } else {
    search_nodes(0, &search);
  }
  std::sort_heap(search.found.begin(), search.found.end());
  offers.reserve(search.found.size());
  for (const auto& [payment, node] : search.found) {
    NodeOffer offer{node, {}, std::vector<double>(dimensions_)};
    const std::size_t position = position_of_[node];
    lovra({query.budget, query.workload, query.demand, prices_at(position), available_at(position)},
          offer.shares, &offer.outcome);
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace market
