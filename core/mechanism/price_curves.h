// SPDX-License-Identifier: GPL-2.0-or-later
// price_t(i) of Basic-Econ (ERA, Algorithm 1, line 7) as a step function over the units of a slot,
// with its sums ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/predict/demand_predictor.h"

namespace market {

/// Lowest and highest price of a unit. Algorithm 1 as printed has neither: [0, ∞).
struct PriceBounds {
  double floor = 0;
  double cap = std::numeric_limits<double>::infinity();
};

/// Curves of one good. A *level* counts the whole units promised in a slot beyond the curve's base,
/// from 0 up; the n-th unit costs the highest p with demand(p) + base + n > capacity, kept within
/// the bounds, and units beyond the capacity are not for sale.
class PriceCurves {
 public:
  /// Units up to and including `upper` cost `price` each; the first x of all units cost intercept +
  /// x·price together when x lies in this piece.
  struct Piece {
    double upper = 0;
    double price = 0;
    double intercept = 0;
  };

  /// Appends a curve for a slot with `capacity` units of which `base` are taken from the start.
  /// Prices in `demand` must not increase. Time and memory: linear in the steps.
  void add(const DemandCurve& demand, double capacity, double base, const PriceBounds& bounds);

  std::size_t size() const { return curves_.size(); }
  /// Most units that can be promised.
  double limit(std::size_t curve) const { return curves_[curve].limit; }
  /// Highest price of any unit of any curve.
  double highest_price() const { return highest_price_; }
  /// The piece that holds unit `unit` (1 <= unit <= limit).
  const Piece& piece(std::size_t curve, double unit) const {
    const Curve& c = curves_[curve];
    std::size_t i = c.first;
    if (c.cells > 0) i = guide_[c.guide + static_cast<std::size_t>(unit * c.cells_per_unit)];
    while (unit > pieces_[i].upper) ++i;
    return pieces_[i];
  }
  /// What the first `level` units cost together (0 <= level <= limit).
  double paid(std::size_t curve, double level) const {
    if (level <= 0) return 0;
    const Piece& last = piece(curve, level);
    return last.intercept + level * last.price;
  }
  /// What the units beyond `from` up to `to` cost together (0 <= from <= to <= limit), added piece
  /// by piece, so that no dearer or cheaper units take digits away; linear in the pieces.
  double cost(std::size_t curve, double from, double to) const;

 private:
  struct Curve {
    double limit = 0;
    double cells_per_unit = 0;
    std::size_t first = 0;  ///< in pieces_
    std::size_t guide = 0;  ///< in guide_
    std::size_t cells = 0;  ///< 0: so few pieces that they are tried in turn
  };
  void append_piece(std::size_t first, double upper, double price);
  void build_guide(Curve& curve);

  std::vector<Curve> curves_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t>
      guide_;  ///< per cell of equally many units: the first piece that may hold them
  double highest_price_ = 0;
};

}  // namespace market
