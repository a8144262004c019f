// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/conservative.h"

#include <algorithm>
#include <limits>

namespace market::sim {

void FreeProfile::reset(Time now, std::int64_t cores) {
  steps_.assign(1, {now, cores});
}

void FreeProfile::forget_before(Time now) {
  std::size_t first = 0;
  while (first + 1 < steps_.size() && steps_[first + 1].time <= now) ++first;
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(first));
  steps_.front().time = std::max(steps_.front().time, now);
}

// The step that begins at `time`, made where there is none.
std::size_t FreeProfile::step_at(Time time) {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                      [](Time t, const Step& step) { return t < step.time; });
  const auto place = static_cast<std::size_t>(after - steps_.begin());
  const Step before = steps_[place - 1];
  if (before.time == time) return place - 1;
  steps_.insert(after, {time, before.free});
  return place;
}

void FreeProfile::add(Time from, Time to, std::int64_t cores) {
  if (to <= from) return;
  const std::size_t first = step_at(from);
  const std::size_t last = to == kNever ? steps_.size() : step_at(to);
  for (std::size_t i = first; i < last; ++i) steps_[i].free += cores;
}

Time FreeProfile::earliest(Time from, std::int64_t cores, std::int64_t seconds) const {
  Time start = std::max(from, steps_.front().time);
  std::size_t i = 0;
  while (i + 1 < steps_.size() && steps_[i + 1].time <= start) ++i;
  for (; i < steps_.size(); ++i) {
    if (steps_[i].free < cores) {
      if (i + 1 == steps_.size()) return kNever;
      start = steps_[i + 1].time;
    } else if (i + 1 == steps_.size() || steps_[i + 1].time - start >= seconds) {
      break;
    }
  }
  return start;
}

void Conservative::arrived(VirtualSlurm& slurm, JobIndex index) {
  Planned planned{index, slurm.now()};
  if (is_known_) {
    const SimJob& job = slurm.job(index);
    profile_.forget_before(slurm.now());
    planned.start = profile_.earliest(slurm.now(), job.need.cores, job.limit);
    if (planned.start != kNever)
      profile_.add(planned.start, planned.start + job.limit, -std::int64_t{job.need.cores});
  }
  waiting_.push_back(planned);
}

void Conservative::ended(VirtualSlurm& slurm, JobIndex index, Time limit_end) {
  if (!is_known_ || limit_end <= slurm.now()) return;
  profile_.forget_before(slurm.now());
  profile_.add(slurm.now(), limit_end, slurm.job(index).need.cores);
  freed_ = true;
}

void Conservative::nodes_changed(VirtualSlurm& /*slurm*/) {
  is_known_ = false;
}

// Of the nodes that are open, and of what runs there.
void Conservative::plan_anew(VirtualSlurm& slurm) {
  std::int64_t free = 0;
  for (std::uint32_t i = 0; i < slurm.machine().partitions.size(); ++i) {
    if (slurm.pool_of(i) == pool_) free += slurm.rooms().free_cores(i);
  }
  profile_.reset(slurm.now(), free);
  Rooms then = slurm.rooms();
  const auto count = [&] {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < slurm.machine().partitions.size(); ++i) {
      if (slurm.pool_of(i) == pool_) sum += then.free_cores(i);
    }
    return sum;
  };
  for (const VirtualSlurm::LimitEnd& end : slurm.by_limit(pool_)) {
    const VirtualSlurm::Running& run = slurm.running(end.slot);
    then.give(slurm.job(run.job).need, run.seats);
    const std::int64_t now_free = count();
    profile_.add(std::max(end.time, slurm.now() + 1), kNever, now_free - free);
    free = now_free;
  }
  for (Planned& planned : waiting_) planned.start = kNever;
  is_known_ = true;
}

// Everybody who waits, in the order of arrival, to the earliest start there is for him.
void Conservative::move_up(VirtualSlurm& slurm) {
  profile_.forget_before(slurm.now());
  for (Planned& planned : waiting_) {
    const SimJob& job = slurm.job(planned.job);
    const std::int64_t cores = job.need.cores;
    if (planned.start == slurm.now()) continue;
    if (planned.start != kNever) profile_.add(planned.start, planned.start + job.limit, cores);
    planned.start = profile_.earliest(slurm.now(), cores, job.limit);
    if (planned.start != kNever) profile_.add(planned.start, planned.start + job.limit, -cores);
  }
}

// Who does not find nodes although there are cores enough is planned again, for when something has
// ended.
void Conservative::start_due(VirtualSlurm& slurm) {
  wake_ = 0;
  Time next = kNever;
  for (Planned& planned : waiting_) {
    const SimJob& job = slurm.job(planned.job);
    if (planned.start > slurm.now()) {
      next = std::min(next, planned.start);
      continue;
    }
    if (slurm.start(planned.job)) {
      planned.job = UINT32_MAX;
      continue;
    }
    const std::int64_t cores = job.need.cores;
    profile_.add(slurm.now(), planned.start + job.limit, cores);
    const auto& running = slurm.by_limit(pool_);
    planned.start =
        running.empty()
            ? kNever
            : profile_.earliest(std::max(running.front().time, slurm.now() + 1), cores, job.limit);
    if (planned.start != kNever) profile_.add(planned.start, planned.start + job.limit, -cores);
    next = std::min(next, planned.start);
  }
  std::erase_if(waiting_, [](const Planned& planned) { return planned.job == UINT32_MAX; });
  if (next != kNever) wake_ = next;
}

void Conservative::schedule(VirtualSlurm& slurm) {
  const bool is_new = !is_known_;
  if (is_new) plan_anew(slurm);
  if (is_new || freed_) move_up(slurm);
  freed_ = false;
  start_due(slurm);
}

}  // namespace market::sim
