// SPDX-License-Identifier: GPL-2.0-or-later
// The LP-based predictor (ERA, section 3.2).
#pragma once

#include <span>
#include <vector>

#include "core/predict/demand_predictor.h"

namespace market {

/// Demand in a slot is what the value-maximising fractional allocation of the past bids gives them
/// there. Windows are widened to whole slots. The allocation is exact (allocation_lp.h), or, when
/// that would take much longer than a second, found by price search (lagrangian.h), mostly within
/// 0.3 %, at worst about 1 % of the best. Beyond 1,000,000 variables (slots of all windows
/// together) only every k-th bid counts, k times as wide, with the least k that keeps within them,
/// so that time and memory stay bounded.
class LpPredictor final : public DemandPredictor {
 public:
  /// `slots` >= 1: slots in a cycle; `capacity` > 0: units for sale in each slot.
  LpPredictor(std::size_t slots, double capacity) : curves_(slots), capacity_(capacity) {}

  void learn(std::span<const PastDemand> demands, double cycles_covered) override;
  const DemandCurve& curve(std::size_t slot) const override { return curves_[slot]; }

 private:
  std::vector<DemandCurve> curves_;
  double capacity_;
};

}  // namespace market
