// SPDX-License-Identifier: GPL-2.0-or-later
// Bids whose size the auction decides, node by node, with LOVRA ("Ex-post efficient resource
// allocation for self-organizing cloud", section 3.3).
#pragma once

#include <cstddef>
#include <vector>

#include "core/mechanism/auction.h"
#include "core/mechanism/double_vickrey.h"
#include "core/mechanism/dva_rooms.h"

namespace market {

/// What a malleable bid wants of a node, each by good.
struct SizedDemand {
  std::vector<double> work;      ///< l, amount × seconds
  std::vector<double> least;     ///< e
  std::vector<double> most;      ///< no more of it, however much is free
  std::vector<double> steps;     ///< by which it grows from the least on
  std::size_t cpu = 0, mem = 0;  ///< which goods these are
  double mem_per_cpu = 0;        ///< MB that come with each CPU; 0: memory has its own amount
  double longest = 0;            ///< seconds of its work; 0: any
};

/// `least`: of each good what the smallest size asks for.
SizedDemand sized_demand(const LiveBid& bid, const Goods& goods, const std::vector<double>& least);

/// The nodes that have room for the smallest size at a price within the budget, with whole shares
/// and what comes of them, by expected payment; of the same payment the fastest, then by number.
/// Looks at the 64 nodes that ask least for the smallest size; when none of them qualifies at the
/// next ones, four times as many.
std::vector<NodeOffer> sized_offers(const SizedDemand& sized, DvaRooms::Wanted wanted,
                                    DvaRooms* rooms);

/// The size that the shares are.
AwardedSize size_of(const SizedDemand& sized, const AwardedPart& part);

}  // namespace market
