// SPDX-License-Identifier: GPL-2.0-or-later
// One market of the cluster: some partitions, one rule, its own prices. Cluster, plan, accounts and
// jobs are one for all exchanges.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/market/auction_adapter.h"
#include "core/market/journalled_prices.h"
#include "core/mechanism/auction.h"

namespace market {

struct Exchange {
  Exchange(MarketSettings of, std::unique_ptr<PostedPrice> rule)
      : settings(std::move(of)), prices(std::move(rule)) {
    auto* nothing_posted = dynamic_cast<NothingPosted*>(&prices.prices_of());
    if (nothing_posted != nullptr) auction = nothing_posted->auction();
  }

  MarketSettings settings;
  JournalledPrices prices;
  Auction* auction = nullptr;   ///< behind `prices`; null when that posts prices
  std::vector<NodeRoom> rooms;  ///< what the auction sees of the nodes, while it is known
  bool rooms_known = false;
  Time auction_at = 0;  ///< the next auction
  std::string refusal;  ///< why bids are refused now; empty: they are not
  bool capacity_due = true;
  Time capacity_at = 0;

  std::string_view rule() const { return prices.rule(); }

  /// What the rule asks, times the rate of the partition.
  PriceList price_list(const Request& request, Time now) const {
    PriceList list = prices.prices(request, now);
    const double rate = settings.rate_of(request.partition);
    if (rate == 1) return list;
    for (double& credits : list.credits) credits *= rate;
    return list;
  }
};

}  // namespace market
