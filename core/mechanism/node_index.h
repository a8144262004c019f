// SPDX-License-Identifier: GPL-2.0-or-later
// Range query for the nodes that can take a task, cheapest first, while availability changes: the
// place of PID-CAN in the double-sided Vickrey auction ("Ex-post efficient resource allocation for
// self-organizing cloud", section 3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

/// A balanced tree over prices and availability. Each box of nodes knows the lowest price and the
/// highest availability in it, so that a box is passed over when no node in it has the demand
/// available, or none can be cheaper than what was found: EP = (b·r)(Σ l/r) >= (Σ √(b l))², by
/// Cauchy and Schwarz, with equality where availability does not bind.
class NodeIndex {
 public:
  explicit NodeIndex(std::span<const AuctionNode> nodes);

  std::size_t size() const { return node_at_.size(); }
  std::size_t dimensions() const { return dimensions_; }

  /// The `count` cheapest qualified nodes by expected payment, ties by node number; exactly what a
  /// scan would find.
  std::vector<NodeOffer> cheapest(const NodeQuery& query, std::size_t count) const;

  std::span<const double> prices(std::uint32_t node) const;
  std::span<const double> available(std::uint32_t node) const;

  /// Takes `shares` from what `node` has available (not below 0). O(D log n).
  void take(std::uint32_t node, std::span<const double> shares);

  /// Replaces what `node` has available. O(D log n).
  void set_available(std::uint32_t node, std::span<const double> available);

 private:
  struct Search;
  struct Range {
    std::size_t begin, end;
  };

  Range range_of(std::size_t box) const;
  bool is_leaf(std::size_t box) const { return box >= leaves_; }
  void arrange(std::span<const AuctionNode> nodes, std::size_t box, std::span<const double> spread);
  void refresh(std::size_t box);
  void refresh_upwards(std::size_t position);
  void search(std::size_t box, Search* search) const;
  void search_leaf(std::size_t box, Search* search) const;
  double lower_bound(std::size_t box, const Search& search) const;

  // Per box: D lowest prices, D square roots of them, D highest availabilities.
  double* box_data(std::size_t box) { return boxes_.data() + box * 3 * dimensions_; }
  const double* box_data(std::size_t box) const { return boxes_.data() + box * 3 * dimensions_; }

  std::size_t dimensions_ = 0;
  std::size_t leaves_ = 1;  ///< a power of two; boxes 1 … 2·leaves − 1 as in a binary heap
  std::vector<std::uint32_t> node_at_;  ///< node at each position of the tree's order
  std::vector<std::uint32_t> position_of_;
  std::vector<double> prices_, available_;  ///< by position
  std::vector<double> boxes_;
};

}  // namespace market
