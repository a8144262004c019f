// SPDX-License-Identifier: GPL-2.0-or-later
// The double-sided Vickrey auction behind the façade: jobs bid credits per second, owners of nodes
// ask a price, payments per second come from the runner-up on either side.
#pragma once

#include "core/mechanism/auction.h"
#include "core/mechanism/double_vickrey.h"

namespace market {

/// One pass of Algorithm 1 over the bids that wait, by falling budget per second. Slurm gives a job
/// just what it asks for, so a node qualifies when that is free there and its ask is within the
/// budget (r* = e, eqs. 2 and 22), and runs it for the whole time limit everywhere. An award's real
/// payment unit (eqs. 12 and 20) is the rate the job pays when it starts and then keeps; a job that
/// was awarded nothing and is started all the same pays what the site's nodes ask. Asks: the price
/// of the node's owner, else the floor price, by the weight of each TRES. Priority: awarded jobs
/// before others, then by budget per second.
class DvaAuction final : public Auction {
 public:
  explicit DvaAuction(const MarketSettings& config);
  std::string_view rule() const override { return "dva/1"; }
  void update(const Capacity&, Time) override {}
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;
  bool wants_nodes() const override { return true; }

 private:
  struct Rooms;

  std::vector<double> amounts(const Tres& tres) const;
  double billing(const std::vector<double>& amounts) const;
  void add_goods_of(std::span<const NodeRoom> nodes);
  void rank_by_ask(std::span<const NodeRoom> nodes);
  Rooms rooms_of(std::span<const NodeRoom> nodes);
  AuctionTask task_of(const LiveBid& bid, const Rooms& rooms) const;
  std::vector<NodeOffer> candidates(const AuctionTask& task, double seconds,
                                    const std::vector<char>* able, Rooms* rooms) const;
  void keep_able(const std::vector<char>& able, std::size_t needed,
                 std::vector<std::uint32_t>* places) const;
  void place(const AuctionTask& task, double auction_budget, const LiveBid& bid, Rooms* rooms,
             Standing* standing) const;

  std::vector<std::string> goods_;     ///< TRES with a weight, and what nodes have without one
  std::vector<double> weights_;        ///< billing units of each
  double floor_ = 0;                   ///< credits per billing unit and second that the site asks
  std::vector<double> asks_;           ///< of each node at the last auction, in the same unit
  std::vector<std::uint32_t> by_ask_;  ///< nodes by rising ask, ties by number
};

}  // namespace market
