// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/jobs.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <tuple>

namespace market {

JobBook::JobBook()
    : token_seed_((static_cast<std::uint64_t>(std::random_device{}()) << 32) |
                  std::random_device{}()) {}

std::vector<Job*> JobBook::in_order(Phase phase) {
  std::vector<Job*> jobs;
  for (auto& [id, job] : jobs_) {
    if (job.phase == phase) jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) {
    return a->agreed.terms.start != b->agreed.terms.start
               ? a->agreed.terms.start < b->agreed.terms.start
               : a->id < b->id;
  });
  return jobs;
}

Job* JobBook::find_job(std::string_view name) {
  std::uint32_t id = 0, task = 0;
  const char* end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, id);
  if (first.ec != std::errc()) return nullptr;
  if (first.ptr == end) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  const bool is_component = *first.ptr == '+';
  if (*first.ptr != '_' && !is_component) return nullptr;
  const auto second = std::from_chars(first.ptr + 1, end, task);
  if (second.ec != std::errc() || second.ptr != end) return nullptr;
  for (auto& [key, job] : jobs_) {
    if (is_component && job.component && job.component->of == id && job.component->index == task)
      return &job;
    if (!is_component && job.array_job_id == id && job.array_task_id == task) return &job;
  }
  if (is_component) return nullptr;
  const auto array = jobs_.find(id);  // of an array that is one bid
  return array != jobs_.end() && array->second.array ? &array->second : nullptr;
}

// The jobs of arrays that limit how many of their tasks run at a time.
void JobBook::find_throttled() {
  throttled_.clear();
  for (const auto& [id, job] : jobs_) {
    if (job.seen.throttle > 0 && job.phase != Phase::kEnded)
      throttled_[job.array_job_id].push_back(id);
  }
}

// The starts at which the job would be one task too many of its array.
StartSpans JobBook::closed_starts(const Job& job, Time slack) const {
  StartSpans closed;
  const auto array = throttled_.find(job.array_job_id);
  if (job.seen.throttle == 0 || array == throttled_.end()) return closed;
  Waves waves(job.seen.throttle, job.agreed.bid.request.duration + slack);
  for (const std::uint32_t id : array->second) {
    const auto sister = jobs_.find(id);
    if (id == job.id || sister == jobs_.end() || !sister->second.place.booked) continue;
    waves.add(sister->second.agreed.terms.start, busy_until(sister->second, slack), closed);
  }
  return closed;
}

// Of an array that limits how many of its tasks run, as many stand as may still start: the best
// bids. The others could not start beside them.
std::set<std::uint32_t> JobBook::crowded_tasks() const {
  std::set<std::uint32_t> crowded;
  for (const auto& [array, ids] : throttled_) {
    std::uint32_t running = 0, most = 0;
    std::vector<const Job*> ready;
    for (const std::uint32_t id : ids) {
      const auto found = jobs_.find(id);
      if (found == jobs_.end()) continue;
      const Job& task = found->second;
      most = task.seen.throttle;
      running += task.phase == Phase::kRunning;
      if (task.phase == Phase::kConfirmed && task.seen.ready) ready.push_back(&task);
    }
    std::sort(ready.begin(), ready.end(), [](const Job* a, const Job* b) {
      return std::tuple(b->agreed.terms.price, a->id) < std::tuple(a->agreed.terms.price, b->id);
    });
    const std::size_t room = most - std::min(most, running);
    for (std::size_t i = room; i < ready.size(); ++i) crowded.insert(ready[i]->id);
  }
  return crowded;
}

std::string reservation_name(const Job& job) {
  if (job.agreed.reserved) return MARKET_PLACE_PREFIX + std::to_string(job.id);
  return MARKET_RESV_PREFIX + std::to_string(job.id) + "_" + std::to_string(job.restart);
}

std::optional<ReservedFor> reserved_for(std::string_view name) {
  ReservedFor found;
  found.by_name = name.starts_with(MARKET_PLACE_PREFIX);
  const std::string_view prefix = found.by_name ? MARKET_PLACE_PREFIX : MARKET_RESV_PREFIX;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const char* end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, found.job);
  if (first.ec != std::errc() || first.ptr == name.data()) return std::nullopt;
  if (found.by_name) return first.ptr == end ? std::optional(found) : std::nullopt;
  if (first.ptr == end || *first.ptr != '_') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, found.restart);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return found;
}

}  // namespace market
