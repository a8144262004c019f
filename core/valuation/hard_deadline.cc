// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/hard_deadline.h"

namespace market {

double HardDeadline::value_at(double delay_seconds) const {
  return delay_seconds <= deadline ? max : 0;
}

}  // namespace market
