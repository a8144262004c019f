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
  explicit Era(const MarketSettings& config);
  std::string_view rule() const override { return "era/1"; }

  /// With a late_penalty (section 4: "an exponential penalty for later scheduling") a start d hours
  /// after `now` costs e^(late_penalty · d) times its price by Algorithm 1, but never more than
  /// with all units at the cap. The delay counts from now, not from the request's own earliest
  /// start, so that asking for a later window never makes a start cheaper.
  PriceList prices(const Request& request, Time now) const override;

  /// A past bid wants every resource it needed at its unit value, value ÷ (billing × hours),
  /// credits per billing-hour. Time folds modulo predictor_cycle into at most 168 periods (the
  /// hours of a week); bids older than predictor_history are left out, and quantities are divided
  /// by the number of cycles between the oldest bid used and `now`, at least 1. What the horizon
  /// keeps from being sold is left out of windows. The method "lp" allocates the capacity last told
  /// to update(), each resource on its own, and a resource without a known capacity is spread.
  void learn(const std::vector<PastBid>& bids, Time now) override;

 private:
  struct Periods;
  using Demands = std::map<std::string, std::vector<PastDemand>, std::less<>>;
  void add_demands(const PastBid& bid, double period, Demands& demands) const;
  Forecast forecast_of(const std::string& good, std::vector<PastDemand>& wanted,
                       const Periods& periods, double cycles) const;
};

}  // namespace market
