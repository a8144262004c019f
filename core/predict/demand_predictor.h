// SPDX-License-Identifier: GPL-2.0-or-later
// Demand prediction (ERA, section 3.2): from the bids of the past to what will be wanted of one
// good in every slot of a cycle, at which price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace market {

/// `quantity` more units of a good would be bought in a slot at up to `price` per unit.
struct DemandStep {
  double quantity = 0;
  double price = 0;
  bool operator==(const DemandStep&) const = default;
};

/// Demand in one slot as a function of the price: steps with strictly decreasing prices; demand(p)
/// is the sum of the quantities of all steps with price >= p.
using DemandCurve = std::vector<DemandStep>;

/// What one bid of the past wanted of one good. Times are in slots, counted from a slot 0 that is
/// the same for all.
struct PastDemand {
  double begin = 0;     ///< window [begin, end)
  double end = 0;       ///< > begin
  double duration = 0;  ///< slots; > 0
  double width = 0;     ///< units held at once; > 0
  double price =
      0;  ///< the bid's value per unit of this good and slot, in the caller's unit of price
};

/// A way to predict. One object predicts one good.
class DemandPredictor {
 public:
  virtual ~DemandPredictor() = default;

  /// Replaces all that was learned. The slots of the past fold modulo the number of slots of the
  /// cycle; `cycles_covered`
  /// (>= 1) is how many cycles of the past `demands` stands for, so that curves are averages over
  /// one cycle.
  virtual void learn(std::span<const PastDemand> demands, double cycles_covered) = 0;

  /// Demand to be expected in slot `slot` of the cycle. Empty before learn().
  virtual const DemandCurve& curve(std::size_t slot) const = 0;
};

/// Their indices in the order of falling prices; equal prices stay in order.
std::vector<std::uint32_t> by_falling_price(std::span<const PastDemand> demands);

/// Merges the prices of `demands` into at most `levels` prices, so that curves stay short:
/// neighbours in order of price are put together in groups of equal quantity, and each group gets
/// its mean price weighted by quantity (width × duration), which leaves the total value of the
/// demand as it is. Nothing changes when there are no more different prices than `levels`.
void merge_prices(std::span<PastDemand> demands, std::size_t levels);

}  // namespace market
