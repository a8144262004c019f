// SPDX-License-Identifier: GPL-2.0-or-later
// Job profile classes: what the numbers of a valuation type mean ("BIC pricing by replica-surrogate
// matching", section III-B).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace market {

class JobClass {
 public:
  virtual ~JobClass() = default;
  virtual std::string_view name() const = 0;
  /// Numbers in a type.
  virtual std::size_t parameters() const = 0;
  /// Whether these numbers are a type of this class.
  virtual bool valid(std::span<const double> type) const = 0;
  /// Credits that completing `delay` seconds after submission is worth; >= 0, non-increasing in
  /// `delay`.
  virtual double value(std::span<const double> type, double delay) const = 0;
  /// Delay, in seconds, by which the job should complete: where at least half of the value is left.
  virtual double deadline(std::span<const double> type) const = 0;
};

/// "sigmoid" (max, drop, zero), "hard_deadline" (max, deadline) or "recurrent" (max, workload,
/// seconds of deadline per unit of workload); null for another name.
const JobClass* job_class(std::string_view name);

/// Value of a sigmoid at `time`: max / (1 + exp(a (time − b))), b = (drop + zero)/2, a = 2
/// ln(99)/(zero − drop), so that 99 % is left at `drop` and 1 % at `zero`; 0 where the exponential
/// overflows. Requires drop < zero.
double sigmoid_value(double max, double drop, double zero, double time);

}  // namespace market
