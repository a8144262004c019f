// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm's own scheduler does in the tests' cluster: who starts, and on which cores.
#include <algorithm>

#include "fake_cluster.h"

namespace market::testing {

World::CoreMap World::running_cores() const {
  CoreMap taken(node_up.size(), std::vector<char>(cores_, 0));
  for (const auto& [id, job] : jobs) {
    if (job.state != MARKET_JOB_RUNNING) continue;
    for (const auto& [node, cores] : job.cores) {
      for (const std::uint32_t core : cores) taken[node][core] = 1;
    }
  }
  return taken;
}

void World::add_reserved(const FakeJob& job, Time until, CoreMap& taken) const {
  for (const auto& [name, reservation] : reservations) {
    if (name == job.resv || reservation.start >= until || reservation.end <= now) continue;
    for (const auto& [node, cores] : reservation.cores) {
      for (const std::uint32_t core : cores) taken[node][core] = 1;
    }
  }
}

std::uint32_t World::tasks_running(const FakeJob& job) const {
  if (job.array_job == 0) return 0;
  return static_cast<std::uint32_t>(std::count_if(jobs.begin(), jobs.end(), [&](const auto& entry) {
    return entry.second.array_job == job.array_job && entry.second.state == MARKET_JOB_RUNNING;
  }));
}

void World::set_array_limit(std::uint32_t array, std::uint32_t limit) {
  for (auto& [id, task] : jobs) {
    if (task.array_job == array) task.throttle = limit;
  }
}

bool World::array_is_full(const FakeJob& job) const {
  return job.throttle != 0 && tasks_running(job) >= job.throttle;
}

bool World::is_limited(const FakeJob& job) const {
  return job.most_tasks != 0 && tasks_running(job) >= job.most_tasks;
}

FakeJob& World::split_off(FakeJob& array) {
  if (array.tasks_pending == 1) {
    array.tasks_pending = 0;
    return array;
  }
  FakeJob task = array;
  task.id = next_id_++;
  task.tasks_pending = 0;
  --array.tasks_pending;
  ++array.task;
  return jobs[task.id] = task;
}

void World::cancel_task(std::uint32_t array) {
  end(split_off(job(array)), MARKET_JOB_CANCELLED);
}

// As Slurm does: all tasks of a record in a row, while its limit lets them.
bool World::start_tasks(FakeJob& array) {
  while (array.tasks_pending > 0) {
    FakeJob probe = array;
    if (is_limited(array) || !try_start(probe)) return false;
    FakeJob& task = split_off(array);
    task.cores = probe.cores;
    task.state = MARKET_JOB_RUNNING;
    task.start = now;
  }
  return true;
}

// All components or none, each on nodes of its own.
bool World::start_components(std::uint32_t het_job) {
  const CoreMap before = busy_;
  std::vector<FakeJob> started;
  bool all = true;
  for (auto& [id, job] : jobs) {
    if (job.het_job != het_job || job.state > MARKET_JOB_RUNNING) continue;
    FakeJob probe = job;
    all = job.state == MARKET_JOB_PENDING && !job.held && !job.dependent && job.begin <= now &&
          try_start(probe);
    if (!all) break;
    for (const auto& [node, cores] : probe.cores) busy_[node].assign(cores_, 1);
    started.push_back(std::move(probe));
  }
  busy_ = before;
  if (!all) return false;
  for (FakeJob& job : started) {
    for (const auto& [node, cores] : job.cores) {
      for (const std::uint32_t core : cores) busy_[node][core] = 1;
    }
    jobs[job.id] = std::move(job);
  }
  return true;
}

bool World::try_start(FakeJob& job) {
  if (job.never_starts || array_is_full(job)) return false;
  const std::uint32_t wanted = std::max(job.cpus, job.counted);
  const Time until = now + job.limit_min * Time{60};
  std::map<std::uint32_t, std::set<std::uint32_t>> chosen;
  std::uint32_t count = 0;
  const FakeReservation* inside = nullptr;
  if (!job.resv.empty()) {
    const auto found = reservations.find(job.resv);
    if (found == reservations.end() || found->second.start > now || found->second.end <= now)
      return false;  // Slurm starts a job in a reservation that is over before the job's limit
    inside = &found->second;
  }
  CoreMap taken = busy_;
  add_reserved(job, until, taken);
  const std::vector<std::uint32_t>& members = partitions.at(job.partition);
  for (std::uint32_t node = 0; node < node_up.size() && count < wanted; ++node) {
    if (!node_up[node] || std::find(members.begin(), members.end(), node) == members.end())
      continue;
    if (!job.required.empty() &&
        ("," + job.required + ",").find("," + node_names[node] + ",") == std::string::npos)
      continue;
    for (std::uint32_t core = 0; core < cores_ && count < wanted; ++core) {
      const bool allowed = inside == nullptr ||
                           (inside->cores.contains(node) && inside->cores.at(node).contains(core));
      if (!allowed || taken[node][core] != 0) continue;
      chosen[node].insert(core);
      ++count;
    }
  }
  if (count < wanted) return false;
  if (job.exclusive) {
    for (auto& [node, cores] : chosen) {
      for (std::uint32_t core = 0; core < cores_; ++core) cores.insert(core);
    }
  }
  job.cores = chosen;
  for (const auto& [node, cores] : chosen) {
    for (const std::uint32_t core : cores) busy_[node][core] = 1;
  }
  job.state = MARKET_JOB_RUNNING;
  job.start = now;
  if (job.cpu_seconds > 0) job.runtime = static_cast<Time>(job.cpu_seconds / job.cpus);
  return true;
}

void World::schedule() {
  if (scheduler == Scheduler::kNone) return;
  std::vector<FakeJob*> queue;
  for (auto& [id, job] : jobs) {
    const bool is_one_bid = job.note.find("\"array_tasks\"") != std::string::npos;
    if (job.state == MARKET_JOB_PENDING && !job.held && !job.dependent && job.begin <= now &&
        (job.tasks_pending == 0 || is_one_bid)) {
      queue.push_back(&job);
    }
  }
  std::stable_sort(queue.begin(), queue.end(), [](const FakeJob* a, const FakeJob* b) {
    return a->site_factor > b->site_factor;
  });
  busy_ = running_cores();
  Time shadow = 0;  // start of the first job that does not fit; 0: all have fitted so far
  std::uint32_t spare = 0;
  for (FakeJob* job : queue) {
    if (job->het_job != 0) {
      if (job->id == job->het_job) start_components(job->het_job);
      continue;
    }
    const Time until = now + job->limit_min * Time{60};
    if (shadow != 0 && until > shadow && job->cpus > spare) continue;
    if (job->tasks_pending > 0 ? start_tasks(*job) : try_start(*job)) {
      if (shadow != 0 && until > shadow) spare -= job->cpus;
      continue;
    }
    if (scheduler == Scheduler::kStrict) break;
    if (scheduler == Scheduler::kBackfill && shadow == 0) find_shadow(*job, shadow, spare);
  }
}

// When the first job in the queue can start by the limits of what runs, and how many cores it will
// not need then.
void World::find_shadow(const FakeJob& head, Time& shadow, std::uint32_t& spare) const {
  std::multimap<Time, std::uint32_t> ends;
  std::uint32_t free = static_cast<std::uint32_t>(node_up.size()) * cores_;
  for (const auto& [id, job] : jobs) {
    if (job.state != MARKET_JOB_RUNNING) continue;
    free -= job.cpus;
    ends.emplace(job.start + job.limit_min * Time{60}, job.cpus);
  }
  shadow = now;
  for (const auto& [end, cpus] : ends) {
    if (free >= head.cpus) break;
    free += cpus;
    shadow = end;
  }
  spare = free >= head.cpus ? free - head.cpus : 0;
}

}  // namespace market::testing
