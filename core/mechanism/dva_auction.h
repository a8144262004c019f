// SPDX-License-Identifier: GPL-2.0-or-later
// The double-sided Vickrey auction behind the façade: jobs bid credits per second, owners of nodes
// ask a price, payments per second come from the runner-up on either side.
#pragma once

#include "core/mechanism/auction.h"
#include "core/mechanism/double_vickrey.h"
#include "core/mechanism/dva_rivals.h"
#include "core/mechanism/dva_rooms.h"
#include "core/mechanism/dva_sizes.h"

namespace market {

/// One pass of Algorithm 1 over the bids that wait, by falling budget per second. Slurm gives a job
/// just what it asks for, so a node qualifies when that is free there and its ask is within the
/// budget (r* = e, eqs. 2 and 22), and runs it for the whole time limit everywhere. An award's real
/// payment unit (eqs. 12 and 20) is the rate the job pays when it starts and then keeps; what AB
/// adds to it is nobody's who owns nodes. A job that was awarded nothing and is started all the same
/// pays the next bid that could start, and what its nodes ask. Asks: the prices of the node's owner, else the floor price by the weight
/// of each TRES. Priority: awarded jobs before others, then by budget per second.
///
/// A bid for a range of nodes gets as many as its budget covers the expected prices of.
/// A malleable bid gets on each node the whole shares that LOVRA finds best there (sections 3.3, Algorithm 2), and takes
/// the node of the lowest expected payment. It spends its budget on size, so that what it pays is cut
/// at what its whole shares ask (EPU): never its budget for shares that do not use it up.
///
/// Unlike line 4 of the paper, AB is taken over those bids alone that the award keeps from its node:
/// they come after it, are of another account, could start now, are within that node's ask and fit
/// there but for the award. Else any bid that is no rival (an owner's own, one that cannot start)
/// would make a winner pay its own budget.
class DvaAuction final : public Auction {
 public:
  explicit DvaAuction(const MarketSettings& config);
  std::string_view rule() const override { return "dva/1"; }
  void update(const Capacity&, Time) override {}
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;
  bool wants_nodes() const override { return true; }
  bool bids_rates() const override { return true; }

 private:
  /// A bid that waits, or runs without a rate.
  struct Bidder {
    std::size_t number = 0;  ///< of the bid
    AuctionTask task;
    double units = 0;                    ///< billing units of its demand of a node
    std::optional<SizedDemand> sized{};  ///< of a malleable bid; the demand is its smallest size
  };

  /// A bid and what it is awarded, its demand being that of each part.
  struct Won {
    Bidder bidder;
    std::optional<Award> award;
  };

  void add_goods_of(std::span<const NodeRoom> nodes);
  void rank_by_ask(std::span<const NodeRoom> nodes);
  Bidder bidder_of(const LiveBid& bid, std::size_t number, const DvaRooms& rooms) const;
  Bidder on_nodes(const Bidder& bidder, const LiveBid& bid, std::uint32_t nodes) const;
  std::optional<Award> award_to(const Bidder& bidder, const LiveBid& bid, std::size_t position,
                                const DvaRivals& rivals, DvaRooms* rooms) const;
  Won widest(const Bidder& bidder, const LiveBid& bid, std::size_t position,
             const DvaRivals& rivals, DvaRooms* rooms) const;
  static std::optional<Award> sized_award(const Bidder& bidder, const LiveBid& bid,
                                          const BudgetToBeat& budget, DvaRooms* rooms);

  AuctionRules rules_;
  Goods goods_;
  double floor_ = 0;                   ///< credits per billing unit and second that the site asks
  std::vector<double> asks_;           ///< of each node at the last auction, in the same unit
  std::vector<std::uint32_t> by_ask_;  ///< nodes by rising ask, ties by number
};

}  // namespace market
