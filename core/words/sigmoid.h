// SPDX-License-Identifier: GPL-2.0-or-later
// The sigmoid valuation MAX:DROP:ZERO of the --value option.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/util/result.h"
#include "core/words/money.h"

namespace market {

/// Value of completing `delay` seconds after submission: max / (1 + exp(a (delay − b))), b = (drop
/// + zero)/2, a = 2 ln((1 − ε)/ε)/(zero − drop), ε = 0.01, so that 99 % is left at `drop` and 1 %
/// at `zero` (incentive-compatible contracts, section II; the constant ε is this project's choice,
/// see spec of `smarket solve contracts`).
struct Sigmoid {
  Money max;
  std::int64_t drop = 0;  ///< seconds after submission, >= 0
  std::int64_t zero = 0;  ///< seconds after submission, > drop

  /// Credits; 0 where the exponential overflows.
  double value_at(double delay_seconds) const;

  /// Parses "MAX:DROP:ZERO" with MAX in credits and DROP < ZERO in Slurm's durations. Slurm's
  /// durations contain colons themselves, so every split into two durations in increasing order is
  /// a reading: "40:2:00:00:4:00:00" is 40, 2:00:00, 4:00:00. Among several readings the one with
  /// equally many fields on both sides is meant; any other ambiguity is refused. Fails naming what
  /// is allowed.
  static Result<Sigmoid> parse(std::string_view text);
};

}  // namespace market
