// SPDX-License-Identifier: GPL-2.0-or-later
// The linear program behind the LP-based predictor (ERA, section 3.2) for one good, solved exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace market {

/// One bid of the past: `amount` units × slots within [arrival, deadline), at most `width` in a
/// slot.
struct SlotRequest {
  std::size_t arrival = 0;
  std::size_t deadline = 0;  ///< > arrival, at most the number of slots
  double width = 0;          ///< > 0
  double amount = 0;         ///< >= 0
  double price = 0;          ///< >= 0, value per unit and slot
};

/// Units of each request in each slot of its window.
class SlotAllocation {
 public:
  explicit SlotAllocation(std::span<const SlotRequest> requests);

  std::span<double> units(std::size_t request) {
    return std::span(units_).subspan(offset_[request], offset_[request + 1] - offset_[request]);
  }
  std::span<const double> units(std::size_t request) const {
    return std::span(units_).subspan(offset_[request], offset_[request + 1] - offset_[request]);
  }
  /// Number of variables.
  std::size_t size() const { return units_.size(); }
  /// Σ price × units.
  double objective(std::span<const SlotRequest> requests) const;

 private:
  std::vector<std::size_t> offset_;
  std::vector<double> units_;
};

/// Maximises Σ p_j x_jt subject to Σ_t x_jt <= amount_j, 0 <= x_jt <= width_j, Σ_j x_jt <=
/// capacity[t]. Exact up to rounding. What sets of requests can get is a polymatroid (flows from
/// requests to slots) and the value of a unit depends on its request alone, so serving the requests
/// by falling price, each by augmenting paths that move earlier ones between slots but never take
/// from them, is optimal. Slots from which no path leads to free capacity can never get one again
/// and are left out from then on.
SlotAllocation best_allocation(std::span<const SlotRequest> requests,
                               std::span<const double> capacity);

/// The same, or nothing when it takes more than `most_steps` looks at a slot or at one of those
/// that hold some of it.
std::optional<SlotAllocation> best_allocation_within(std::span<const SlotRequest> requests,
                                                     std::span<const double> capacity,
                                                     std::uint64_t most_steps);

}  // namespace market
