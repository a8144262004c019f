// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_auction.h"

#include <algorithm>

#include "core/mechanism/abacus.h"

namespace market {

void AbacusAuction::update(const Capacity& capacity, Time) {
  std::vector<std::string> names;
  std::vector<double> amounts;
  for (const auto& [name, amount] : capacity.total) {
    if (name == "node" || amount <= 0) continue;
    names.push_back(name);
    amounts.push_back(static_cast<double>(amount));
  }
  if (names != resources_) sub_budgets_.clear();
  resources_ = std::move(names);
  capacity_ = std::move(amounts);
}

std::vector<Standing> AbacusAuction::auction(std::span<const LiveBid> bids,
                                             std::span<const NodeRoom>, Time) {
  std::vector<Standing> standings(bids.size());
  const std::size_t resources = resources_.size();
  abacus::Auction auction(resources);
  auction.reserve(bids.size());
  std::vector<std::size_t> bidder;  // of each job of the auction
  std::vector<std::vector<double>> wanted;
  std::vector<double> start;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    std::vector<double> parts(resources);
    for (std::size_t j = 0; j < resources; ++j) {
      parts[j] = amount_of(bids[i].bid->request.demand.tres, resources_[j]) / capacity_[j];
    }
    const bool wants = std::any_of(parts.begin(), parts.end(), [](double x) { return x > 0; });
    if (!(bids[i].budget > 0) || !wants) continue;
    standings[i].rate = bids[i].budget / seconds_left(bids[i]);
    auction.add(bids[i].budget, Utility::linear(parts));
    const auto known = sub_budgets_.find(bids[i].id);
    const std::vector<double> before =
        known == sub_budgets_.end() ? std::vector<double>(resources, 0.0) : known->second;
    start.insert(start.end(), before.begin(), before.end());
    bidder.push_back(i);
    wanted.push_back(std::move(parts));
  }
  if (bidder.empty()) return standings;
  const abacus::Outcome outcome = abacus::run(auction, abacus::paper_options(), start);
  const bool whole = bids.front().id != 0 && bids.back().id != 0;
  if (whole) sub_budgets_.clear();
  for (std::size_t k = 0; k < bidder.size(); ++k) {
    Standing& standing = standings[bidder[k]];
    standing.priority = 1;
    for (std::size_t j = 0; j < resources; ++j) {
      if (!(wanted[k][j] > 0)) continue;
      const double share = outcome.shares[k * resources + j];
      standing.priority = std::min(standing.priority, share / wanted[k][j]);
      standing.share = std::max(standing.share, share);
    }
    if (!whole) continue;
    const auto row = outcome.sub_budgets.begin() + static_cast<std::ptrdiff_t>(k * resources);
    sub_budgets_[bids[bidder[k]].id].assign(row, row + static_cast<std::ptrdiff_t>(resources));
  }
  return standings;
}

double AbacusAuction::owes(const EndedRun& run) const {
  if (run.completed) return run.budget;
  const auto limit = static_cast<double>(std::max<Time>(1, run.bid->request.duration));
  return run.budget * std::min(1.0, static_cast<double>(run.elapsed) / limit);
}

}  // namespace market
