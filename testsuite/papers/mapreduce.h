// SPDX-License-Identifier: GPL-2.0-or-later
// A MapReduce cluster at the level of slots, in virtual time: a job's reduce tasks start when all
// its map tasks have ended; who gets a free slot is a policy's choice.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "core/mechanism/abacus.h"
#include "core/mechanism/abacus_draw.h"
#include "core/mechanism/abacus_slo.h"

namespace market::papers {

enum Kind : std::size_t { kMap, kReduce };
using PerKind = std::array<double, 2>;
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

struct MapReduceJob {
  int user = 0;
  double arrival = 0;                                         ///< seconds
  double deadline = std::numeric_limits<double>::infinity();  ///< on the clock
  double budget = 200;
  PerKind weights = {1, 1};                  ///< reported linear utility
  std::array<std::vector<double>, 2> tasks;  ///< seconds of each task
};

/// A job on the cluster. Tasks of a kind start in order.
struct ActiveJob {
  const MapReduceJob* job = nullptr;
  std::size_t number = 0;
  std::array<std::size_t, 2> started = {0, 0}, ended = {0, 0};

  bool waits_for(Kind kind) const {
    return started[kind] < job->tasks[kind].size() &&
           (kind == kMap || ended[kMap] == job->tasks[kMap].size());
  }
  bool done() const { return ended[kReduce] == job->tasks[kReduce].size(); }
  /// Task-seconds not ended, each task counted with the mean of its kind, as far as a scheduler
  /// that knows the job's profile can tell.
  double work_left(Kind kind) const {
    const std::vector<double>& tasks = job->tasks[kind];
    double sum = 0;
    for (const double seconds : tasks) sum += seconds;
    return sum * static_cast<double>(tasks.size() - ended[kind]) /
           static_cast<double>(tasks.size());
  }
};

/// Who gets a free slot. Jobs are in order of arrival.
class SlotPolicy {
 public:
  virtual ~SlotPolicy() = default;
  /// A job came or went.
  virtual void changed(std::span<const ActiveJob> /*jobs*/, double /*now*/) {}
  /// Index of a job that waits for a slot of this kind, or kNobody.
  virtual std::size_t pick(Kind kind, std::span<const ActiveJob> jobs, double now) = 0;
};

class Fifo final : public SlotPolicy {
 public:
  std::size_t pick(Kind kind, std::span<const ActiveJob> jobs, double /*now*/) override {
    const auto first = std::find_if(jobs.begin(), jobs.end(),
                                    [&](const ActiveJob& job) { return job.waits_for(kind); });
    return first == jobs.end() ? kNobody : static_cast<std::size_t>(first - jobs.begin());
  }
};

/// Draws among the waiting jobs with these chances; kNobody when all are 0.
inline std::size_t draw_one(Kind kind, std::span<const ActiveJob> jobs,
                            std::span<const double> shares, std::mt19937_64& random) {
  std::vector<double> chances(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].waits_for(kind)) chances[i] = shares[2 * i + kind];
  }
  const auto drawn = abacus::draw_jobs(chances, 1, random);
  return drawn.empty() ? kNobody : drawn[0];
}

/// Abacus, sections 3 and 4: shares of all jobs that are there, a new auction whenever one comes or
/// goes, slots drawn by shares.
class AbacusPolicy final : public SlotPolicy {
 public:
  AbacusPolicy(double alpha, std::uint64_t seed) : random_(seed) { options_.alpha = alpha; }
  void changed(std::span<const ActiveJob> jobs, double now) override {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      PerKind& sum = share_seconds_[numbers_[i]];
      for (std::size_t kind = 0; kind < 2; ++kind)
        sum[kind] += shares_[2 * i + kind] * (now - since_);
    }
    since_ = now;
    numbers_.clear();
    abacus::Auction auction(2);
    for (const ActiveJob& active : jobs) {
      numbers_.push_back(active.number);
      auction.add(active.job->budget,
                  Utility::linear({active.job->weights[kMap], active.job->weights[kReduce]}));
    }
    shares_ = abacus::run(auction, options_).shares;
  }
  std::size_t pick(Kind kind, std::span<const ActiveJob> jobs, double /*now*/) override {
    return draw_one(kind, jobs, shares_, random_);
  }
  /// Shares of a job that has ended, times the seconds it had them.
  const PerKind& share_seconds(std::size_t number) const { return share_seconds_.at(number); }

 private:
  abacus::Options options_ = abacus::paper_options();
  std::mt19937_64 random_;
  std::vector<double> shares_;
  std::vector<std::size_t> numbers_;  ///< of the jobs that have them
  double since_ = 0;
  std::map<std::size_t, PerKind> share_seconds_;
};

/// Abacus, section 6: only jobs that meet their deadlines with the shares they get bid; slots that
/// none of them wants go to any other job. The utility of a job is minus its time to completion,
/// −A/(x S) − B/(y S'), with the work that is left and the cluster's slots.
class SloAbacusPolicy final : public SlotPolicy {
 public:
  SloAbacusPolicy(const PerKind& slots, std::uint64_t seed) : slots_(slots), random_(seed) {
    options_.tolerance = 1e-3;
    options_.stop = abacus::Stop::kShares;
  }
  void changed(std::span<const ActiveJob> jobs, double now) override {
    std::vector<abacus::SloJob> bids;
    for (const ActiveJob& active : jobs) bids.push_back(bid_of(active, now));
    const abacus::Pools pools = abacus::divide_pools(bids, 2, options_);
    shares_.assign(2 * jobs.size(), 0);
    for (std::size_t row = 0; row < pools.members.size(); ++row) {
      for (std::size_t kind = 0; kind < 2; ++kind) {
        shares_[2 * pools.members[row] + kind] = pools.outcome.shares[2 * row + kind];
      }
    }
    others_.assign(2 * jobs.size(), 0);
    for (const std::size_t job : pools.others) others_[2 * job] = others_[2 * job + 1] = 1;
  }
  std::size_t pick(Kind kind, std::span<const ActiveJob> jobs, double /*now*/) override {
    const std::size_t prolific = draw_one(kind, jobs, shares_, random_);
    return prolific != kNobody ? prolific : draw_one(kind, jobs, others_, random_);
  }

 private:
  abacus::SloJob bid_of(const ActiveJob& active, double now) const {
    std::vector<std::vector<ConcaveTerm>> terms(2);
    for (const Kind kind : {kMap, kReduce}) {
      const double seconds = active.work_left(kind) / slots_[kind];
      if (seconds <= 0) continue;
      terms[kind].push_back({[seconds](double share) { return -seconds / share; },
                             [seconds](double share) { return seconds / share; }});
    }
    return {active.job->budget, Utility::concave(std::move(terms)), now - active.job->deadline};
  }

  PerKind slots_;
  abacus::Options options_;
  std::mt19937_64 random_;
  std::vector<double> shares_, others_;
};

/// ARIA (Verma, Cherkasova and Campbell, 2011): earliest deadline first, each job with the fewest
/// slots that meet its deadline, A/S + B/S' = time left, S + S' least. Slots left over go to the
/// same order; jobs that all slots could not save come last.
class Aria final : public SlotPolicy {
 public:
  explicit Aria(const PerKind& slots) : slots_(slots) {}

  std::size_t pick(Kind kind, std::span<const ActiveJob> jobs, double now) override {
    std::size_t best = kNobody;
    std::array<double, 2> best_key{};
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!jobs[i].waits_for(kind)) continue;
      const double rank = rank_of(kind, jobs[i], now);
      const std::array<double, 2> key = {rank, jobs[i].job->deadline};
      if (best == kNobody || key < best_key) best = i, best_key = key;
    }
    return best;
  }

 private:
  /// 0 below its least slots, 1 at them, 2 when nothing can save it.
  double rank_of(Kind kind, const ActiveJob& active, double now) const {
    const double left = active.job->deadline - now;
    const double maps = active.work_left(kMap), reduces = active.work_left(kReduce);
    if (left <= 0 || maps / slots_[kMap] + reduces / slots_[kReduce] > left) return 2;
    const double root = std::sqrt(kind == kMap ? maps : reduces);
    const double least = root * (std::sqrt(maps) + std::sqrt(reduces)) / left;
    const auto running = static_cast<double>(active.started[kind] - active.ended[kind]);
    return running < std::ceil(least) ? 0 : 1;
  }

  PerKind slots_;
};

/// Runs `jobs`, in order of arrival, to their end and returns when each ended. Every task takes
/// `start_cost` seconds more.
inline std::vector<double> run_cluster(const std::vector<MapReduceJob>& jobs, const PerKind& slots,
                                       SlotPolicy& policy, double start_cost = 0) {
  struct TaskEnd {
    double time;
    std::size_t number;
    Kind kind;
    bool operator>(const TaskEnd& other) const { return time > other.time; }
  };
  std::priority_queue<TaskEnd, std::vector<TaskEnd>, std::greater<>> ends;
  std::vector<ActiveJob> active;
  std::vector<double> ended(jobs.size());
  PerKind free = slots;
  std::size_t arrived = 0;
  while (arrived < jobs.size() || !ends.empty()) {
    const bool arrival =
        arrived < jobs.size() && (ends.empty() || jobs[arrived].arrival <= ends.top().time);
    const double now = arrival ? jobs[arrived].arrival : ends.top().time;
    bool changed = arrival;
    if (arrival) {
      active.push_back({&jobs[arrived], arrived});
      ++arrived;
    } else {
      const TaskEnd end = ends.top();
      ends.pop();
      ++free[end.kind];
      const auto job = std::find_if(active.begin(), active.end(), [&](const ActiveJob& each) {
        return each.number == end.number;
      });
      ++job->ended[end.kind];
      if (job->done()) {
        ended[end.number] = now;
        active.erase(job);
        changed = true;
      }
    }
    if (changed) policy.changed(active, now);
    for (const Kind kind : {kMap, kReduce}) {
      std::size_t chosen = kNobody;
      while (free[kind] > 0 && (chosen = policy.pick(kind, active, now)) != kNobody) {
        ActiveJob& job = active[chosen];
        const double seconds = job.job->tasks[kind][job.started[kind]++] + start_cost;
        ends.push({now + seconds, job.number, kind});
        --free[kind];
      }
    }
  }
  return ended;
}

}  // namespace market::papers
