// SPDX-License-Identifier: GPL-2.0-or-later
// A sixth mechanism: whoever bids most per CPU and second goes first and pays what the next one
// bid.
#pragma once

#include "core/mechanism/auction.h"

namespace example {

class HighestBidder final : public market::Auction {
 public:
  explicit HighestBidder(const market::MarketSettings& config);
  std::string_view rule() const override { return "highest_bidder/1"; }
  void update(const market::Capacity& capacity, market::Time now) override;
  std::vector<market::Standing> auction(std::span<const market::LiveBid> bids,
                                        std::span<const market::NodeRoom> nodes,
                                        market::Time now) override;

 private:
  double floor_ = 0;  ///< credits per CPU and second
};

/// Adds it to the table of mechanisms as "highest_bidder"; before any market is open.
bool add_highest_bidder();

}  // namespace example
