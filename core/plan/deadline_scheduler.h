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
  /// `types` (one after another) in turn and waits behind or among `jobs`. One schedule of `jobs`
  /// answers all, at one search for room for each type: those ahead of the newcomer keep the order
  /// that they have among themselves without it. Under "edf" and "fifo" this is exactly what
  /// completions() says of `jobs` and the newcomer behind them.
  std::vector<double> what_if(const ClusterLoad& load, std::span<const WaitingJob> jobs,
                              const WaitingJob& newcomer, std::span<const double> types) const;

 protected:
  /// The moment of an order: all work that is known, done by the whole cluster, ends at now +
  /// backlog.
  struct Horizon {
    double now = 0;
    double backlog = 0;   ///< seconds
    double capacity = 1;  ///< units
  };

  /// An order of jobs and where another one would come in.
  class Order {
   public:
    virtual ~Order() = default;
    /// Indices of the jobs, the first to be served first.
    const std::vector<std::size_t>& first_to_last() const { return first_to_last_; }
    /// How many of the jobs are served before `newcomer`.
    virtual std::size_t ahead_of(const WaitingJob& newcomer) const = 0;

   protected:
    std::vector<std::size_t> first_to_last_;
  };

  virtual std::unique_ptr<Order> order(std::span<const WaitingJob> jobs,
                                       const Horizon& horizon) const = 0;

 private:
  static Horizon horizon_of(const ClusterLoad& load, std::span<const WaitingJob> jobs,
                            double more_work);
};

/// "expected_loss" (the places of the backlog are given from its end: to the job that loses least
/// expected value per unit and second of room there instead of now), "edf" (earliest deadline
/// first), "fifo" (in order of submission); null for another name.
std::unique_ptr<DeadlineScheduler> make_deadline_scheduler(std::string_view name);

}  // namespace market
