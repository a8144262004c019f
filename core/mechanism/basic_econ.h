// SPDX-License-Identifier: GPL-2.0-or-later
// Basic-Econ (ERA, Algorithm 1) for several goods: prices of all starts in a window from what is
// promised and what demand is expected. One implementation for the live market and for `smarket
// solve era`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/mechanism/price_curves.h"

namespace market {

/// Goods × slots. Amounts are whole units; the live market counts a unit per second (a CPU-second),
/// so that a slot used in part takes as many units as it is used seconds and nothing is rounded.
class BasicEcon {
 public:
  /// One good of a request: so many units in every second, and what a unit costs at a price of 1.
  struct Part {
    std::size_t good = 0;
    double width = 0;
    double factor = 1;
  };
  /// How the goods of one slot make its price: added, or the dearest alone.
  enum class Combine { kSum, kMax };
  /// What a request that starts in `slot` holds: `lead` seconds of that slot unless it is held
  /// whole, then `full` whole slots, then `tail` seconds of the next.
  struct Span {
    std::int64_t slot = 0;
    std::int64_t lead = 0;
    std::int64_t full = 0;
    std::int64_t tail = 0;
    std::int64_t slots() const { return (lead > 0 ? 1 : 0) + full + (tail > 0 ? 1 : 0); }
  };

  /// Slots first .. first + slots − 1 of `slot_seconds` each; no goods yet.
  BasicEcon(std::int64_t first, std::int64_t slots, std::int64_t slot_seconds)
      : first_(first), slots_(slots), slot_seconds_(slot_seconds) {}

  /// Returns the number of a new good, nothing of it promised: 0, 1, …; `curves` as for
  /// set_curves().
  std::size_t add_good(PriceCurves curves, std::int64_t slots_per_curve);
  /// Slot t is priced by curve ⌊t / slots_per_curve⌋ mod curves.size(); at least one curve.
  void set_curves(std::size_t good, PriceCurves curves, std::int64_t slots_per_curve);

  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + slots_; }
  /// Forgets the slots before `first` and adds as many empty ones at the end.
  void advance(std::int64_t first);
  /// Adds empty slots until `end` is covered.
  void extend(std::int64_t end);
  /// Makes ready what prices of slots need, which is else done for the slots that are asked for.
  void prepare() const;

  /// Units of `good` promised in `slot`.
  double promised(std::size_t good, std::int64_t slot) const;
  /// Changes them; never below 0. Slots outside are ignored.
  void add(std::size_t good, std::int64_t slot, double units);
  /// Adds (sign +1) or takes back (−1) all that a request holds.
  void add(std::span<const Part> parts, const Span& span, double sign);

  /// totalCost of Algorithm 1, line 10, for the starts span.slot, span.slot + 1, …: infinity where
  /// a slot cannot be used because promised + width > capacity. All slots must lie within first()
  /// .. end(). Equal costs of slots give exactly equal totals: sums are in integers, prices of a
  /// second being rounded to 2^-59 of the largest total possible. Time: linear in starts + slots,
  /// whatever the width; logarithmic to constant in the steps of a curve.
  std::vector<double> totals(std::span<const Part> parts, const Span& span, std::int64_t starts,
                             Combine combine) const;

  /// One of totals(), that of span.slot, which must be finite, to the last digits: totals() are
  /// coarse where the largest total possible is very much larger. Linear in the slots held.
  double total(std::span<const Part> parts, const Span& span, Combine combine) const;

 private:
  /// Flat arrays over the slots of one good; those before `offset_` are past. All but the level is
  /// known of the slots fresh_from .. fresh_to − 1 alone.
  struct Row {
    PriceCurves curves;
    std::int64_t slots_per_curve = 1;
    std::vector<double> level;         ///< units promised
    mutable std::vector<double> room;  ///< so many units more cost unit_price each; negative: none
    mutable std::vector<double> unit_price;
    mutable std::vector<double> paid;  ///< what the promised units cost on the curve
    mutable std::vector<std::uint32_t> curve;
    mutable std::size_t fresh_from = 0, fresh_to = 0;
  };
  std::size_t index_of(std::int64_t slot) const {
    return offset_ + static_cast<std::size_t>(slot - first_);
  }
  void resize(Row& row) const;
  void drop_past();
  void freshen(const Row& row, std::size_t from, std::size_t to) const;
  void refresh(const Row& row, std::size_t index) const;
  /// What a slot costs when it is held for `seconds`, in the integers of a sum; kBlocked when it
  /// cannot be. Of slots that have a price of a second nothing is kept here.
  struct Holding {
    std::int64_t seconds = 0;
    std::vector<std::int64_t> costs;
  };
  void price_seconds(const Part& part, std::size_t from, double scale, Combine combine) const;
  void price_slots(std::span<const Part> parts, std::size_t from, std::size_t count, double scale,
                   Combine combine) const;
  std::int64_t cost_of(std::span<const Part> parts, std::size_t slot, std::int64_t seconds,
                       double scale, Combine combine) const;
  std::int64_t cost_in(const Holding& holding, std::size_t slot) const;
  std::int64_t exact_cost(const Row& row, std::size_t slot, double units, double factor) const;
  double slot_cost(std::span<const Part> parts, std::int64_t slot, std::int64_t seconds,
                   Combine combine) const;
  double largest_total(std::span<const Part> parts, const Span& span) const;

  std::int64_t first_;
  std::int64_t slots_;
  std::int64_t slot_seconds_;
  std::size_t offset_ = 0;  ///< index of slot first_ in the rows
  std::vector<Row> rows_;
  // Of totals(), kept between calls to save allocations.
  mutable std::vector<std::int64_t> second_costs_;  ///< by slot; kNoSecondCost where there is none
  mutable Holding lead_, full_, tail_;
};

}  // namespace market
