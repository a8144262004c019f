// SPDX-License-Identifier: GPL-2.0-or-later
// What is free on the nodes of one auction and what each asks, found in order of expected payment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/mechanism/auction.h"
#include "core/mechanism/node_index.h"
#include "core/mechanism/room_index.h"

namespace market {

/// Names of what is sold and the billing units of each amount of it. What has no weight costs
/// nothing where nobody asks a price for it, and a job needs room for it all the same.
struct Goods {
  std::vector<std::string> names;
  std::vector<double> weights;

  std::vector<double> amounts(const Tres& tres) const;
  double billing(std::span<const double> amounts) const;
  void add(std::string_view name);
};

class DvaRooms {
 public:
  /// `floor`: what the site's nodes ask, credits per billing unit and second. `by_ask`: the order of
  /// the nodes with one price for all by what they ask, ties by number.
  DvaRooms(const Goods& goods, std::span<const NodeRoom> nodes, double floor,
           std::span<const std::uint32_t> by_ask);

  std::size_t size() const { return spots_.size(); }
  /// The most of a good that any node has in all.
  double largest(std::size_t good) const { return largest_[good]; }
  std::span<const double> free_at(std::uint32_t node) const;
  void take(std::uint32_t node, std::span<const double> demand);
  /// Credits per second that the node asks for `demand`, of which `units` are the billing units.
  double asked(std::uint32_t node, std::span<const double> demand, double units) const;
  /// What the node asks for each good, credits per amount and second.
  std::vector<double> prices_at(std::uint32_t node) const;

  /// What is wanted of each node.
  struct Wanted {
    std::span<const double> demand;
    double units = 0;                         ///< its billing units
    double most = 0;                          ///< credits per second that a node may ask
    double seconds = 0;                       ///< it runs
    std::size_t least = 1;                    ///< nodes; with fewer none is any use
    std::size_t count = 1;                    ///< the first so many are enough
    const std::vector<char>* able = nullptr;  ///< as in LiveBid
  };
  /// Nodes in order of expected payment, ties by number. Where some must be among them, these and
  /// the cheapest others, just `least`: then no other node's price is the next one.
  std::vector<NodeOffer> offers(const Wanted& wanted);

 private:
  /// Nodes whose order is known: by ask where each asks one price for all; else they ask the same.
  struct Shelf {
    RoomIndex free;
    std::vector<std::uint32_t> nodes;
    std::vector<double> asks;    ///< credits per billing unit and second, of each place; or:
    std::vector<double> prices;  ///< credits per amount and second, of each good
  };
  struct Spot {
    std::uint32_t shelf = 0, place = 0;
  };

  void add_shelf(const Goods& goods, std::span<const NodeRoom> nodes,
                 std::vector<std::uint32_t> numbers, std::vector<double> asks,
                 std::vector<double> prices);
  static double asked(const Shelf& shelf, std::size_t place, std::span<const double> demand,
                      double units);
  std::vector<std::uint32_t> first(const Wanted& wanted);

  std::vector<Shelf> shelves_;
  std::vector<Spot> spots_;  ///< of each node
  std::vector<double> largest_;
  std::vector<double> weights_;  ///< billing units of each good
};

}  // namespace market
