// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/virtual_slurm.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace market::sim {
namespace {

constexpr std::size_t kStepsPerReport = 4096;

}  // namespace

VirtualSlurm::VirtualSlurm(const Machine& machine, const std::vector<SimJob>& jobs,
                           const PolicyMaker& maker)
    : machine_(machine),
      jobs_(jobs),
      rooms_(machine),
      arrivals_(jobs.size()),
      records_(jobs.size()) {
  find_pools();
  std::iota(arrivals_.begin(), arrivals_.end(), JobIndex{0});
  std::stable_sort(arrivals_.begin(), arrivals_.end(),
                   [&](JobIndex a, JobIndex b) { return jobs[a].eligible < jobs[b].eligible; });
  by_limit_.resize(partitions_in_.size());
  touched_.resize(partitions_in_.size());
  for (std::uint32_t pool = 0; pool < partitions_in_.size(); ++pool)
    policies_.push_back(maker(*this, pool));
}

// Partitions that share a node are of one pool, and so are those that share one with these.
void VirtualSlurm::find_pools() {
  const std::size_t count = machine_.partitions.size();
  pools_.resize(count);
  std::iota(pools_.begin(), pools_.end(), 0u);
  std::vector<std::uint32_t> first(machine_.nodes.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t node : machine_.partitions[i].nodes) {
      if (first[node] == UINT32_MAX) {
        first[node] = i;
      } else if (pools_[first[node]] != pools_[i]) {
        std::replace(pools_.begin(), pools_.end(), std::max(pools_[first[node]], pools_[i]),
                     std::min(pools_[first[node]], pools_[i]));
      }
    }
  }
  std::vector<std::uint32_t> numbers(count, UINT32_MAX);  // pools are numbered without gaps
  for (std::uint32_t& pool : pools_) {
    if (numbers[pool] == UINT32_MAX) {
      numbers[pool] = static_cast<std::uint32_t>(partitions_in_.size());
      partitions_in_.push_back(0);
    }
    pool = numbers[pool];
    ++partitions_in_[pool];
  }
}

Time VirtualSlurm::next_event(const RunOptions& options) const {
  Time next = kNever;
  if (next_arrival_ < arrivals_.size()) next = jobs_[arrivals_[next_arrival_]].eligible;
  if (!ends_.empty()) next = std::min(next, ends_.top().time);
  if (next_node_event_ < options.node_events.size())
    next = std::min(next, options.node_events[next_node_event_].time);
  for (const auto& policy : policies_) {
    const Time wake = policy->next_wake();
    if (wake != 0) next = std::min(next, std::max(wake, now_));
  }
  return next;
}

bool VirtualSlurm::run(const RunOptions& options) {
  on_start_ = options.started;
  for (std::size_t round = 0;; ++round) {
    const Time next = next_event(options);
    if (next == kNever || (options.until != 0 && next > options.until)) break;
    now_ = next;
    end_runs();
    change_nodes(options.node_events);
    submit_jobs();
    for (std::size_t pool = 0; pool < policies_.size(); ++pool) {
      const Time wake = policies_[pool]->next_wake();
      if (touched_[pool] == 0 && (wake == 0 || wake > now_)) continue;
      touched_[pool] = 0;
      policies_[pool]->schedule(*this);
    }
    if (options.progress && round % kStepsPerReport == 0 && !options.progress(ended_, now_))
      return false;
  }
  return !options.progress || options.progress(ended_, now_);
}

void VirtualSlurm::end_runs() {
  while (!ends_.empty() && ends_.top().time <= now_) {
    const End end = ends_.top();
    ends_.pop();
    if (generations_[end.slot] != end.generation) continue;  // it was killed
    const JobIndex index = slots_[end.slot].job;
    records_[index].state = JobState::kCompleted;
    records_[index].end = now_;
    ++ended_;
    release(end.slot);
  }
}

void VirtualSlurm::release(std::uint32_t slot) {
  Running& run = slots_[slot];
  const SimJob& job = jobs_[run.job];
  rooms_.give(job.need, run.seats);
  const std::uint32_t pool = pools_[job.need.partition];
  auto& by_limit = by_limit_[pool];
  auto found = std::lower_bound(by_limit.begin(), by_limit.end(), run.limit_end,
                                [](const LimitEnd& entry, Time time) { return entry.time < time; });
  while (found->slot != slot) ++found;
  by_limit.erase(found);
  ++generations_[slot];
  free_slots_.push_back(slot);
  touched_[pool] = 1;
  policies_[pool]->ended(*this, run.job, run.limit_end);
}

void VirtualSlurm::change_nodes(const std::vector<NodeEvent>& events) {
  bool changed = false;
  while (next_node_event_ < events.size() && events[next_node_event_].time <= now_) {
    const NodeEvent& event = events[next_node_event_++];
    rooms_.open(event.node, event.kind == NodeEvent::Kind::kResume);
    if (event.kind == NodeEvent::Kind::kFail) kill_runs_on(event.node);
    changed = true;
  }
  if (!changed) return;
  for (std::size_t pool = 0; pool < policies_.size(); ++pool) {
    touched_[pool] = 1;
    policies_[pool]->nodes_changed(*this);
  }
}

void VirtualSlurm::kill_runs_on(std::uint32_t node) {
  std::vector<std::uint32_t> killed;
  for (const auto& by_limit : by_limit_) {
    for (const LimitEnd& entry : by_limit) {
      const Seats& seats = slots_[entry.slot].seats;
      if (std::any_of(seats.begin(), seats.end(),
                      [node](const Seat& seat) { return seat.node == node; }))
        killed.push_back(entry.slot);
    }
  }
  for (const std::uint32_t slot : killed) {
    const JobIndex index = slots_[slot].job;
    release(slot);
    ++records_[index].restarts;
    arrive(index);
  }
}

void VirtualSlurm::submit_jobs() {
  while (next_arrival_ < arrivals_.size() && jobs_[arrivals_[next_arrival_]].eligible <= now_)
    arrive(arrivals_[next_arrival_++]);
}

void VirtualSlurm::arrive(JobIndex index) {
  records_[index].state = JobState::kWaiting;
  const std::uint32_t pool = pools_[jobs_[index].need.partition];
  touched_[pool] = 1;
  policies_[pool]->arrived(*this, index);
}

bool VirtualSlurm::start(JobIndex index) {
  if (!rooms_.find(jobs_[index].need, found_)) return false;
  start_on(index, found_);
  return true;
}

void VirtualSlurm::start_on(JobIndex index, const Seats& seats) {
  const SimJob& job = jobs_[index];
  rooms_.take(job.need, seats);
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
    generations_.push_back(0);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Running& run = slots_[slot];
  run.job = index;
  run.end = now_ + job.run;
  run.limit_end = now_ + job.limit;
  run.seats = seats;
  records_[index].state = JobState::kRunning;
  records_[index].start = now_;
  ends_.push({run.end, slot, generations_[slot]});
  auto& by_limit = by_limit_[pools_[job.need.partition]];
  const auto after =
      std::upper_bound(by_limit.begin(), by_limit.end(), run.limit_end,
                       [](Time time, const LimitEnd& entry) { return time < entry.time; });
  by_limit.insert(after, {run.limit_end, slot});
  policies_[pools_[job.need.partition]]->started(*this, index);
  if (on_start_) on_start_(index, seats);
}

}  // namespace market::sim
