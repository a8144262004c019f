// SPDX-License-Identifier: GPL-2.0-or-later
// The spreading predictor (ERA, section 3.2, "the naive approach").
#pragma once

#include <span>
#include <vector>

#include "core/predict/demand_predictor.h"

namespace market {

/// Each bid of the past is spread evenly over its window: it adds
///     width · duration / (end − begin) · |slot ∩ [begin, end)| / cycles_covered
/// units at its price to every slot of its window, folded modulo the cycle; equal prices are added
/// up.
class SpreadPredictor final : public DemandPredictor {
 public:
  /// `slots` >= 1: slots in a cycle.
  explicit SpreadPredictor(std::size_t slots) : curves_(slots) {}

  void learn(std::span<const PastDemand> demands, double cycles_covered) override;
  const DemandCurve& curve(std::size_t slot) const override { return curves_[slot]; }

 private:
  void add(const PastDemand& demand, double cycles_covered);

  std::vector<DemandCurve> curves_;
};

}  // namespace market
