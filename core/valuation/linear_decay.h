// SPDX-License-Identifier: GPL-2.0-or-later
// Utilities that stay full for a while and then fall in a straight line.
#pragma once

namespace market {

/// 1 up to `full_until` seconds, then falling by `rate` per second to 0 (double-sided Vickrey
/// auction, equations 5 and 6).
struct LinearDecay {
  double full_until = 0;  ///< t_0 or t_1, seconds
  double rate = 0;        ///< k_0 or k_1, 1/s, > 0

  /// 0..1 for a time in seconds.
  double utility_at(double seconds) const;
  /// When nothing is left, in seconds: full_until + 1/rate.
  double zero_from() const { return full_until + 1 / rate; }
};

/// Utility of a task: waiting and running weighed against each other (double-sided Vickrey auction,
/// equation 4).
struct TaskUtility {
  LinearDecay scheduling;        ///< su, of the waiting time
  LinearDecay execution;         ///< eu, of the execution time
  double scheduling_weight = 0;  ///< lambda, 0..1

  /// tu = lambda·su + (1 − lambda)·eu, 0..1.
  double utility_at(double waiting_seconds, double execution_seconds) const;
};

}  // namespace market
