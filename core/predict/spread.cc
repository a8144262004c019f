// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/spread.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace market {
namespace {

/// Less is rounding, not demand.
constexpr double kLeastQuantity = 1e-9;

}  // namespace

void SpreadPredictor::learn(std::span<const PastDemand> demands, double cycles_covered) {
  for (DemandCurve& curve : curves_) curve.clear();
  for (const std::uint32_t i : by_falling_price(demands)) add(demands[i], cycles_covered);
  for (DemandCurve& curve : curves_) {
    std::erase_if(curve, [](const DemandStep& step) { return step.quantity <= kLeastQuantity; });
  }
}

// Called in order of falling prices, so that a price already in a curve is its last.
void SpreadPredictor::add(const PastDemand& demand, double cycles_covered) {
  const double rate = demand.width * demand.duration / (demand.end - demand.begin) / cycles_covered;
  const auto cycle = static_cast<std::int64_t>(curves_.size());
  const auto put = [&demand](DemandCurve& curve, double quantity) {
    if (curve.empty() || curve.back().price != demand.price) curve.push_back({0, demand.price});
    curve.back().quantity += quantity;
  };
  // Whole cycles of a long window fall on every slot alike.
  const double whole = std::floor((demand.end - demand.begin) / static_cast<double>(cycle));
  if (whole > 0) {
    for (DemandCurve& curve : curves_) put(curve, rate * whole);
  }
  const double end = demand.end - whole * static_cast<double>(cycle);
  const auto first = static_cast<std::int64_t>(std::floor(demand.begin));
  std::int64_t folded = ((first % cycle) + cycle) % cycle;
  for (auto slot = first; static_cast<double>(slot) < end; ++slot) {
    const auto slot_begin = static_cast<double>(slot);
    const double inside = std::min(slot_begin + 1, end) - std::max(slot_begin, demand.begin);
    put(curves_[static_cast<std::size_t>(folded)], rate * inside);
    folded = folded + 1 == cycle ? 0 : folded + 1;
  }
}

}  // namespace market
