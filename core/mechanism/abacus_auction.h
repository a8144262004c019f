// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus behind the façade: budgets become shares, shares become priorities.
#pragma once

#include <map>

#include "core/mechanism/auction.h"

namespace market {

/// All live bids divide their budgets over the TRES of the cluster (Abacus, section 4, Algorithms 1
/// and 2, best responses until no share moves by 1e-4). A rigid job's utility is linear in its
/// shares, weighted by the part of the cluster's TRES that it asks for. Priority: how much of what
/// it asks for its shares buy, at most 1. A job pays its budget when it completes and by time when
/// it ends early.
class AbacusAuction final : public Auction {
 public:
  explicit AbacusAuction(const MarketSettings& config) : config_(config) {}
  std::string_view rule() const override { return "abacus/1"; }
  void update(const Capacity& capacity, Time now) override;
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;
  double owes(const EndedRun& run) const override;
  bool completion_owes_all() const override { return true; }

 private:
  MarketSettings config_;
  std::vector<std::string> resources_;                        ///< names of TRES
  std::vector<double> capacity_;                              ///< of each of them, > 0
  std::map<std::uint64_t, std::vector<double>> sub_budgets_;  ///< warm start, by job
};

}  // namespace market
