// SPDX-License-Identifier: GPL-2.0-or-later
// The baseline "FirstFit" (ERA, section 4): a fixed price per unit, the earliest start that is
// free.
#pragma once

#include "core/mechanism/posted_slots.h"

namespace market {

/// Every start that is free costs the same, `fixed_price`; the cheapest start is then the earliest.
class FirstFit : public PostedSlots {
 public:
  explicit FirstFit(const MarketSettings& config)
      : PostedSlots(config, {config.fixed_price, config.fixed_price}) {}
  std::string_view rule() const override { return "first_fit/1"; }
  void learn(const std::vector<PastBid>&, Time) override {}  // a fixed price learns nothing
};

}  // namespace market
