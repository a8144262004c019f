// SPDX-License-Identifier: GPL-2.0-or-later
// Range query for the nodes that can take a task, cheapest first, while availability changes: the
// place of PID-CAN in the double-sided Vickrey auction ("Ex-post efficient resource allocation for
// self-organizing cloud", section 3.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/mechanism/lanes.h"
#include "core/mechanism/lovra.h"

namespace market {

/// What one owner asks for and offers; all vectors of one auction have the same length D.
struct AuctionNode {
  std::vector<double> prices;     ///< b >= 0, credits per amount and second
  std::vector<double> available;  ///< a >= 0
};

/// What one user wants of one node.
struct NodeQuery {
  double budget = 0;
  std::span<const double> workload;
  std::span<const double> demand;
  bool require_demand = false;  ///< leave out nodes whose optimal shares fall short of the demand
};

/// A node that qualifies, with the task's optimal shares there.
struct NodeOffer {
  std::uint32_t node = 0;
  LovraShares outcome;
  std::vector<double> shares;
};

/// A tree over prices and availability with eight branches at every fork. Each branch knows the
/// lowest price and the highest availability of the nodes in it, so that it is passed over when no
/// node in it has the demand available, or none can be cheaper than what was found: by Cauchy and
/// Schwarz EP = (b·r)(Σ l/r) >= (Σ √(b l))², with equality where availability does not bind. Of a
/// single node the bound is also EP >= min(B, b·a) Σ l/a, with equality where nothing else binds.
///
/// Branches are compared in single precision, always rounded so that a bound is too low rather than
/// too high; what is left is compared by LOVRA itself, in double precision. Of 10^5 nodes on the
/// paper's settings a query looks at the bounds of 5 to 15 in a hundred, and at fewer than one in a
/// thousand with LOVRA.
///
/// Nodes that are alike tie, and clusters are full of them: of a branch that has no others only as
/// many are looked at as are wanted.
class NodeIndex {
 public:
  explicit NodeIndex(std::span<const AuctionNode> nodes);

  std::size_t size() const { return node_at_.size(); }
  std::size_t dimensions() const { return dimensions_; }

  /// The `count` cheapest qualified nodes by expected payment, ties by node number; exactly what a
  /// scan would find.
  std::vector<NodeOffer> cheapest(const NodeQuery& query, std::size_t count) const;

  std::vector<double> prices(std::uint32_t node) const;
  std::vector<double> available(std::uint32_t node) const;

  /// Takes `shares` from what `node` has available (not below 0). O(D log n).
  void take(std::uint32_t node, std::span<const double> shares);

  /// Replaces what `node` has available. O(D log n).
  void set_available(std::uint32_t node, std::span<const double> available);

 private:
  struct Search;

  /// A fork in one dimension: the square roots of its branches' lowest prices (never above them),
  /// and their highest availabilities (never below them). On the lowest level the branches are the
  /// nodes themselves.
  struct alignas(64) Axis {
    Lanes root[kGroups], available[kGroups];
  };

  /// Forks of one height, one after another, of D axes each.
  struct Level {
    std::size_t forks = 0;
    std::vector<Axis> axes;
    std::vector<std::uint8_t> alike;  ///< for each fork: its nodes differ in nothing but number
  };

  std::span<Axis> axes(std::size_t level, std::size_t fork);
  std::span<const Axis> axes(std::size_t level, std::size_t fork) const;
  std::span<const double> prices_at(std::size_t position) const;
  std::span<const double> available_at(std::size_t position) const;
  void arrange(std::span<const AuctionNode> nodes, std::span<std::uint32_t> order,
               std::span<const double> spread);
  void add_level(std::size_t branches);
  void show_node(std::size_t position);
  void summarize(std::size_t level, std::size_t branch);
  bool follows(std::size_t position) const;
  bool all_alike(std::size_t level, std::size_t fork) const;
  void prefetch(std::size_t level, std::size_t fork) const;
  unsigned open_branches(const Axis* axes, const Search& search, Lanes* bound) const;
  void raise_bounds(const Axis* axes, std::size_t group, const Search& search, Lanes* bound) const;
  void search_fork(std::size_t level, std::size_t fork, Search* search) const;
  void search_nodes(std::size_t fork, Search* search) const;
  void search_alike(std::size_t level, std::size_t fork, Search* search) const;
  bool try_node(std::size_t position, Search* search) const;

  std::size_t dimensions_ = 0;
  std::vector<std::uint32_t> node_at_;  ///< node at each position of the tree's order
  std::vector<std::uint32_t> position_of_;
  std::vector<double> values_;  ///< for each position D prices, then D availabilities
  std::vector<Level> levels_;   ///< from the nodes up to a single fork
};

}  // namespace market
