// SPDX-License-Identifier: GPL-2.0-or-later
// The setting of the evaluation of "BIC pricing by replica-surrogate matching" (section IV): the
// types of jobs, the jobs, and a cluster that a deadline scheduler runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/mechanism/contracts.h"
#include "core/plan/deadline_scheduler.h"

namespace market::papers {

/// v(t) = 100/(1 + e^(a(t − b))) with two numbers in a type: µ, from where the value falls (99 % is
/// left), and δ, how long it takes to fall to 1 %.
class TwoNumberSigmoid final : public JobClass {
 public:
  std::string_view name() const override { return "two_number_sigmoid"; }
  std::size_t parameters() const override { return 2; }
  bool valid(std::span<const double> type) const override { return type[0] >= 0 && type[1] > 0; }
  double value(std::span<const double> type, double delay) const override {
    return sigmoid_value(100, type[0], type[0] + type[1], delay);
  }
  double deadline(std::span<const double> type) const override { return type[0] + type[1] / 2; }
};

inline const TwoNumberSigmoid& two_number_sigmoid() {
  static const TwoNumberSigmoid the_class;
  return the_class;
}

/// (µ, δ) ~ N((2000, 1000), diag(1000², 500²)) times `scale`, drawn again until it is a type.
inline std::vector<double> draw_type(SeededRandom* random, double scale = 1) {
  std::vector<double> type(2);
  do {
    type = {scale * (2000 + 1000 * random->normal()), scale * (1000 + 500 * random->normal())};
  } while (!two_number_sigmoid().valid(type));
  return type;
}

inline KernelDensity learn_types(int samples, SeededRandom* random, double scale = 1) {
  std::vector<double> types;
  for (int i = 0; i < samples; ++i) {
    const auto type = draw_type(random, scale);
    types.insert(types.end(), type.begin(), type.end());
  }
  return KernelDensity(std::move(types), 2);
}

constexpr double kUnits = 32;

/// 2 to 16 of the cluster's 32 units for 100 to 700 s, known to a fifth.
inline WaitingJob draw_job(SeededRandom* random, double submitted) {
  WaitingJob job;
  job.width = static_cast<double>(2 + random->below(15));
  job.run_mean = random->uniform(100, 700);
  job.run_deviation = 0.2 * job.run_mean;
  job.submitted = submitted;
  job.valuations = &two_number_sigmoid();
  job.type = draw_type(random);
  return job;
}

/// A moment in the life of a cluster: many jobs wait, one comes.
struct Moment {
  Moment(int waiting, SeededRandom* random) {
    load.capacity = kUnits;
    for (int i = 0; i < waiting; ++i) jobs.push_back(draw_job(random, -random->uniform(0, 1000)));
    newcomer = draw_job(random, 0);
  }
  /// Expected completions of the newcomer by declared type.
  Completions under(const DeadlineScheduler& scheduler) const {
    return [this, &scheduler](std::span<const double> types) {
      return scheduler.what_if(load, jobs, newcomer, types);
    };
  }
  ClusterLoad load;
  std::vector<WaitingJob> jobs;
  WaitingJob newcomer;
};

/// A cluster in virtual time whose jobs start in the order and room that a deadline scheduler gives
/// them.
class Cluster {
 public:
  Cluster(const DeadlineScheduler& scheduler, SeededRandom* random)
      : scheduler_(scheduler), random_(random) {}

  double now() const { return now_; }
  std::vector<WaitingJob> waiting() const {
    std::vector<WaitingJob> jobs;
    for (const Queued& queued : waiting_) jobs.push_back(queued.job);
    return jobs;
  }

  ClusterLoad load() const {
    ClusterLoad load;
    load.capacity = kUnits;
    load.now = now_;
    for (const Running& job : running_) {
      load.running.push_back({job.width, std::max(job.expected_end, now_ + 1)});
    }
    return load;
  }

  /// `number`: by which ended() knows the job. Its run time is drawn about the mean.
  void submit(const WaitingJob& job, std::size_t number) {
    enqueue(job, number);
    start_what_is_due();
  }
  /// All at once, numbered from 0.
  void submit_all(const std::vector<WaitingJob>& jobs) {
    for (std::size_t number = 0; number < jobs.size(); ++number) enqueue(jobs[number], number);
    start_what_is_due();
  }

  /// Lets time pass; ends and starts jobs on the way.
  void advance(double until) {
    while (true) {
      const auto next =
          std::min_element(running_.begin(), running_.end(),
                           [](const Running& a, const Running& b) { return a.end < b.end; });
      if (next == running_.end() || next->end > until) break;
      now_ = next->end;
      ended_[next->number] = now_;
      running_.erase(next);
      start_what_is_due();
    }
    if (until < std::numeric_limits<double>::infinity()) now_ = until;
  }

  /// When each job started and ended, by number.
  const std::map<std::size_t, double>& started() const { return started_; }
  const std::map<std::size_t, double>& ended() const { return ended_; }

 private:
  struct Queued {
    WaitingJob job;
    std::size_t number;
    double run;
  };
  struct Running {
    double width, end, expected_end;
    std::size_t number;
  };

  void enqueue(const WaitingJob& job, std::size_t number) {
    const double run = std::max(1.0, job.run_mean + job.run_deviation * random_->normal());
    waiting_.push_back({job, number, run});
  }

  void start_what_is_due() {
    const std::vector<double> completions = scheduler_.completions(load(), waiting());
    std::vector<Queued> still;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const WaitingJob& job = waiting_[i].job;
      if (completions[i] - job.run_mean > now_ + 1e-6) {
        still.push_back(std::move(waiting_[i]));
        continue;
      }
      started_[waiting_[i].number] = now_;
      running_.push_back({job.width, now_ + waiting_[i].run,
                          now_ + job.run_mean + 1.28 * job.run_deviation, waiting_[i].number});
    }
    waiting_ = std::move(still);
  }

  const DeadlineScheduler& scheduler_;
  SeededRandom* random_;
  double now_ = 0;
  std::vector<Queued> waiting_;
  std::vector<Running> running_;
  std::map<std::size_t, double> started_, ended_;
};

}  // namespace market::papers
