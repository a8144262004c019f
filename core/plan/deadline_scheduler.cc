// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/deadline_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace market {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kDeviationsOfRoom = 1.28;

/// Places in the backlog that stand for all of them.
constexpr int kPlaces = 8;

double room_of(const WaitingJob& job) {
  return job.run_mean + kDeviationsOfRoom * job.run_deviation;
}

/// Free units over time, from now to infinity.
class Profile {
 public:
  explicit Profile(const ClusterLoad& load) : steps_{{load.now, load.capacity}} {
    for (const RunningJob& job : load.running) {
      if (job.until > load.now) take(load.now, job.until, job.width);
    }
  }

  /// Earliest time from which `width` is free for `duration`.
  double earliest(double width, double duration) const {
    for (std::size_t first = 0; first < steps_.size(); ++first) {
      if (steps_[first].free < width) continue;
      const double end = steps_[first].time + duration;
      std::size_t blocked = first + 1;
      while (blocked < steps_.size() && steps_[blocked].time < end &&
             steps_[blocked].free >= width) {
        ++blocked;
      }
      if (blocked == steps_.size() || steps_[blocked].time >= end) return steps_[first].time;
      first = blocked;
    }
    return kNever;
  }

  void take(double start, double end, double width) {
    const std::size_t first = split(start), last = split(end);
    for (std::size_t i = first; i < last; ++i) steps_[i].free -= width;
  }

 private:
  struct Step {
    double time, free;
  };

  /// Index of the step that begins at `time`, made when there is none.
  std::size_t split(double time) {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](double moment, const Step& step) { return moment < step.time; });
    const auto index = static_cast<std::size_t>(after - steps_.begin());
    if (steps_[index - 1].time == time) return index - 1;
    steps_.insert(after, {time, steps_[index - 1].free});
    return index;
  }

  std::vector<Step> steps_;
};

/// Expected completion of `job` in the room that is left.
double expected_completion(const Profile& profile, const WaitingJob& job) {
  return profile.earliest(job.width, room_of(job)) + job.run_mean;
}

void place(Profile* profile, const WaitingJob& job) {
  const double start = profile->earliest(job.width, room_of(job));
  if (start < kNever) profile->take(start, start + room_of(job), job.width);
}

double work_of(const WaitingJob& job, double capacity) {
  return job.width <= capacity ? job.width * room_of(job) : 0;
}

/// Units × seconds of all work.
double total_work(const ClusterLoad& load, std::span<const WaitingJob> jobs) {
  double work = 0;
  for (const RunningJob& job : load.running)
    work += job.width * std::max(0.0, job.until - load.now);
  for (const WaitingJob& job : jobs) work += work_of(job, load.capacity);
  return work;
}

/// Expected value of starting at `start`: three-point Gauss-Hermite quadrature over a normal run
/// time.
double expected_value(const WaitingJob& job, double start) {
  const double spread = std::sqrt(3.0) * job.run_deviation;
  const std::array<double, 3> runs = {std::max(0.0, job.run_mean - spread), job.run_mean,
                                      job.run_mean + spread};
  const std::array<double, 3> weights = {1.0 / 6, 2.0 / 3, 1.0 / 6};
  double value = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    value += weights[i] * job.valuations->value(job.type, start + runs[i] - job.submitted);
  }
  return value;
}

class ExpectedLoss final : public DeadlineScheduler {
 public:
  std::string_view name() const override { return "expected_loss"; }

 protected:
  double urgency(const WaitingJob& job, double now, double backlog) const override {
    double later = 0;
    for (int i = 0; i < kPlaces; ++i) {
      later += expected_value(job, now + backlog * (i + 0.5) / kPlaces) / kPlaces;
    }
    return (expected_value(job, now) - later) / (job.width * room_of(job));
  }
};

class EarliestDeadline final : public DeadlineScheduler {
 public:
  std::string_view name() const override { return "edf"; }

 protected:
  double urgency(const WaitingJob& job, double /*now*/, double /*backlog*/) const override {
    return -(job.submitted + job.valuations->deadline(job.type));
  }
};

class FirstComeFirstServed final : public DeadlineScheduler {
 public:
  std::string_view name() const override { return "fifo"; }

 protected:
  double urgency(const WaitingJob& job, double /*now*/, double /*backlog*/) const override {
    return -job.submitted;
  }
};

/// Indices of `urgencies`, the greatest first, ties in order.
std::vector<std::size_t> order_of(const std::vector<double>& urgencies) {
  std::vector<std::size_t> order(urgencies.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return urgencies[a] > urgencies[b]; });
  return order;
}

}  // namespace

std::vector<double> DeadlineScheduler::completions(const ClusterLoad& load,
                                                   std::span<const WaitingJob> jobs) const {
  const double backlog = total_work(load, jobs) / load.capacity;
  std::vector<double> urgencies, expected(jobs.size());
  for (const WaitingJob& job : jobs) urgencies.push_back(urgency(job, load.now, backlog));
  Profile profile(load);
  for (const std::size_t job : order_of(urgencies)) {
    expected[job] = expected_completion(profile, jobs[job]);
    place(&profile, jobs[job]);
  }
  return expected;
}

std::vector<double> DeadlineScheduler::what_if(const ClusterLoad& load,
                                               std::span<const WaitingJob> jobs,
                                               const WaitingJob& newcomer,
                                               std::span<const double> types) const {
  const double backlog =
      (total_work(load, jobs) + work_of(newcomer, load.capacity)) / load.capacity;
  std::vector<double> urgencies, wishes;
  for (const WaitingJob& job : jobs) urgencies.push_back(urgency(job, load.now, backlog));
  const std::size_t width = newcomer.valuations->parameters();
  WaitingJob asked = newcomer;
  for (std::size_t at = 0; at + width <= types.size(); at += width) {
    asked.type.assign(types.begin() + static_cast<std::ptrdiff_t>(at),
                      types.begin() + static_cast<std::ptrdiff_t>(at + width));
    wishes.push_back(urgency(asked, load.now, backlog));
  }
  const std::vector<std::size_t> order = order_of(urgencies);
  std::vector<double> delays(wishes.size());
  Profile profile(load);
  std::size_t placed = 0;
  for (const std::size_t wish : order_of(wishes)) {
    while (placed < order.size() && urgencies[order[placed]] >= wishes[wish]) {
      place(&profile, jobs[order[placed++]]);
    }
    delays[wish] = expected_completion(profile, newcomer) - newcomer.submitted;
  }
  return delays;
}

std::unique_ptr<DeadlineScheduler> make_deadline_scheduler(std::string_view name) {
  if (name == "expected_loss") return std::make_unique<ExpectedLoss>();
  if (name == "edf") return std::make_unique<EarliestDeadline>();
  if (name == "fifo") return std::make_unique<FirstComeFirstServed>();
  return nullptr;
}

}  // namespace market
