// SPDX-License-Identifier: GPL-2.0-or-later
// Conservative backfill: every job that waits has a planned start.
#pragma once

#include <cstdint>
#include <vector>

#include "core/sim/virtual_slurm.h"

namespace market::sim {

/// Free cores over the time to come: steps, the last one holds for ever.
class FreeProfile {
 public:
  /// All that is before `now` is forgotten; from then on `cores` are free.
  void reset(Time now, std::int64_t cores);
  void forget_before(Time now);
  /// Adds `cores` (below 0: takes) in [from, to).
  void add(Time from, Time to, std::int64_t cores);
  /// The earliest start from `from` on at which so many cores are free for so long.
  Time earliest(Time from, std::int64_t cores, std::int64_t seconds) const;

 private:
  struct Step {
    Time time = 0;
    std::int64_t free = 0;
  };
  std::size_t step_at(Time time);

  std::vector<Step> steps_;
};

class Conservative : public QueuePolicy {
 public:
  explicit Conservative(std::uint32_t pool) : pool_(pool) {}
  void arrived(VirtualSlurm& slurm, JobIndex job) override;
  void ended(VirtualSlurm& slurm, JobIndex job, Time limit_end) override;
  void nodes_changed(VirtualSlurm& slurm) override;
  void schedule(VirtualSlurm& slurm) override;
  Time next_wake() const override { return wake_; }

 private:
  struct Planned {
    JobIndex job = 0;
    Time start = 0;
  };

  void plan_anew(VirtualSlurm& slurm);
  void move_up(VirtualSlurm& slurm);
  void start_due(VirtualSlurm& slurm);

  std::uint32_t pool_;
  std::vector<Planned> waiting_;  // in the order of arrival
  FreeProfile profile_;
  bool is_known_ = false;  // the profile is of the nodes as they are
  bool freed_ = false;     // something ended before its limit
  Time wake_ = 0;
};

}  // namespace market::sim
