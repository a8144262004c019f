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

/// Stretches of the backlog whose places are given together.
constexpr int kStretches = 16;

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

/// Jobs with greater urgency go first, ties in input order.
class UrgencyFirst : public DeadlineScheduler {
 protected:
  virtual double urgency(const WaitingJob& job) const = 0;

  std::unique_ptr<Order> order(std::span<const WaitingJob> jobs,
                               const Horizon& /*horizon*/) const override {
    return std::make_unique<ByUrgency>(*this, jobs);
  }

 private:
  class ByUrgency final : public Order {
   public:
    ByUrgency(const UrgencyFirst& scheduler, std::span<const WaitingJob> jobs)
        : scheduler_(scheduler) {
      std::vector<double> urgencies;
      for (const WaitingJob& job : jobs) urgencies.push_back(scheduler.urgency(job));
      first_to_last_.resize(jobs.size());
      std::iota(first_to_last_.begin(), first_to_last_.end(), std::size_t{0});
      std::stable_sort(first_to_last_.begin(), first_to_last_.end(),
                       [&](std::size_t a, std::size_t b) { return urgencies[a] > urgencies[b]; });
      for (const std::size_t job : first_to_last_) falling_.push_back(urgencies[job]);
    }
    std::size_t ahead_of(const WaitingJob& newcomer) const override {
      const auto behind = std::upper_bound(falling_.begin(), falling_.end(),
                                           scheduler_.urgency(newcomer), std::greater<>());
      return static_cast<std::size_t>(behind - falling_.begin());
    }

   private:
    const UrgencyFirst& scheduler_;
    std::vector<double> falling_;
  };
};

/// Fills the backlog from its end: of all jobs still without a place the one that loses least, per
/// unit and second of room, takes the last place left (the greedy counterpart for sums of Lawler's
/// rule, "Optimal sequencing of a single machine subject to precedence constraints", 1973). Losses
/// are computed anew at the end of each of kStretches stretches only.
class ExpectedLoss final : public DeadlineScheduler {
 public:
  std::string_view name() const override { return "expected_loss"; }

 protected:
  std::unique_ptr<Order> order(std::span<const WaitingJob> jobs,
                               const Horizon& horizon) const override {
    return std::make_unique<FromTheEnd>(jobs, horizon);
  }

 private:
  class FromTheEnd final : public Order {
   public:
    FromTheEnd(std::span<const WaitingJob> jobs, const Horizon& horizon) : horizon_(horizon) {
      std::vector<Waiting> left;
      for (std::size_t i = 0; i < jobs.size(); ++i)
        left.push_back({0, expected_value(jobs[i], horizon.now), i});
      double end = horizon.backlog;
      for (int number = kStretches - 1; number >= 0; --number) {
        const double begin = horizon.backlog * number / kStretches;
        Stretch stretch{std::min(end, horizon.backlog * (number + 1) / kStretches), {}};
        for (Waiting& waiting : left)
          waiting.loss = loss(jobs[waiting.job], waiting.value_now, stretch.end);
        std::sort(left.begin(), left.end(), std::greater<>());
        while (!left.empty() && (number == 0 || end > begin)) {
          const Waiting& last = left.back();
          end -= work_of(jobs[last.job], horizon.capacity) / horizon.capacity;
          first_to_last_.push_back(last.job);
          stretch.losses.push_back(last.loss);
          left.pop_back();
        }
        stretches_.push_back(std::move(stretch));
      }
      std::reverse(first_to_last_.begin(), first_to_last_.end());
    }

    std::size_t ahead_of(const WaitingJob& newcomer) const override {
      const double value_now = expected_value(newcomer, horizon_.now);
      std::size_t behind = 0;
      for (const Stretch& stretch : stretches_) {
        const double lost = loss(newcomer, value_now, stretch.end);
        const auto place = std::lower_bound(stretch.losses.begin(), stretch.losses.end(), lost);
        behind += static_cast<std::size_t>(place - stretch.losses.begin());
        if (place != stretch.losses.end()) break;
      }
      return first_to_last_.size() - behind;
    }

   private:
    struct Waiting {
      double loss, value_now;
      std::size_t job;
      /// Ties: the first in the input is served first.
      bool operator>(const Waiting& other) const {
        return loss != other.loss ? loss > other.loss : job < other.job;
      }
    };
    /// Places given together; `end` in seconds from now.
    struct Stretch {
      double end = 0;
      std::vector<double> losses;  ///< of those placed there, from the last place on
    };

    /// Expected value lost, per unit and second of room, by the last place before `end` instead of
    /// now.
    double loss(const WaitingJob& job, double value_now, double end) const {
      const double work = work_of(job, horizon_.capacity);
      if (work <= 0) return -kNever;
      const double start = horizon_.now + std::max(0.0, end - work / horizon_.capacity);
      return (value_now - expected_value(job, start)) / work;
    }

    Horizon horizon_;
    std::vector<Stretch> stretches_;  ///< the last one first
  };
};

class EarliestDeadline final : public UrgencyFirst {
 public:
  std::string_view name() const override { return "edf"; }

 protected:
  double urgency(const WaitingJob& job) const override {
    return -(job.submitted + job.valuations->deadline(job.type));
  }
};

class FirstComeFirstServed final : public UrgencyFirst {
 public:
  std::string_view name() const override { return "fifo"; }

 protected:
  double urgency(const WaitingJob& job) const override { return -job.submitted; }
};

}  // namespace

DeadlineScheduler::Horizon DeadlineScheduler::horizon_of(const ClusterLoad& load,
                                                         std::span<const WaitingJob> jobs,
                                                         double more_work) {
  double work = more_work;
  for (const RunningJob& job : load.running)
    work += job.width * std::max(0.0, job.until - load.now);
  for (const WaitingJob& job : jobs) work += work_of(job, load.capacity);
  return {load.now, work / load.capacity, load.capacity};
}

std::vector<double> DeadlineScheduler::completions(const ClusterLoad& load,
                                                   std::span<const WaitingJob> jobs) const {
  std::vector<double> expected(jobs.size());
  Profile profile(load);
  const auto served = order(jobs, horizon_of(load, jobs, 0));
  for (const std::size_t job : served->first_to_last()) {
    expected[job] = expected_completion(profile, jobs[job]);
    place(&profile, jobs[job]);
  }
  return expected;
}

std::vector<double> DeadlineScheduler::what_if(const ClusterLoad& load,
                                               std::span<const WaitingJob> jobs,
                                               const WaitingJob& newcomer,
                                               std::span<const double> types) const {
  const auto others = order(jobs, horizon_of(load, jobs, work_of(newcomer, load.capacity)));
  const std::size_t width = newcomer.valuations->parameters();
  struct Wish {
    std::size_t ahead, number;
  };
  std::vector<Wish> wishes;
  WaitingJob asked = newcomer;
  for (std::size_t at = 0; at + width <= types.size(); at += width) {
    asked.type.assign(types.begin() + static_cast<std::ptrdiff_t>(at),
                      types.begin() + static_cast<std::ptrdiff_t>(at + width));
    wishes.push_back({others->ahead_of(asked), wishes.size()});
  }
  std::sort(wishes.begin(), wishes.end(),
            [](const Wish& a, const Wish& b) { return a.ahead < b.ahead; });
  std::vector<double> delays(wishes.size());
  Profile profile(load);
  std::size_t placed = 0;
  for (const Wish& wish : wishes) {
    while (placed < wish.ahead) place(&profile, jobs[others->first_to_last()[placed++]]);
    delays[wish.number] = expected_completion(profile, newcomer) - newcomer.submitted;
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
