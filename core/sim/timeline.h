// SPDX-License-Identifier: GPL-2.0-or-later
// What happened when, and to whom: sums over steps of time for each group of jobs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/sim/job_groups.h"
#include "core/sim/sim_job.h"
#include "core/sim/valuation_models.h"

namespace market::sim {

struct Timeline {
  Time begin = 0, step = 1;  ///< seconds; begin is a multiple of step
  std::size_t steps = 1;

  /// Steps of a round length that cover [begin, end], at most `most` of them.
  static Timeline cover(Time begin, Time end, std::size_t most);
  Time end() const { return begin + step * static_cast<Time>(steps); }
};

/// Sums over each step of what goes on at a steady rate for some time. Each addition takes the same
/// time, however long it lasts.
class StepSums {
 public:
  explicit StepSums(const Timeline& timeline);
  /// `rate` a second in [from, to); what lies outside of the timeline is left out.
  void add(Time from, Time to, double rate);
  std::vector<double> sums() const;

 private:
  void add_until(Time to, double rate);
  Timeline timeline_;
  std::vector<double> parts_, rises_;  // rises: from this step on so much more in each
};

/// Longest waits of each class, seconds; the last class has no bound.
constexpr std::array<std::int64_t, 6> kWaitClasses = {60, 600, 3600, 6 * 3600, 86400, 7 * 86400};

struct GroupFigures {
  std::size_t jobs = 0, completed = 0, refused = 0, dropped = 0, late = 0;
  double wait = 0;                                           ///< seconds of all that completed
  double core_seconds = 0;                                   ///< of what completed
  double asked = 0, served = 0, charged = 0;                 ///< credits
  std::array<std::size_t, kWaitClasses.size() + 1> waits{};  ///< completed jobs by wait
};

struct GroupSeries {
  std::vector<double> busy;     ///< core-seconds that ran in each step
  std::vector<double> waiting;  ///< core-seconds that were wanted and waited
  std::vector<double> paid;     ///< credits, each charge spread evenly over its run
};

struct RunByGroups {
  std::vector<GroupFigures> figures;
  std::vector<GroupSeries> series;  ///< empty where the group has no job
};

/// `charged` may be empty. Jobs that still wait or run in the end do so until the end of the timeline.
RunByGroups by_groups(const JobGroups& groups, const Timeline& timeline,
                      const std::vector<SimJob>& jobs, const std::vector<JobRecord>& records,
                      const std::vector<Valuation>& valuations, const std::vector<Money>& charged);

}  // namespace market::sim
