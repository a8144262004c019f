// SPDX-License-Identifier: GPL-2.0-or-later
// FIFO, EASY and conservative backfill as they are defined, on one number of free cores: each moment
// looks at everything anew. Slow, and written without a look at core/sim.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

namespace market::sim::test {

struct PlainJob {
  long arrival = 0, run = 0, limit = 0;
  long cores = 1;
};

enum class PlainRule { kFifo, kEasy, kConservative };

class PlainScheduler {
 public:
  PlainScheduler(long cores, std::vector<PlainJob> jobs, PlainRule rule)
      : cores_(cores), jobs_(std::move(jobs)), rule_(rule), starts_(jobs_.size(), -1) {}

  /// The start of each job.
  std::vector<long> run() {
    std::size_t done = 0;
    while (done < jobs_.size()) {
      long next = -1;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const long event = starts_[i] >= 0 ? starts_[i] + jobs_[i].run : jobs_[i].arrival;
        const bool is_to_come = is_running(i) || (starts_[i] < 0 && event > now_);
        if (is_to_come && (next < 0 || event < next)) next = event;
      }
      if (rule_ == PlainRule::kConservative) {
        for (const Plan& plan : plans_) {
          if (next < 0 || plan.start < next) next = plan.start;
        }
      }
      if (next < 0) break;
      now_ = next;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (!is_running(i) || starts_[i] + jobs_[i].run > now_) continue;
        ended_.insert(i);
        early_end_ |= jobs_[i].run < jobs_[i].limit;
        ++done;
      }
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].arrival <= now_ && seen_.insert(i).second) arrive(i);
      }
      rule_ == PlainRule::kConservative ? start_planned() : start_queued();
    }
    return starts_;
  }

 private:
  struct Plan {
    std::size_t job;
    long start;
  };

  bool is_running(std::size_t i) const { return starts_[i] >= 0 && !ended_.contains(i); }
  long free() const { return free_at(now_, {}); }

  // By the limits of what runs and the plans in `plans`.
  long free_at(long time, const std::vector<Plan>& plans) const {
    long free = cores_;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      // A job without a run holds its cores for no time but the moment in which it starts.
      if (is_running(i) && (starts_[i] + jobs_[i].limit > time || time == now_))
        free -= jobs_[i].cores;
    }
    for (const Plan& plan : plans) {
      if (plan.start <= time && time < plan.start + jobs_[plan.job].limit)
        free -= jobs_[plan.job].cores;
    }
    return free;
  }

  void start(std::size_t i) { starts_[i] = now_; }

  void start_queued() {
    while (!queue_.empty() && jobs_[queue_[0]].cores <= free()) {
      start(queue_[0]);
      queue_.erase(queue_.begin());
    }
    if (queue_.empty() || rule_ == PlainRule::kFifo) return;
    const PlainJob& head = jobs_[queue_[0]];
    std::vector<long> limits;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (is_running(i)) limits.push_back(starts_[i] + jobs_[i].limit);
    }
    std::sort(limits.begin(), limits.end());
    long shadow = 0, extra = 0;
    for (const long limit : limits) {
      long then = free();
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (is_running(i) && starts_[i] + jobs_[i].limit <= limit) then += jobs_[i].cores;
      }
      if (then < head.cores) continue;
      shadow = limit;
      extra = then - head.cores;
      break;
    }
    for (std::size_t place = 1; place < queue_.size();) {
      const PlainJob& job = jobs_[queue_[place]];
      const bool is_short = now_ + job.limit <= shadow;
      if (job.cores > free() || (!is_short && job.cores > extra)) {
        ++place;
        continue;
      }
      if (!is_short) extra -= job.cores;
      start(queue_[place]);
      queue_.erase(queue_.begin() + static_cast<long>(place));
    }
  }

  long earliest(std::size_t i, const std::vector<Plan>& plans) const {
    std::vector<long> candidates{now_};
    for (std::size_t k = 0; k < jobs_.size(); ++k) {
      if (is_running(k)) candidates.push_back(starts_[k] + jobs_[k].limit);
    }
    for (const Plan& plan : plans) candidates.push_back(plan.start + jobs_[plan.job].limit);
    std::sort(candidates.begin(), candidates.end());
    for (const long start : candidates) {
      if (start < now_) continue;
      bool fits = true;
      for (long time = start; fits && time < start + jobs_[i].limit; ++time)
        fits = free_at(time, plans) >= jobs_[i].cores;
      if (fits) return start;
    }
    return -1;
  }

  void arrive(std::size_t i) {
    queue_.push_back(i);
    if (rule_ == PlainRule::kConservative) plans_.push_back({i, earliest(i, plans_)});
  }

  void start_planned() {
    if (early_end_) {
      for (std::size_t place = 0; place < plans_.size(); ++place) {
        std::vector<Plan> others = plans_;
        others.erase(others.begin() + static_cast<long>(place));
        if (plans_[place].start != now_) plans_[place].start = earliest(plans_[place].job, others);
      }
    }
    early_end_ = false;
    for (std::size_t place = 0; place < plans_.size();) {
      if (plans_[place].start > now_) {
        ++place;
        continue;
      }
      start(plans_[place].job);
      plans_.erase(plans_.begin() + static_cast<long>(place));
    }
  }

  long cores_;
  std::vector<PlainJob> jobs_;
  PlainRule rule_;
  std::vector<long> starts_;
  std::set<std::size_t> ended_, seen_;
  std::vector<std::size_t> queue_;
  std::vector<Plan> plans_;
  bool early_end_ = false;
  long now_ = -1;
};

}  // namespace market::sim::test
