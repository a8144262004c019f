// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/linear_decay.h"

#include <algorithm>

namespace market {

double LinearDecay::utility_at(double seconds) const {
  return std::clamp(1 - rate * (seconds - full_until), 0.0, 1.0);
}

double TaskUtility::utility_at(double waiting_seconds, double execution_seconds) const {
  return scheduling_weight * scheduling.utility_at(waiting_seconds) +
         (1 - scheduling_weight) * execution.utility_at(execution_seconds);
}

}  // namespace market
