// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays that are sold as a block: which task owes what, and what is given back of the place.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/market/array_bids.h"
#include "core/market/site.h"
#include "core/market/text.h"

namespace market {
namespace {

bool is_live_state(int state) {
  return state == MARKET_JOB_PENDING || state == MARKET_JOB_RUNNING ||
         state == MARKET_JOB_SUSPENDED;
}

// What the task with that number owes; beyond the last one as that.
Money price_of_task(const ArrayBlock& block, std::uint32_t task) {
  const std::uint32_t tasks = all_tasks_of(block, 0).end;
  if (tasks == 0) return Money();
  task = std::min(task, tasks - 1);
  return price_of_tasks(block.prices, task, task + 1);
}

// Of a note that tells no block: one task after the other at equal prices.
BlockNote narrow_block(Money price, std::uint32_t tasks, Time cycle) {
  return {{1, cycle, {{std::max<std::uint32_t>(1, tasks), price}}}, 0, 0};
}

}  // namespace

void ArrayBids::begin_block(Job& job, const market_job_t& seen, const Note* note) {
  ArrayBid array = known_of(job, seen, note);
  array.parted = note != nullptr ? std::min(note->array_parted, array.tasks) : 0;
  array.returned = note != nullptr ? std::min(note->array_returned, array.parted) : 0;
  job.array = array;
  job.seen.throttle = 0;
  job.agreed.bid.array_tasks = array.tasks - array.returned;
  if (note == nullptr) {
    job.place.first_task = 0;
    job.place.until =
        job.agreed.terms.start + place_length(job, site_.exchange_of(job).settings.start_slack);
    return;
  }
  const MarketSettings& settings = site_.exchange_of(or_empty(seen.partition)).settings;
  const Time cycle = cycle_of(Time{seen.time_limit_min} * 60, settings.start_slack, settings.slot);
  auto kept = block_from(note->block);
  if (!kept) kept = narrow_block(note->price, array.waiting(), cycle);
  job.agreed.terms.block = std::move(kept->block);
  job.place.first_task = kept->first_task;
  job.place.until = kept->until;
}

void ArrayBids::count_anew(Job& job) {
  ArrayBid& array = *job.array;
  array.tasks = array.waiting();
  array.parted = array.returned = array.lost = 0;
}

// They have a part of their own from now on, or gave it back.
void ArrayBids::move_tasks(Job& job, std::uint32_t tasks, bool returned) {
  ArrayBid& array = *job.array;
  tasks = std::min(tasks, array.waiting());
  if (tasks == 0) return;
  BlockTasks moved = waiting_tasks_of(job);
  (returned ? moved.first : moved.end) = returned ? moved.end - tasks : moved.first + tasks;
  if (job.place.booked && site_.trades(job.agreed.bid.request.partition))
    site_.exchange_of(job).release_tasks(job.agreed.bid.request, moved, job.agreed.terms.start);
  array.parted += tasks;
  if (returned) array.returned += tasks;
  job.agreed.bid.array_tasks = array.tasks - array.returned;
  owe_waiting(job);
}

// For the tasks that wait, and no others.
void ArrayBids::owe_waiting(Job& job) {
  if (job.phase == Phase::kEnded) return;
  job.due.note = true;
  const BlockTasks left = waiting_tasks_of(job);
  const Money owed = price_of_tasks(left.block.prices, left.first, left.end);
  if (job.phase == Phase::kWaiting) {
    if (job.cause == Cause::kNoFunds) job.agreed.needed = owed;
    return;
  }
  job.agreed.terms.price = owed;
  if (job.agreed.lien != Money() && job.agreed.lien != owed) site_.set_lien(job, owed);
}

// What is given back is the end of the place.
std::optional<ledger::Rest> Resales::tasks_of(const Job& job, std::uint32_t tasks, Time now) const {
  if (tasks == 0 || !is_owed(job, now)) return std::nullopt;
  const Request& request = job.agreed.bid.request;
  const ArrayBlock& block = *block_of(job);
  const std::uint32_t end = job.array->started() + job.array->waiting(), first = end - tasks;
  const Money owed =
      above_floor(request, price_of_tasks(block.prices, first, end), request.duration, tasks);
  if (owed == Money()) return std::nullopt;
  const Time waves = static_cast<Time>(waves_of(tasks, block.lanes)) * block.cycle;
  const Time from = std::max({now, job.agreed.terms.start, job.place.until - waves});
  const Time until = std::max(job.place.until, from + request.duration);
  ledger::Rest rest = rest_of(job, from, until, owed, now);
  rest.segment.billing *=
      tasks * static_cast<double>(request.duration) / static_cast<double>(until - from);
  if (tasks < job.array->waiting())
    rest.segment.key.bid = fmt::format("{}.{}.{}", job.token, first, now);
  return rest;
}

// As tasks that were cancelled before they started, each by itself.
void ArrayBids::give_back(Job& job, std::uint32_t tasks, bool is_free, Time now) {
  tasks = std::min(tasks, job.array->waiting());
  if (tasks == 0) return;
  const bool has_place = job.phase == Phase::kConfirmed && job.place.booked;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  const bool is_resold = settings.charge_basis == ChargeBasis::kResale;
  const EndRule rule = settings.ends.cancelled_before_start.value_or(EndRule::kFree);
  auto rest = is_free ? std::nullopt : site_.resales.tasks_of(job, tasks, now);
  if (has_place && !is_free && !rest) site_.slips.note(job, now);
  if (has_place && !is_free && !is_resold && rule != EndRule::kFree) {
    const std::uint32_t end = waiting_tasks_of(job).end;
    const Money owed = price_of_tasks(job.agreed.terms.block->prices, end - tasks, end);
    ledger::Segment segment =
        lost_segment(job, fmt::format("-back{}", end - tasks).c_str(), tasks, owed, now);
    if (rule == EndRule::kRefund) segment.refunded = segment.charged;
    site_.accounts.charge(job, std::move(segment));
  }
  move_tasks(job, tasks, true);
  if (rest) site_.resales.offer(std::move(*rest), nullptr, now);
}

// A task that is taken out while it waits keeps its price and its time: it runs in its array's place as the others do, or,
// when that is over, in one of its own, not before its wave.
Note ArrayBids::take_block_part(const Note& array_note, const market_job_t& seen, Time now) {
  Note note = array_note;
  note.array_tasks = note.array_returned = note.array_parted = note.array_limit = 0;
  note.block.clear();
  note.seats.clear();
  note.part_of = seen.array_job_id;
  note.part_owed = note.kept_back = false;
  const bool is_back = !has_run(seen) && !is_live_state(seen.state);
  Job* job = array_of(seen);
  const auto gone = gone_.find(seen.array_job_id);
  const bool is_of_gone = (job == nullptr || job->phase == Phase::kEnded) && gone != gone_.end() &&
                          gone->second.missing > 0;
  if (is_of_gone) {
    --gone->second.missing;
    job = &gone->second.record;
  }
  if (job == nullptr || !job->agreed.terms.block) {
    const auto kept = block_from(array_note.block);
    note.price =
        is_back || !kept
            ? Money()
            : price_of_task(kept->block, array_note.array_parted - array_note.array_returned);
    return note;
  }
  const Agreement& agreed = job->agreed;
  note.account = agreed.bid.account;
  note.accepted = agreed.terms.accepted;
  note.bought = agreed.terms.bought;
  note.start = agreed.terms.start;
  note.end = agreed.terms.promised_end;
  note.waiting = job->phase == Phase::kWaiting;
  const BlockTasks left = waiting_tasks_of(*job);
  const bool is_waiting = seen.state == MARKET_JOB_PENDING;
  const std::uint32_t last = left.end - std::min(1u, left.end);
  note.price = is_back ? Money() : price_of_task(left.block, is_waiting ? last : left.first);
  if (is_of_gone) {
    ++job->array->parted;
  } else if (is_back) {
    give_back(*job, 1, seen.by_operator, now);
  } else if (is_waiting) {
    note.start = start_of_task(left, last);
    move_tasks(*job, 1, true);
  } else {
    if (has_run(seen)) note_first_start(*job, seen.start, now);
    job->place.bound_at = now;  // Slurm starts what waits
    job->place.start_failures = 0;
    move_tasks(*job, 1, false);
  }
  note.array_start = job->array->first_start;
  return note;
}

// The last task keeps the number of the record, and its price; it gets a place of its own.
void ArrayBids::become_block_task(Job& job, const market_job_t& seen, Time now) {
  Exchange& exchange = site_.exchange_of(job);
  const bool is_waiting = seen.state == MARKET_JOB_PENDING;
  const ArrayBid& array = *job.array;
  const bool has_begun = array.first_start != 0;
  for (Job& other : site_.jobs.awake()) {  // those that can run are placed in this pass, too
    const bool loses_place = other.part && other.part->array == job.id && other.seen.ready;
    if (loses_place) other.place.from_block = false;
  }
  exchange.unplace(job, now);
  exchange.unreserve(job);
  job.part = ArrayPart{job.id, false, array.first_start};
  if (array.dial != array.limit) job.part->limit_due = array.limit;
  job.agreed.bid.array_tasks = 0;
  job.array_task_id = seen.array_task_id;
  job.agreed.terms.block.reset();
  job.array.reset();
  job.place.until = job.place.bound_at = 0;
  job.place.from_block = is_waiting;
  job.agreed.terms.start = std::max(now, job.agreed.terms.start);
  job.place.not_before = has_begun ? 0 : job.agreed.terms.start;
  job.due.note = true;
}

// Slurm starts the next task of a lane when the one before has ended, at the latest at its limit.
Time ArrayBids::block_needed_until(const Job& job, Time now) const {
  const ArrayBlock& block = *block_of(job);
  const Time begin = std::max(now, job.agreed.terms.start);
  const Time slack = site_.exchange_of(job).settings.start_slack;
  std::vector<Time> free;
  if (const auto runs = run_ends_.find(job.id); runs != run_ends_.end()) free = runs->second;
  std::sort(free.begin(), free.end());
  const Time last_end = free.empty() ? begin : free.back();
  for (Time& lane : free) lane = std::max(lane, begin);
  free.resize(block.lanes, begin);
  std::sort(free.begin(), free.end());
  const std::uint32_t last = job.array->waiting() + job.array->in_place - 1;
  const Time done = free[last % block.lanes] + static_cast<Time>(last / block.lanes) * block.cycle +
                    job.agreed.bid.request.duration + slack / 2;
  return std::max(done, last_end);
}

// At its start, if it has a place there.
void ArrayBids::keep_lanes(Job& job, std::uint32_t lanes) {
  Exchange& exchange = site_.exchange_of(job);
  const Time start = job.agreed.terms.start;
  const std::uint32_t before = std::exchange(job.agreed.terms.block->lanes, lanes);
  auto choice = site_.earliest_place(job, start, start);
  job.agreed.terms.block->lanes = before;
  if (!choice) return;
  exchange.unplace(job, start);
  exchange.unreserve(job);
  job.agreed.terms.block->lanes = lanes;
  exchange.place(job, std::move(*choice));
  job.due.note = true;
}

void ArrayBids::fit_block(Job& job, Time now) {
  ArrayBlock& block = *job.agreed.terms.block;
  const std::uint32_t waiting = job.array->waiting();
  if (waiting == 0 || !job.place.booked) return;
  Exchange& exchange = site_.exchange_of(job);
  const Time start = job.agreed.terms.start;
  const bool none_started = job.array->started() == job.place.first_task;
  if (waiting < block.lanes && none_started && start > now) return keep_lanes(job, waiting);
  const Time slack = exchange.settings.start_slack;
  const Time needed = block_needed_until(job, now);
  const Time spare = job.place.until - needed - slack / 2;
  Time until = job.place.until;
  if (needed > until)
    until = site_.cluster.plan().can_last(booking_key(job), now, needed + slack / 2);
  if (spare >= block.cycle) until -= spare / block.cycle * block.cycle;
  if (until == job.place.until) return;
  job.place.until = until;
  job.due.note = true;
  site_.cluster.bookings().book(booking_key(job), job.place.placement, start, until);
  if (!job.place.reserved || job.place.reserved_until == until) return;
  market_order_t& order = site_.orders.add(MARKET_EXTEND, job.id);
  order.name = site_.orders.keep(reservation_name(job));
  order.end = job.place.reserved_until = until;
}

}  // namespace market
