// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/recurrent.h"

namespace market {

HardDeadline RecurrentTemplate::for_workload(double workload) const {
  return HardDeadline{max, workload * deadline_seconds_per_work};
}

double RecurrentTemplate::value_at(double workload, double delay_seconds) const {
  return for_workload(workload).value_at(delay_seconds);
}

}  // namespace market
