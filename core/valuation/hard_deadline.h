// SPDX-License-Identifier: GPL-2.0-or-later
// A worth that is all or nothing.
#pragma once

namespace market {

/// Full value up to a deadline, nothing after it (incentive-compatible contracts, section III-B,
/// hard constant deadline class).
struct HardDeadline {
  double max = 0;       ///< credits
  double deadline = 0;  ///< seconds after submission

  /// Credits for completing `delay_seconds` after submission; at the deadline itself still all.
  double value_at(double delay_seconds) const;
};

}  // namespace market
