// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon behind the façade: the cluster's CPUs are one host, every bid an account on it.
#pragma once

#include "core/mechanism/auction.h"

namespace market {

/// One auctioneer over the CPUs (Tycoon, section 3.3.3). A bid spends what is left of its budget
/// evenly over what is left of its time limit; its allocation is its part of all such bids (eq. 1).
/// It pays that rate while it runs, less when it uses less than it was allocated (eq. 2). Priority:
/// allocation ÷ CPUs asked for, at most 1. Nobody is evicted: a small bid waits.
class TycoonAuction final : public Auction {
 public:
  explicit TycoonAuction(const MarketSettings& config);
  bool bids_rates() const override { return true; }
  std::string_view rule() const override { return "tycoon/1"; }
  void update(const Capacity& capacity, Time now) override;
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;

 private:
  double period_ = 10;  ///< seconds between two auctions
  double cpus_ = 0;
};

}  // namespace market
