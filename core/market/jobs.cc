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

const Job* JobBook::peek(std::uint32_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

Job* JobBook::find(std::uint32_t id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return nullptr;
  if (!awake_.contains(id)) wake_up(id);
  return &found->second;
}

Job& JobBook::make(std::uint32_t id) {
  if (Job* before = find(id)) return *before = Job{};
  Job& job = jobs_[id];
  awake_.emplace(id, &job);
  return job;
}

void JobBook::erase(std::uint32_t id) {
  if (find(id) == nullptr) return;
  awake_.erase(id);
  jobs_.erase(id);
}

void JobBook::rest(Job& job, const market_job_t& seen, Time until) {
  if (awake_.erase(job.id) == 0) return;
  const Resting one{
      job.id, seen.site_factor,       &job,   seen.mark,          seen.glance,
      until,  job.agreed.terms.start, looks_, job.place.reserved, job.phase == Phase::kRunning};
  if (one.is_reserved) reserved_.push_back(job.id);
  const auto place = find_resting(job.id);
  if (place != resting_.end() && place->id != job.id) return lying_down_.push_back(one);
  ++at_rest_;
  if (place == resting_.end()) return resting_.push_back(one);
  *place = one;
}

std::vector<JobBook::Resting>::iterator JobBook::find_resting(std::uint32_t id) {
  return std::lower_bound(resting_.begin(), resting_.end(), id,
                          [](const Resting& one, std::uint32_t number) { return one.id < number; });
}

// Most lie down again soon, or have a higher number than all others.
void JobBook::settle_down() {
  const auto is_gone = [](const Resting& one) { return one.job == nullptr; };
  if (at_rest_ < resting_.size() / 2) std::erase_if(resting_, is_gone);
  std::erase_if(lying_down_, is_gone);
  if (lying_down_.empty()) return;
  std::erase_if(resting_, is_gone);
  const auto is_before = [](const Resting& a, const Resting& b) { return a.id < b.id; };
  std::sort(lying_down_.begin(), lying_down_.end(), is_before);
  const auto middle = static_cast<std::ptrdiff_t>(resting_.size());
  resting_.insert(resting_.end(), lying_down_.begin(), lying_down_.end());
  std::inplace_merge(resting_.begin(), resting_.begin() + middle, resting_.end(), is_before);
  at_rest_ = resting_.size();
  lying_down_.clear();
}

void JobBook::wake(Resting& resting) {
  Job& job = *resting.job;
  if (resting.runs) job.run.edit().ran += std::max<Time>(0, looked_at_ - job.seen.at);
  job.seen.at = std::max(job.seen.at, looked_at_);
  awake_.emplace(resting.id, &job);
  woken_.push_back({resting.id, resting.site_factor, resting.runs});
  resting.job = nullptr;
}

void JobBook::wake_up(std::uint32_t id) {
  const auto lies = std::find_if(lying_down_.begin(), lying_down_.end(), [id](const Resting& one) {
    return one.id == id && one.job != nullptr;
  });
  if (lies != lying_down_.end()) return wake(*lies);
  const auto rests = find_resting(id);
  if (rests == resting_.end() || rests->id != id || rests->job == nullptr) return;
  wake(*rests);
  --at_rest_;
}

void JobBook::wake_resting_if(const std::function<bool(const Resting&)>& is_due) {
  for (Resting& one : resting_) {
    if (one.job == nullptr || !is_due(one)) continue;
    wake(one);
    --at_rest_;
  }
}

void JobBook::wake_without_reservation(const std::unordered_set<std::uint32_t>& present) {
  std::erase_if(reserved_, [&](std::uint32_t id) {
    const auto rests = find_resting(id);
    const bool is_here = rests != resting_.end() && rests->id == id && rests->job != nullptr;
    if (is_here && rests->is_reserved && present.contains(id)) return false;
    if (is_here && rests->is_reserved) wake_up(id);
    return true;
  });
}

void JobBook::begin_pass() {
  if (!std::exchange(has_looked_, false)) wake_all();
  woken_.clear();
}

void JobBook::wake_all() {
  wake_resting_if([](const Resting&) { return true; });
  for (Resting& one : lying_down_)
    if (one.job != nullptr) wake(one);
  resting_.clear();
  lying_down_.clear();
  reserved_.clear();
}

void JobBook::wake_array(std::uint32_t array_job_id) {
  const auto is_of_it = [array_job_id](const Resting& one) {
    return one.job != nullptr && one.job->array_job_id == array_job_id;
  };
  wake_resting_if(is_of_it);
  for (Resting& one : lying_down_)
    if (is_of_it(one)) wake(one);
}

void JobBook::look(market_mark_t* marks, std::size_t count, Time now, bool runs_too) {
  settle_down();
  ++looks_;
  std::size_t at_rest = at_rest_;
  auto next = resting_.begin();
  for (std::size_t i = 0; i < count; ++i) {
    market_mark_t& mark = marks[i];
    // Slurm tells them by number, most of the time.
    while (next != resting_.end() && next->id < mark.job_id && next->job == nullptr) ++next;
    if (next == resting_.end() || next->id != mark.job_id) next = find_resting(mark.job_id);
    const bool is_known = next != resting_.end() && next->id == mark.job_id && next->job != nullptr;
    mark.is_wanted = !is_known || next->glance != mark.glance ||
                     (mark.mark != 0 && next->mark != mark.mark) || next->until <= now ||
                     (next->runs && runs_too);
    if (!is_known) continue;
    --at_rest;
    next->look = looks_;
    if (mark.is_wanted) {
      wake(*next);
      --at_rest_;
    }
    ++next;
  }
  // Missing: gone, or about to be.
  if (at_rest > 0) wake_resting_if([this](const Resting& one) { return one.look != looks_; });
  looked_at_ = now;
  has_looked_ = true;
}

template <class Take>
void JobBook::each_confirmed(Take take) const {
  for (const std::vector<Resting>* of : {&resting_, &lying_down_})
    for (const Resting& one : *of)
      if (one.job != nullptr && !one.runs) take(std::pair(one.start, one.id), one.job);
  for (const auto& [id, job] : awake_)
    if (job->phase == Phase::kConfirmed) take(std::pair(job->agreed.terms.start, id), job);
}

std::vector<const Job*> JobBook::confirmed_after(std::pair<Time, std::uint32_t> after,
                                                 std::size_t most) const {
  std::vector<std::pair<std::pair<Time, std::uint32_t>, const Job*>> behind;
  each_confirmed([&](std::pair<Time, std::uint32_t> at, const Job* job) {
    if (at > after) behind.emplace_back(at, job);
  });
  const auto middle = behind.begin() + static_cast<std::ptrdiff_t>(std::min(most, behind.size()));
  std::partial_sort(behind.begin(), middle, behind.end());
  std::vector<const Job*> first;
  for (auto one = behind.begin(); one != middle; ++one) first.push_back(one->second);
  return first;
}

std::vector<std::pair<Time, std::uint32_t>> JobBook::next_starts(std::size_t most) const {
  std::vector<std::pair<Time, std::uint32_t>> starts;
  for (const std::vector<Resting>* of : {&resting_, &lying_down_})
    for (const Resting& one : *of)
      if (one.job != nullptr && !one.runs) starts.emplace_back(one.start, one.id);
  for (const auto& [id, job] : awake_) {
    const bool is_placed = job->phase == Phase::kConfirmed && job->place.booked &&
                           !job->agreed.terms.auctioned() && !job->agreed.reserved;
    if (is_placed) starts.emplace_back(job->agreed.terms.start, id);
  }
  const auto last = starts.begin() + static_cast<std::ptrdiff_t>(std::min(most, starts.size()));
  std::partial_sort(starts.begin(), last, starts.end());
  starts.erase(last, starts.end());
  return starts;
}

std::vector<const Job*> JobBook::confirmed_before(Time start) const {
  std::vector<const Job*> before;
  each_confirmed([&](std::pair<Time, std::uint32_t> at, const Job* job) {
    if (at.first < start) before.push_back(job);
  });
  return before;
}

std::vector<Job*> JobBook::in_order(Phase phase) {
  std::vector<Job*> jobs;
  for (const auto& [id, job] : awake_) {
    if (job->phase == phase) jobs.push_back(job);
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
  if (first.ptr == end) return find(id);
  const bool is_component = *first.ptr == '+';
  if (*first.ptr != '_' && !is_component) return nullptr;
  const auto second = std::from_chars(first.ptr + 1, end, task);
  if (second.ec != std::errc() || second.ptr != end) return nullptr;
  for (const auto& [key, job] : jobs_) {
    if (is_component && job.component && job.component->of == id && job.component->index == task)
      return find(key);
    if (!is_component && job.array_job_id == id && job.array_task_id == task) return find(key);
  }
  if (is_component) return nullptr;
  const Job* array = peek(id);  // of an array that is one bid
  return array != nullptr && array->array ? find(id) : nullptr;
}

// The jobs of arrays that limit how many of their tasks run at a time.
void JobBook::find_throttled() {
  throttled_.clear();
  for (const auto& [id, job] : awake_) {  // such a job never rests
    if (job->seen.throttle > 0 && job->phase != Phase::kEnded)
      throttled_[job->array_job_id].push_back(id);
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

namespace {
// Behind the prefix: of an array's record, which its last task shares its number with.
constexpr char kBlockMark = 'a';
}  // namespace

std::string reservation_name(const Job& job) {
  if (job.agreed.reserved) return MARKET_PLACE_PREFIX + std::to_string(job.id);
  if (block_of(job) != nullptr)
    return std::string(MARKET_RESV_PREFIX) + kBlockMark + std::to_string(job.id) + "_0";
  return MARKET_RESV_PREFIX + std::to_string(job.id) + "_" + std::to_string(job.restart);
}

std::optional<ReservedFor> reserved_for(std::string_view name) {
  ReservedFor found;
  found.by_name = name.starts_with(MARKET_PLACE_PREFIX);
  const std::string_view prefix = found.by_name ? MARKET_PLACE_PREFIX : MARKET_RESV_PREFIX;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const bool is_block = !found.by_name && name.starts_with(kBlockMark);
  if (is_block) name.remove_prefix(1);
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
