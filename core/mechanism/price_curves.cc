// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/price_curves.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace market {
namespace {

constexpr std::size_t kPiecesWithoutGuide = 4;
/// From here on neighbouring doubles are more than a unit apart.
constexpr double kLargestExact = 9007199254740992.0;

/// The most units n for which base + n + wanted > capacity is not yet true, by that very comparison
/// in double precision.
double units_below(double capacity, double base, double wanted) {
  double units = std::floor(capacity - base - wanted);
  if (std::max({capacity, base, wanted}) >= kLargestExact) return units;
  while (base + units + wanted > capacity) --units;
  while (!(base + (units + 1) + wanted > capacity)) ++units;
  return units;
}

}  // namespace

void PriceCurves::add(const DemandCurve& demand, double capacity, double base,
                      const PriceBounds& bounds) {
  std::vector<double> wanted = {0};  // by the first k steps
  for (const DemandStep& step : demand) wanted.push_back(wanted.back() + step.quantity);

  Curve curve;
  curve.first = pieces_.size();
  append_piece(curve.first, units_below(capacity, base, wanted.back()), bounds.floor);
  for (std::size_t k = demand.size(); k > 0; --k) {
    const double price = std::clamp(demand[k - 1].price, bounds.floor, bounds.cap);
    append_piece(curve.first, units_below(capacity, base, wanted[k - 1]), price);
  }
  curve.limit = pieces_.size() > curve.first ? pieces_.back().upper : 0;
  build_guide(curve);
  curves_.push_back(curve);
}

double PriceCurves::cost(std::size_t curve, double from, double to) const {
  if (from >= to) return 0;
  double sum = 0;
  for (const Piece* next = &piece(curve, std::floor(from) + 1); from < to; ++next) {
    const double end = std::min(to, next->upper);
    sum += (end - from) * next->price;
    from = end;
  }
  return sum;
}

void PriceCurves::append_piece(std::size_t first, double upper, double price) {
  const bool is_first = pieces_.size() == first;
  const double lower = is_first ? 0 : pieces_.back().upper;
  if (upper <= lower) return;
  if (!is_first && pieces_.back().price == price) {
    pieces_.back().upper = upper;
    return;
  }
  const double paid_below = is_first ? 0 : pieces_.back().intercept + lower * pieces_.back().price;
  pieces_.push_back({upper, price, paid_below - lower * price});
  highest_price_ = std::max(highest_price_, price);
}

void PriceCurves::build_guide(Curve& curve) {
  const std::size_t count = pieces_.size() - curve.first;
  if (count <= kPiecesWithoutGuide) return;
  curve.cells = std::bit_ceil(2 * count);
  curve.cells_per_unit = static_cast<double>(curve.cells) / curve.limit;
  curve.guide = guide_.size();
  std::size_t piece = curve.first;
  for (std::size_t cell = 0; cell <= curve.cells; ++cell) {
    // One unit of tolerance: the cell of a unit is computed with rounding.
    const double begins = static_cast<double>(cell) / curve.cells_per_unit - 1;
    while (pieces_[piece].upper < begins) ++piece;
    guide_.push_back(static_cast<std::uint32_t>(piece));
  }
}

}  // namespace market
