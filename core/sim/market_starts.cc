// SPDX-License-Identifier: GPL-2.0-or-later
// What the simulated Slurm starts: bound jobs inside their reservations, others by priority around them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/sim/market_slurm.h"

namespace market::sim {
namespace {

constexpr std::size_t kMostTried = 500;  // as bf_max_job_test

}  // namespace

// The log's, or what its work takes in the size that it has (eq. 3 of the paper of dva).
Time MarketSlurm::run_of(std::uint32_t id, const Live& job) const {
  if (!job.sizes) return sim_job(id).run;
  double seconds = 0;
  for (const auto& [name, part] : job.sizes->parts)
    seconds +=
        part.work / static_cast<double>(name == "cpu" ? job.need.cores : job.need.mem_node_mb);
  return std::min(static_cast<Time>(std::ceil(seconds - 1e-6)), limit_of(job));
}

void MarketSlurm::start(std::uint32_t id, Live& job, CoreSet cores) {
  job.cores = std::move(cores);
  busy_.add(job.cores);
  free_ -= job.need.cores;
  job.state = MARKET_JOB_RUNNING;
  job.start = now_;
  ends_.push({now_ + run_of(id, job) + input_.cleanup, id, job.restart});
  wakes_.insert(now_ + 1);
  moved_ = now_;
  records_[job.index].state = JobState::kRunning;
  records_[job.index].start = now_;
  records_[job.index].cores = job.need.cores;
  decide(Decision::Kind::kStart, job.index, "", &job.cores);
}

bool MarketSlurm::start_inside(std::uint32_t id, Live& job) {
  const auto found = reservations_.find(job.reservation);
  if (found == reservations_.end()) return false;
  const Reservation& inside = found->second;
  if (inside.start > now_ || inside.end < now_ + limit_of(job)) return false;
  CoreSet cores = busy_.choose(job.need, open_, &inside.cores);
  if (cores.empty()) return false;
  start(id, job, std::move(cores));
  return true;
}

bool MarketSlurm::may_use(const Live& job, std::uint32_t node) const {
  return job.required.empty() ||
         ("," + job.required + ",").find("," + input_.machine.nodes[node].name + ",") !=
             std::string::npos;
}

// Empty when there is none.
CoreSet MarketSlurm::place_for(const Live& job, const CoreMap& taken) const {
  std::vector<char> members(open_.size(), 0);
  for (const std::uint32_t node : input_.machine.partitions[job.need.partition].nodes)
    members[node] = may_use(job, node) ? open_[node] : 0;
  return taken.choose(job.need, members, nullptr);
}

bool MarketSlurm::start_outside(std::uint32_t id, Live& job) {
  const Time until = now_ + limit_of(job);
  CoreMap taken = busy_;
  for (const auto& [name, reservation] : reservations_) {
    if (reservation.start < until && reservation.end > now_) taken.add(reservation.cores);
  }
  CoreSet cores = place_for(job, taken);
  if (cores.empty()) return false;
  start(id, job, std::move(cores));
  return true;
}

// When the first job in the queue has its nodes, memory and GPUs too, by the limits of what runs.
Time MarketSlurm::room_shadow(const Live& head) const {
  std::multimap<Time, const Live*> ends;
  for (const auto& [id, job] : live_) {
    if (job.state == MARKET_JOB_RUNNING) ends.emplace(job.start + limit_of(job), &job);
  }
  CoreMap taken = busy_;
  for (const auto& [end, job] : ends) {
    taken.remove(job->cores);
    if (!place_for(head, taken).empty()) return end;
  }
  return now_;
}

// When the first job in the queue can start by the limits of what runs, and how many cores it will not
// need then: none where it is short of anything else, which those who overtake could take from it.
void MarketSlurm::find_shadow(const Live& head, Time& shadow, std::int64_t& spare) const {
  std::multimap<Time, std::int64_t> ends;
  for (const auto& [id, job] : live_) {
    if (job.state == MARKET_JOB_RUNNING)
      ends.emplace(job.start + limit_of(job), std::int64_t{job.need.cores});
  }
  const std::int64_t wanted = head.need.cores;
  std::int64_t free = free_;
  shadow = now_;
  for (const auto& [end, cores] : ends) {
    if (free >= wanted) break;
    free += cores;
    shadow = end;
  }
  spare = std::max<std::int64_t>(free - wanted, 0);
  if (head.need.is_plain()) return;
  const Time with_room = room_shadow(head);
  if (with_room > shadow) {
    shadow = with_room;
    spare = 0;
  }
}

void MarketSlurm::schedule() {
  struct Queued {
    std::uint32_t priority, id;
    Live* job;
  };
  std::vector<Queued> queue;
  for (auto& [id, job] : live_) {
    if (job.state != MARKET_JOB_PENDING || job.held || sim_job(id).eligible > now_) continue;
    if (!job.reservation.empty()) {
      start_inside(id, job);
    } else {
      queue.push_back({job.priority, id, &job});
    }
  }
  std::sort(queue.begin(), queue.end(), [](const Queued& a, const Queued& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
  });
  if (queue.size() > kMostTried) queue.resize(kMostTried);
  Time shadow = kNever;  // start of the first job that does not fit
  std::int64_t spare = 0;
  for (const Queued& entry : queue) {
    if (free_ == 0) return;
    const std::int64_t cores = entry.job->need.cores;
    const bool delays = shadow != kNever && now_ + limit_of(*entry.job) > shadow;
    if (delays && cores > spare) continue;
    if (cores <= free_ && start_outside(entry.id, *entry.job)) {
      if (delays) spare -= cores;
    } else if (nobody_overtakes_) {
      return;
    } else if (shadow == kNever) {
      find_shadow(*entry.job, shadow, spare);
    }
  }
}

}  // namespace market::sim
