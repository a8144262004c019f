// SPDX-License-Identifier: GPL-2.0-or-later
#include "highest_bidder.h"

#include <algorithm>
#include <numeric>

#include "core/mechanism/table.h"

namespace example {

using market::LiveBid;
using market::Standing;

HighestBidder::HighestBidder(const market::MarketSettings& config)
    : floor_(config.floor_price / 3600) {}

void HighestBidder::update(const market::Capacity&, market::Time) {}

std::vector<Standing> HighestBidder::auction(std::span<const LiveBid> bids,
                                             std::span<const market::NodeRoom>, market::Time) {
  const auto cpus = [](const LiveBid& bid) {
    return std::max(1.0, market::amount_of(bid.bid->request.demand.tres, "cpu"));
  };
  std::vector<double> unit;  // what each bids per CPU and second
  for (const LiveBid& bid : bids) {
    unit.push_back(bid.budget / market::seconds_left(bid) / cpus(bid));
  }
  std::vector<std::size_t> order(bids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return unit[a] > unit[b]; });
  std::vector<Standing> standings(bids.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    const double next = rank + 1 < order.size() ? unit[order[rank + 1]] : 0.0;
    standings[i].priority = 1 - static_cast<double>(rank) / static_cast<double>(order.size());
    standings[i].share = standings[i].priority;
    standings[i].rate = std::min(unit[i], std::max(floor_, next)) * cpus(bids[i]);
    if (bids[i].running && bids[i].rate)
      standings[i].rate = *bids[i].rate;  // the price of the start holds
  }
  return standings;
}

bool add_highest_bidder() {
  return market::add_mechanism("highest_bidder", [](const market::MarketSettings& config) {
    return std::unique_ptr<market::Mechanism>(std::make_unique<HighestBidder>(config));
  });
}

}  // namespace example
