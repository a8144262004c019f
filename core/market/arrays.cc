// SPDX-License-Identifier: GPL-2.0-or-later
// The tasks of one bid: placed together, at most so many at a time as its array allows.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/market.h"
#include "core/market/text.h"

namespace market {

// Tasks are placed one after the other and booked at once, so each sees what its sisters took.
Market::Group Market::place_tasks(const Draft& draft, const std::string& token, Wish wish,
                                  Time now) {
  const Bid& bid = draft.bid;
  const Request& request = bid.request;
  Exchange& exchange = exchange_of(request);
  const Money available = accounts_.available(bid.account);
  const bool per_task = draft.array && exchange.settings.arrays == ArrayFunding::kPerTask;
  const Time busy = request.duration + exchange.settings.start_slack;
  StartSpans full;
  wish.full = &full;
  Waves waves(draft.throttle, busy);
  Group group;
  Choice last;
  for (std::uint32_t task = 0; task < draft.tasks; ++task) {
    Found found;
    if (exchange.auction != nullptr) {
      found = entry(bid, now);
    } else if (task > 0 && !full.contains(last.start)) {
      found.choice = once_more(request, last, now);
    }
    if (!found.choice) found = find(request, wish, now);
    if (exchange.auction == nullptr && (!found.choice || !affordable(bid, now, *found.choice))) {
      group.missing = std::move(found);
      return group;
    }
    last.start = found.choice->start;
    last.price = found.choice->price;
    group.dearest = std::max(group.dearest, last.price);
    group.total += last.price;
    const bool funded = group.total <= available;
    if (!funded && per_task) group.total -= last.price;
    Terms terms{last.price, last.start, last.start + busy, std::string(exchange.rule()),
                found.choice->free_after};
    if (exchange.auction != nullptr) terms.promised_end = 0;
    if (funded && exchange.auction == nullptr) {
      cluster_.bookings().book(booking_key(token, task), found.choice->placement, terms.start,
                               terms.promised_end);
      exchange.prices.promise(request, terms.start);
      waves.add(terms.start, terms.promised_end, full);
    }
    group.tasks.push_back({std::move(terms), std::move(found.choice->placement), funded, false});
  }
  return group;
}

void Market::take_back(Group& group, const Request& request, const std::string& token) {
  for (std::size_t task = 0; task < group.tasks.size(); ++task) {
    Provisional::Task& placed = group.tasks[task];
    if (!placed.funded) continue;
    placed.funded = false;
    if (placed.terms.auctioned()) continue;
    cluster_.bookings().cancel(booking_key(token, task));
    exchange_of(request).prices.release(request, placed.terms.start, placed.terms.start);
  }
}

// The whole draft placed and taken back; nothing when it would be refused. So an alternative that
// is offered is one that passes.
std::optional<Market::Trial> Market::try_out(const Draft& draft, const Wish& wish, Time now) {
  const MarketSettings& settings = exchange_of(draft.bid.request).settings;
  const bool must_pay = settings.no_funds == NoFunds::kRefuse &&
                        !(draft.array && settings.arrays == ArrayFunding::kPerTask);
  const Money available = accounts_.available(draft.bid.account);
  if (draft.tasks == 1) {
    const Found found = find(draft.bid.request, wish, now);
    if (!found.choice || !affordable(draft.bid, now, *found.choice)) return std::nullopt;
    if (must_pay && found.choice->price > available) return std::nullopt;
    return Trial{found.choice->price, found.choice->start};
  }
  const std::string token = "trial";
  Group group = place_tasks(draft, token, wish, now);
  std::optional<Trial> trial;
  if (!group.missing && (!must_pay || group.total <= available)) {
    trial = Trial{group.dearest, 0};
    for (const Provisional::Task& task : group.tasks)
      trial->last_start = std::max(trial->last_start, task.terms.start);
  }
  take_back(group, draft.bid.request, token);
  return trial;
}

namespace {

Time until(const Job& job, Time slack) {
  const bool runs = job.phase == Phase::kRunning;
  return (runs ? job.run_end : job.terms.start + job.bid.request.duration) + slack;
}

}  // namespace

// The jobs of arrays that limit how many of their tasks run at a time.
void Market::find_throttled() {
  throttled_.clear();
  for (const auto& [id, job] : jobs_) {
    if (job.throttle > 0 && job.phase != Phase::kEnded) throttled_[job.array_job_id].push_back(id);
  }
}

// The starts at which the job would be one task too many of its array.
StartSpans Market::closed_by_sisters(const Job& job) const {
  StartSpans closed;
  const auto array = throttled_.find(job.array_job_id);
  if (job.throttle == 0 || array == throttled_.end()) return closed;
  const Time slack = exchange_of(job).settings.start_slack;
  Waves waves(job.throttle, job.bid.request.duration + slack);
  for (const std::uint32_t id : array->second) {
    const auto sister = jobs_.find(id);
    if (id == job.id || sister == jobs_.end() || !sister->second.placed) continue;
    waves.add(sister->second.terms.start, until(sister->second, slack), closed);
  }
  return closed;
}

// A limit that was lowered stretches the plan: tasks that are too many at their start move to later
// ones. Their owner's own limit has their price asked for again.
void Market::stretch_arrays(Time now) {
  for (const auto& [array, ids] : throttled_) {
    std::vector<Job*> tasks;
    for (const std::uint32_t id : ids) {
      const auto job = jobs_.find(id);
      if (job != jobs_.end() && job->second.placed) tasks.push_back(&job->second);
    }
    std::sort(tasks.begin(), tasks.end(), [](const Job* a, const Job* b) {
      const bool a_waits = a->phase != Phase::kRunning, b_waits = b->phase != Phase::kRunning;
      return std::tuple(a_waits, a->terms.start, a->id) <
             std::tuple(b_waits, b->terms.start, b->id);
    });
    if (tasks.empty()) continue;
    StartSpans closed;
    const Time slack = exchange_of(*tasks.front()).settings.start_slack;
    Waves waves(tasks.front()->throttle, tasks.front()->bid.request.duration + slack);
    for (Job* task : tasks) {
      if (task->phase != Phase::kConfirmed || !closed.contains(task->terms.start)) {
        waves.add(task->terms.start, until(*task, slack), closed);
        continue;
      }
      unplace(*task, now);
      unreserve(*task);
      task->retry_at = 0;
      (limited_by_owner_.contains(array) ? task->missed : task->retime) = true;
    }
  }
  limited_by_owner_.clear();
}

void Market::see_throttle(Job& job, const market_job_t& seen) {
  if (seen.array_throttle == job.throttle) return;
  const bool lower =
      seen.array_throttle != 0 && (job.throttle == 0 || seen.array_throttle < job.throttle);
  if (lower && changed_arrays_.contains(job.array_job_id))
    limited_by_owner_.insert(job.array_job_id);
  job.throttle = seen.array_throttle;
}

}  // namespace market
