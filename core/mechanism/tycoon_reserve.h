// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon's agent: what to bid for a wanted amount of one host.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "core/util/result.h"

namespace market::tycoon {

struct WantedAmount {
  double capacity = 0;          ///< > 0
  double amount = 0;            ///< in the unit of the capacity, 0 <= amount < capacity
  double others = 0;            ///< what all others bid now, credits/s, >= 0
  std::vector<double> history;  ///< past values of others; may be empty
  double confidence = 1;        ///< read with a history: part of it the bid must suffice for, 0..1
};

struct ReserveBid {
  double expected_bid = 0;         ///< credits/s, enough if the others' bids stay
  double bid = 0;                  ///< credits/s
  std::optional<double> quantile;  ///< of the history, credits/s
  std::optional<double> coverage;  ///< part of the history for which the bid suffices
};

/// The bid that wins `amount` (Tycoon, section 3.4.2, equation 11; rules of solve.md,
/// tycoon-reserve), never less than what is needed now. O(history). Fails when the bid is beyond
/// the range of a double.
Result<ReserveBid> reserve(const WantedAmount& wanted);

/// What an agent remembers of a host: the others' total bid of the last so many periods.
class BidHistory {
 public:
  explicit BidHistory(std::size_t longest) : longest_(longest) {}
  /// One period went by; the oldest value goes when there are too many.
  void record(double others);
  std::vector<double> values() const { return {values_.begin(), values_.end()}; }

 private:
  std::size_t longest_;
  std::deque<double> values_;
};

}  // namespace market::tycoon
