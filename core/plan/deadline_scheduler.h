// SPDX-License-Identifier: GPL-2.0-or-later
// Expected completion times under a deadline-aware scheduler: the black box that a menu of
// contracts asks ("BIC pricing by replica-surrogate matching", section II).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/valuation/job_class.h"

namespace market {

/// A job that waits. Times are seconds on one clock.
struct WaitingJob {
  double width = 1;          ///< units (cores) held at once, > 0
  double run_mean = 0;       ///< expected run time, > 0
  double run_deviation = 0;  ///< its standard deviation, >= 0
  double submitted = 0;
  const JobClass* valuations = nullptr;
  std::vector<double> type;  ///< what was declared
};

/// What holds units now, and until when to count on it.
struct RunningJob {
  double width = 1;
  double until = 0;
};

struct ClusterLoad {
  double capacity = 1;  ///< units
  double now = 0;
  std::vector<RunningJob> running;
};

/// Serves waiting jobs in an order of its own, each as early as it fits among those before it. Run
/// times are uncertain: a job is given room for its mean run time and 1.28 standard deviations
/// (nine of ten normal run times), in the spirit of RUSH, which plans with a percentile of the
/// worst plausible distribution; it is expected to complete after the mean.
class DeadlineScheduler {
 public:
  virtual ~DeadlineScheduler() = default;
  virtual std::string_view name() const = 0;

  /// Expected completions, in the order of `jobs`, on the clock of `load`; infinite for jobs wider
  /// than the cluster.
  std::vector<double> completions(const ClusterLoad& load, std::span<const WaitingJob> jobs) const;

  /// Expected delays, completion less `newcomer.submitted`, when the newcomer declares each of
  /// `types` (one after another) in turn: what completions() says of `jobs` and the newcomer behind
  /// them. Since a job's place depends only on the jobs before it, one schedule of `jobs` answers
  /// all, at one search for room for each type.
  std::vector<double> what_if(const ClusterLoad& load, std::span<const WaitingJob> jobs,
                              const WaitingJob& newcomer, std::span<const double> types) const;

 protected:
  /// Jobs with greater urgency go first, ties in input order. `backlog`: seconds until all work
  /// that is known now would be done.
  virtual double urgency(const WaitingJob& job, double now, double backlog) const = 0;
};

/// "expected_loss" (greatest expected value lost by a place somewhere in the backlog, each as
/// likely, instead of now, per unit and second of room), "edf" (earliest deadline first), "fifo"
/// (in order of submission); null for another name.
std::unique_ptr<DeadlineScheduler> make_deadline_scheduler(std::string_view name);

}  // namespace market
