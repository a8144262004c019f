// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: jobs without a place get one, waiting ones buy, and what fits now starts now.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/market/buying.h"
#include "core/market/lane_search.h"
#include "core/market/planner.h"
#include "core/market/reserved.h"
#include "core/market/search.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr int kSearchesPerPass = 8;         // full quotes in one pass
constexpr int kMovesPerPass = 64;           // places tried for earlier starts in one pass
constexpr std::size_t kLooksAtOnce = 1024;  // jobs that are found at a time for that
constexpr std::pair<Time, std::uint32_t> kNoMoreToPull{kFarthest, UINT32_MAX};
constexpr Time kNodesMayReturn = 3600;  // seconds

}  // namespace

// Slurm starts jobs between two passes, also where the market has just planned one. Without a
// reservation such a place is lost, and another one is found before Slurm refuses this one.
void Planner::yield_places(Time now) {
  const std::vector<NewRun> new_runs = site_.cluster.take_new_runs();
  if (new_runs.empty()) return;
  struct Held {
    Time end = 0;
    const CoreSet* cores = nullptr;
  };
  Time last_end = 0;
  std::vector<std::vector<Held>> held(site_.cluster.nodes().size());  // by node
  for (const NewRun& run : new_runs) {
    last_end = std::max(last_end, run.end);
    for (const Seat& seat : run.placement)
      if (seat.node < held.size()) held[seat.node].push_back({run.end, &seat.cores});
  }
  const auto is_taken = [&held](const Seat& seat, Time start) {
    return seat.node < held.size() &&
           std::any_of(held[seat.node].begin(), held[seat.node].end(), [&](const Held& one) {
             return start < one.end && one.cores->overlaps(seat.cores);
           });
  };
  for (const Job* planned : site_.jobs.confirmed_before(last_end)) {
    if (!planned->place.booked || planned->place.reserved) continue;
    const Placement& seats = planned->place.placement;
    const bool is_lost = std::any_of(seats.begin(), seats.end(), [&](const Seat& seat) {
      return is_taken(seat, planned->agreed.terms.start);
    });
    if (!is_lost) continue;
    Job& job = *site_.jobs.find(planned->id);
    site_.exchange_of(job).unplace(job, now);
    job.place.retry_at = 0;
  }
}

// Confirmed jobs without a place: the earliest one in the window, else the earliest at all, at the
// accepted price; but those that were not ready at their start ask again.
void Planner::replan_lost(Time now) {
  if (site_.cluster.take_places_due()) {
    const bool nodes_moved = site_.cluster.take_nodes_moved();
    const std::vector<Node>& nodes = site_.cluster.nodes();
    for (const Job* planned : site_.jobs.confirmed_before(kFarthest)) {
      if (!planned->place.booked || has_begun(*planned, now)) continue;
      const std::string& partition = planned->agreed.bid.request.partition;
      const bool whole = std::all_of(planned->place.placement.begin(),
                                     planned->place.placement.end(), [&](const Seat& seat) {
                                       return seat.node < nodes.size() && nodes[seat.node].usable &&
                                              nodes[seat.node].partitions.contains(partition);
                                     });
      if (whole && !nodes_moved) continue;
      Job& job = *site_.jobs.find(planned->id);
      site_.exchange_of(job).unplace(job, now);
      site_.exchange_of(job).unreserve(job);
      job.place.retry_at = 0;
    }
  }
  const JobRange awake = site_.jobs.awake();
  const bool all_placed = std::all_of(awake.begin(), awake.end(), [this](const Job& job) {
    return job.phase != Phase::kConfirmed || job.place.booked ||
           (job.agreed.terms.auctioned() && !site_.exchange_of(job).promises());
  });
  if (all_placed) return;
  int searches = 0;
  for (Job* lost : site_.jobs.in_order(Phase::kConfirmed)) {
    Job& job = *lost;
    if (job.place.booked || job.place.from_block || now < job.place.retry_at || job.component)
      continue;
    if (has_begun(job, now)) {  // no place was found in time: its owner gets it back free
      if (!job.place.adopt_seats)
        site_.exchange_of(job).hold(job, Cause::kResources, job.agreed.terms.price, now);
      continue;
    }
    if (job.agreed.terms.auctioned()) {
      if (site_.exchange_of(job).promises())
        site_.exchange_of(job).hold(job, Cause::kResources, job.agreed.terms.price, now);
      continue;
    }
    const bool is_place = job.agreed.reserved.has_value();
    if (!job.seen.ready && job.seen.begin <= now && !is_place)
      continue;  // waits for its release or its dependency
    const Time from = std::max(
        {now, job.seen.begin, job.place.not_before, is_place ? job.agreed.terms.start : Time{0}});
    if (job.place.missed) {
      searches += kMovesPerPass / kSearchesPerPass;
      if (searches > kMovesPerPass) break;
      replan_missed(site_, job, from, now);
      continue;
    }
    if (++searches > kMovesPerPass) break;
    const StartSpans closed = site_.closed_by_sisters(job);
    const MarketSettings& settings = site_.exchange_of(job).settings;
    auto choice = site_.earliest_place(job, from, now + 2 * settings.horizon, &closed);
    if (!choice && job.place.lost_at == 0) job.place.lost_at = now;
    if (!choice && now - job.place.lost_at >= kNodesMayReturn && narrow_to_nodes(site_, job))
      choice = site_.earliest_place(job, from, now + 2 * settings.horizon, &closed);
    if (!choice) {
      job.cause = Cause::kResources;
      job.place.retry_at = now + kRetry / 2;
      continue;
    }
    const Time length = place_length(job, settings.start_slack);
    const bool in_window =
        choice->start + length - settings.start_slack <= job.agreed.bid.request.deadline;
    site_.exchange_of(job).place(job, std::move(*choice));
    if (job.place.retime) {
      job.agreed.terms.promise_anew(job.agreed.terms.start, length);
      job.place.retime = false;
    }
    if (job.place.start_failures == 0) job.cause = in_window ? Cause::kNone : Cause::kResources;
    job.due.note = true;
  }
}

void Planner::fund_waiting(Time now) {
  int searches = 0;
  std::vector<Job*> waiting = site_.jobs.in_order(Phase::kWaiting);
  std::sort(waiting.begin(), waiting.end(), [](const Job* a, const Job* b) {
    return a->agreed.bid_made != b->agreed.bid_made ? a->agreed.bid_made < b->agreed.bid_made
                                                    : a->id < b->id;
  });
  for (Job* job : waiting) {
    if (job->agreed.reserved || job->component) continue;  // it ends, or waits for others
    const Money available = site_.accounts.available(job->agreed.bid.account);
    const bool hopeless = job->cause == Cause::kNoFunds && available <= job->place.tried_available;
    if (now < job->place.retry_at && hopeless) continue;
    if (now < job->place.retry_at && job->cause != Cause::kNoFunds) continue;
    if (job->cause == Cause::kNotStarted) continue;
    if (++searches > kSearchesPerPass) return;
    job->place.tried_available = available;
    job->place.retry_at = now + kRetry;
    Request request = job->agreed.bid.request;
    request.earliest = std::max(request.earliest, now);
    if (buy_again(site_, *job, request, 0, now)) job->due.release = !job->agreed.user_held;
  }
}

namespace {

// Whether there is room for the job from `start` until its own place begins, without which it cannot start there. Cheap
// where others of its kind found none.
bool has_room_before_place(const Site& site, const Job& job, Time start) {
  if (block_of(job) != nullptr) return true;
  const Request& request = job.agreed.bid.request;
  const Time length = request.duration + site.exchange_of(request).settings.start_slack;
  const Time end = std::min(start + length, job.agreed.terms.start);
  PlaceSearch places(site.cluster.plan(), request.demand.shape, request.partition);
  if (places.at(start, end)) return true;
  next_try(site.cluster.bookings(), places, start, end, 0);  // so that searches after it know
  return false;
}

}  // namespace

// What fits now starts now: ERA's empty allocation. Nothing can have become possible unless room
// was made.
void Planner::pull_forward(Time now) {
  const std::uint64_t freed = site_.cluster.bookings().freed();
  if (freed == pull_freed_ && now < pull_at_) return;
  if (to_pull_.empty()) {
    for (const Job* job : site_.jobs.confirmed_after(pulled_, kLooksAtOnce))
      to_pull_.emplace_back(job->agreed.terms.start, job->id);
    std::reverse(to_pull_.begin(), to_pull_.end());
    if (to_pull_.size() < kLooksAtOnce) to_pull_.insert(to_pull_.begin(), kNoMoreToPull);
  }
  for (int moves = 0; moves < kMovesPerPass;) {
    if (to_pull_.empty()) return;  // the others in the next pass
    pulled_ = to_pull_.back();
    to_pull_.pop_back();
    if (pulled_ == kNoMoreToPull) {
      pulled_ = {};
      pull_freed_ = freed;
      pull_at_ = now + kRetry;
      return;
    }
    const Job* planned = site_.jobs.peek(pulled_.second);
    if (planned == nullptr || !may_come_forward(*planned, now)) continue;
    ++moves;
    if (site_.closed_by_sisters(*planned).contains(now) ||
        !has_room_before_place(site_, *planned, now))
      continue;
    auto choice = site_.earliest_place(*planned, now, now);
    if (!choice) continue;
    Job& job = *site_.jobs.find(planned->id);
    site_.exchange_of(job).unplace(job, job.agreed.terms.start);
    site_.exchange_of(job).unreserve(job);
    site_.exchange_of(job).place(job, std::move(*choice));
    job.due.note = true;
  }
}

bool Planner::may_come_forward(const Job& planned, Time now) const {
  return planned.phase == Phase::kConfirmed && planned.place.booked && planned.seen.ready &&
         !planned.component &&
         planned.agreed.terms.start > now + site_.exchange_of(planned).settings.slot &&
         planned.agreed.bid.request.earliest <= now && planned.place.not_before <= now;
}

// A limit that was lowered stretches the plan: tasks that are too many at their start move to later
// ones. Their owner's own limit has their price asked for again.
void Planner::stretch_arrays(Time now) {
  for (const auto& [array, ids] : site_.jobs.throttled()) {
    std::vector<Job*> tasks;
    for (const std::uint32_t id : ids) {
      Job* job = site_.jobs.find(id);
      if (job != nullptr && job->place.booked) tasks.push_back(job);
    }
    std::sort(tasks.begin(), tasks.end(), [](const Job* a, const Job* b) {
      const bool a_waits = a->phase != Phase::kRunning, b_waits = b->phase != Phase::kRunning;
      return std::tuple(a_waits, a->agreed.terms.start, a->id) <
             std::tuple(b_waits, b->agreed.terms.start, b->id);
    });
    if (tasks.empty()) continue;
    StartSpans closed;
    const Time slack = site_.exchange_of(*tasks.front()).settings.start_slack;
    Waves waves(tasks.front()->seen.throttle, tasks.front()->agreed.bid.request.duration + slack);
    for (Job* task : tasks) {
      if (task->phase != Phase::kConfirmed || !closed.contains(task->agreed.terms.start)) {
        waves.add(task->agreed.terms.start, busy_until(*task, slack), closed);
        continue;
      }
      task->place.retry_at = 0;
      if (limited_by_owner_.contains(array)) {
        lose_place(site_, *task, now);
        task->place.missed = task->due.note = true;
        continue;
      }
      site_.exchange_of(*task).unplace(*task, now);
      site_.exchange_of(*task).unreserve(*task);
      task->place.retime = true;
    }
  }
  narrow_blocks(now);
  limited_by_owner_.clear();
}

// Of a block no more lanes than fit on the nodes that are there.
bool Planner::narrow_to_nodes(const Site& site, Job& job) {
  if (block_of(job) == nullptr) return false;
  std::uint32_t& lanes = job.agreed.terms.block->lanes;
  const Request& request = job.agreed.bid.request;
  LaneSearch search(site.cluster.plan(), request.demand.shape, request.partition);
  const std::uint32_t fit = search.on_empty(lanes);
  if (fit == 0 || fit >= lanes) return false;
  lanes = fit;
  job.due.note = true;
  return true;
}

// A limit below what a block holds side by side: fewer lanes for longer.
void Planner::narrow_blocks(Time now) {
  for (Job& job : site_.jobs.awake()) {
    const ArrayBlock* block = block_of(job);
    const bool is_too_wide = block != nullptr && job.place.booked && job.array->limit != 0 &&
                             job.array->limit < block->lanes;
    if (!is_too_wide) continue;
    job.place.retry_at = 0;
    job.due.note = true;
    if (limited_by_owner_.contains(job.id)) {
      lose_place(site_, job, now);
      job.place.missed = true;
    } else {
      site_.exchange_of(job).unplace(job, now);
      site_.exchange_of(job).unreserve(job);
      job.place.retime = true;
    }
    job.agreed.terms.block->lanes = job.array->limit;
  }
}

// As if he had told the array's limit, which its place was sold without.
void Planner::limit_to_what_runs(Job& job, Time now) {
  ArrayBid& array = *job.array;
  const bool had_time = now - job.agreed.terms.start >= patience(job);
  if (!job.place.booked || !had_time || array.most_running >= block_of(job)->lanes) return;
  array.limit = array.most_running;
  limited_by_owner_.insert(job.id);
}

void Planner::see_limit_of_block(const Job& job) {
  const ArrayBlock* block = block_of(job);
  const bool is_too_wide =
      block != nullptr && job.array->limit != 0 && job.array->limit < block->lanes;
  if (is_too_wide && confirmation_.owner_changed_array(job.id)) limited_by_owner_.insert(job.id);
}

void Planner::see_throttle(Job& job, const market_job_t& seen) {
  if (seen.array_throttle == job.seen.throttle) return;
  const bool lower = seen.array_throttle != 0 &&
                     (job.seen.throttle == 0 || seen.array_throttle < job.seen.throttle);
  if (lower && confirmation_.owner_changed_array(job.array_job_id))
    limited_by_owner_.insert(job.array_job_id);
  job.seen.throttle = seen.array_throttle;
}

}  // namespace market
