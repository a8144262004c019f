// SPDX-License-Identifier: GPL-2.0-or-later
// What is owed of a contract's price by a run that is late ("BIC pricing by replica-surrogate
// matching", eq. 2 with section III-C).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/valuation/job_class.h"

namespace market {

/// The replica that a contract was made for, and what it was promised.
struct ExPost {
  const JobClass* shape = nullptr;  ///< of the replica's valuation
  std::vector<double> type;         ///< the replica's, as many numbers as the shape has
  double completion = 0;            ///< promised: seconds after the bid
  std::int64_t start = 0;  ///< promised, seconds since the epoch; from here lateness counts

  /// Part of the price that is owed when the completion is `late` seconds after the promised one,
  /// in [0, 1]: the replica's value then over its value at the promised completion; 1 when not
  /// late, 0 when late and nothing was promised.
  double share(double late) const;

  /// "hard_deadline 3600 1764000000 10 5400": shape, completion, start, type; the numbers exact.
  std::string text() const;
  /// Nothing for what text() cannot have made.
  static std::optional<ExPost> parse(std::string_view text);

  bool operator==(const ExPost&) const = default;
};

}  // namespace market
