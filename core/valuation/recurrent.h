// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs made again and again from one template with different amounts of work.
#pragma once

#include "core/valuation/hard_deadline.h"

namespace market {

/// A template of recurrent jobs: the deadline is proportional to the workload and the workload is
/// the only parameter (incentive-compatible contracts, section III-B, recurrent job class).
struct RecurrentTemplate {
  double max = 0;                        ///< credits, the same for every workload
  double deadline_seconds_per_work = 0;  ///< seconds after submission for each unit of work

  /// The valuation of a job with this much work, in the template's unit.
  HardDeadline for_workload(double workload) const;
  /// Credits for completing that job `delay_seconds` after submission.
  double value_at(double workload, double delay_seconds) const;
};

}  // namespace market
