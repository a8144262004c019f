// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_auction.h"

#include <algorithm>

#include "core/mechanism/tycoon_allocate.h"

namespace market {

TycoonAuction::TycoonAuction(const MarketSettings& config)
    : period_(static_cast<double>(config.auction_period)) {}

void TycoonAuction::update(const Capacity& capacity, Time) {
  cpus_ = amount_of(capacity.total, "cpu");
}

std::vector<Standing> TycoonAuction::auction(std::span<const LiveBid> bids,
                                             std::span<const NodeRoom>, Time) {
  std::vector<Standing> standings(bids.size());
  if (!(cpus_ > 0)) return standings;
  std::vector<tycoon::Account> accounts;
  std::vector<std::size_t> bidder;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (!(bids[i].budget > 0)) continue;
    // What it would use when it runs; the façade charges it for the time it runs alone.
    const double cpus = amount_of(bids[i].bid->request.demand.tres, "cpu");
    accounts.push_back({bids[i].budget, seconds_left(bids[i]), cpus});
    bidder.push_back(i);
  }
  if (accounts.empty()) return standings;
  const auto period = tycoon::allocate({cpus_, period_, 0.0}, accounts);
  if (!period) return standings;
  for (const tycoon::Grant& grant : period->grants) {
    Standing& standing = standings[bidder[grant.account]];
    const double cpus = accounts[grant.account].used;
    standing.share = std::min(1.0, grant.allocation / cpus_);
    standing.priority = cpus > 0 ? std::min(1.0, grant.allocation / cpus) : 1.0;
    standing.rate = grant.charge_rate;
  }
  return standings;
}

}  // namespace market
