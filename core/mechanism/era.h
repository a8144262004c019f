// SPDX-License-Identifier: GPL-2.0-or-later
// ERA (seed "ERA: A Framework for Economic Resource Allocation for the Cloud"): Basic-Econ prices
// from promises and learned demand.
#pragma once

#include "core/mechanism/posted_slots.h"

namespace market {

/// Prices by Algorithm 1 (section 3.1), additive over TRES, bounded by floor_price and cap_price
/// (section 4); demand by the predictor of market.conf (section 3.2). Without past bids every free
/// unit costs the floor price.
class Era final : public PostedSlots {
 public:
  explicit Era(const Config& config);
  std::string_view rule() const override { return "era/1"; }

  /// A past bid wants every TRES it named at its unit value, value ÷ (billing × hours), credits per
  /// billing-hour. Time folds modulo predictor_cycle into at most 168 periods (the hours of a
  /// week); bids older than predictor_history are left out, and quantities are divided by the
  /// number of cycles between the oldest bid used and `now`, at least 1.
  void learn(const std::vector<PastBid>& bids, Time now) override;
};

}  // namespace market
