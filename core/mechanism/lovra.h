// SPDX-License-Identifier: GPL-2.0-or-later
// LOVRA: the shares of one node that make one task run fastest for its budget ("Ex-post efficient
// resource allocation for self-organizing cloud", section 3.3, Algorithm 2).
#pragma once

#include <span>

namespace market {

/// One task on one node; all of the same length D. Amounts in any unit used consistently.
struct LovraProblem {
  double budget = 0;                  ///< B, credits per second
  std::span<const double> workload;   ///< l, amount × seconds; 0: space that is held, not consumed
  std::span<const double> demand;     ///< e, the least amounts
  std::span<const double> prices;     ///< b, credits per amount and second
  std::span<const double> available;  ///< a
};

struct LovraShares {
  double payment_unit = 0;    ///< EPU = b·r, credits per second (eq. 8)
  double execution_time = 0;  ///< Σ l/r over l > 0, seconds (eq. 3)
  double payment = 0;         ///< EP = EPU × time, credits (eq. 9)
  bool meets_demand = false;  ///< r >= e(1 − 1e-9) in every dimension (eq. 2)
};

/// Minimises Σ l/r subject to b·r <= B and r <= a (eq. 24) and writes r to `shares` (length D).
/// Dimensions with l = 0 get r = e, paid first; those with l > 0 and b = 0 get r = a. False, with
/// `shares` unspecified, when e exceeds a somewhere (eq. 22), the budget does not cover what is
/// paid first, some l > 0 would get nothing, or the payment is not a number because costs or times
/// leave the range of double. O(D²), no allocation.
bool lovra(const LovraProblem& problem, std::span<double> shares, LovraShares* result);

}  // namespace market
