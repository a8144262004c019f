// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon's rules as the paper and solve.md write them, without any short cut; tests and benchmarks
// hold the fast forms against them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/mechanism/tycoon_allocate.h"
#include "core/mechanism/tycoon_bid.h"

namespace market::tycoon {

/// Evicts the smallest bidder, the latest of equal ones, and sums again, until nobody is too small.
inline std::vector<std::size_t> plain_eviction(const std::vector<double>& bids, double min_share) {
  std::vector<bool> out(bids.size(), false);
  std::vector<std::size_t> evicted;
  while (evicted.size() < bids.size()) {
    double sum = 0;
    std::size_t smallest = bids.size();
    for (std::size_t i = 0; i < bids.size(); ++i) {
      if (out[i]) continue;
      sum += bids[i];
      if (smallest == bids.size() || bids[i] <= bids[smallest]) smallest = i;
    }
    if ((sum > 0 ? bids[smallest] / sum : 0) >= min_share) break;
    out[smallest] = true;
    evicted.push_back(smallest);
  }
  return evicted;
}

/// Equations 8 to 10 with sorting, for hosts with weight and others > 0 and no least margin.
inline std::vector<double> plain_best_response(double budget, const std::vector<HostOffer>& hosts) {
  std::vector<std::size_t> order(hosts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return hosts[a].weight / hosts[a].others > hosts[b].weight / hosts[b].others;
  });
  double roots = 0;
  double others = budget;
  double level = 0;
  std::size_t used = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const HostOffer& host = hosts[order[k]];
    const double root = std::sqrt(host.weight * host.others);
    roots += root;
    others += host.others;
    if (root / roots * others - host.others < 0) continue;
    used = k + 1;
    level = others / roots;
  }
  std::vector<double> bids(hosts.size(), 0.0);
  for (std::size_t k = 0; k < used; ++k) {
    const HostOffer& host = hosts[order[k]];
    bids[order[k]] = std::max(0.0, std::sqrt(host.weight * host.others) * level - host.others);
  }
  return bids;
}

}  // namespace market::tycoon
