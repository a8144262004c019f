// SPDX-License-Identifier: GPL-2.0-or-later
// What came of a simulation, in figures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/sim/machine.h"
#include "core/sim/sim_job.h"
#include "core/sim/valuation_models.h"

namespace market::sim {

struct Spread {
  double mean = 0, median = 0, p95 = 0;
};
/// The mean, and the least value that at least a half and 95 % of the values do not exceed; 0 of none.
Spread spread_of(std::vector<double> values);

/// Jain's index of fairness: (Σx)² / (n Σx²), 1 when all are equal; 1 of none.
double jain_index(const std::vector<double>& values);

/// What a market took in.
struct Takings {
  std::vector<Money> charged;  ///< of each job
  double revenue = 0;          ///< credits
  double expected = 0;  ///< credits that the core-hours used would have brought at the floor price
};

struct Summary {
  std::size_t jobs = 0, completed = 0, refused = 0, dropped = 0, unfinished = 0, restarts = 0;
  std::size_t late = 0;     ///< completed after their deadline
  double utilization = 0;   ///< core-seconds of completed runs, of those of the machine between the
                            ///< first submission and the last end
  Spread wait;              ///< of completed jobs, seconds from the eligible time to the last start
  Spread slowdown;          ///< bounded: max(1, (wait + run) / max(run, 10 s))
  double fairness = 1;      ///< Jain's index over the users' mean bounded slowdowns
  double asked_value = 0;   ///< credits that all jobs are worth when they end at once
  double served_value = 0;  ///< credits that they were worth when they ended
  std::optional<double> revenue{};                ///< of a market, credits
  std::optional<double> payment_to_budget{};      ///< of a market: mean over completed jobs
  std::optional<double> income_to_expectation{};  ///< of a market: revenue over Takings::expected
  /// Credits that refused and dropped jobs would have been worth at once, by the hour of the day of
  /// their submission.
  std::array<double, 24> refused_value{};
  Time first_submit = 0, last_end = 0;

  double served_share() const { return asked_value > 0 ? served_value / asked_value : 0; }
};

/// What a job that ended at `end` is worth to its owner, credits: its budget up to the deadline, or its
/// sigmoid's value of the delay since its submission.
double value_at(const SimJob& job, const Valuation& valuation, Time end);

/// `valuations` are those of the workload's jobs; `takings` is null without a market.
Summary summarize(const Machine& machine, const std::vector<SimJob>& jobs,
                  const std::vector<JobRecord>& records, const std::vector<Valuation>& valuations,
                  const Takings* takings = nullptr);

}  // namespace market::sim
