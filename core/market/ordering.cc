// SPDX-License-Identifier: GPL-2.0-or-later
// What the pass has Slurm do: priorities, holds, reservations, notes; and what it could not do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/market/explain.h"
#include "core/market/planner.h"
#include "core/market/rates.h"
#include "core/market/reserved.h"
#include "core/market/sizing.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr int kReserveAttempts = 3;   // refused reservations before another start is taken
constexpr int kStartAttempts = 5;     // planned starts without a start until it is held
constexpr Time kLongestWait = 86400;  // seconds between two of them
constexpr Time kLeastPatience = 60;   // seconds: one cycle of Slurm's scheduler
constexpr Time kLongestRest = 300;    // seconds; up to twice as long
constexpr Time kSoon = 600;           // seconds: a start before which a job must have been counted
constexpr Time kCountSpread = 60;     // seconds
constexpr Time kJustStarted = 10;     // seconds; who was stopped for it may be seen later

}  // namespace

void Planner::give_orders(Job& job, const market_job_t& seen, Time now) {
  if (site_.observes) return watch(job, seen, now);
  if (job.agreed.reserved && seen.state == MARKET_JOB_PENDING)
    return give_reserved_orders(job, seen, now);
  if (const std::uint32_t wanted = job_factor(job); seen.site_factor != wanted) {
    site_.orders.add(MARKET_SET_PRIORITY, job.id).number = wanted;
  }
  site_.arrays.set_limit_back(job);
  if (seen.state == MARKET_JOB_PENDING) {
    if (job.phase == Phase::kConfirmed && job.array) {
      give_array_orders(job, seen);
    } else if (job.phase == Phase::kConfirmed && site_.exchange_of(job).awards_nodes()) {
      give_award_orders(job, seen, now);
    } else {
      take_award(job, now);
      job.due.release |= job.auction.exchange(&AuctionTurn::kept_back, false);
    }
    const char* reason = reason_of(site_, job);
    if (job.phase == Phase::kWaiting && (job.due.hold || !seen.held)) {
      site_.orders.add(MARKET_HOLD, job.id).text = reason;
      job.due.hold = false;
      job.due.reason_set = reason;
    }
    if (job.phase == Phase::kConfirmed && job.due.release) {
      site_.orders.add(MARKET_RELEASE, job.id);
      job.due.release = false;
    }
    if (job.phase == Phase::kConfirmed && block_of(job) != nullptr)
      site_.arrays.fit_block(job, now);
    if (job.phase == Phase::kConfirmed && job.place.booked) give_up_late_start(job, now);
    if (job.phase == Phase::kConfirmed && job.place.booked) give_place_orders(job, now);
    if (reason != nullptr && reason != job.due.reason_set) {
      site_.orders.add(MARKET_SET_REASON, job.id).text = reason;
      job.due.reason_set = reason;
    }
  }
  if (job.phase == Phase::kRunning && may_lose_cores(job) && !job.agreed.terms.auctioned() &&
      !job.run->unbilled && !job.place.reserved && now >= job.place.retry_at &&
      !job.place.placement.empty())
    reserve(job, now);
  if (job.phase == Phase::kRunning && job.agreed.terms.auctioned())
    keep_rate(job, site_.exchange_of(job).settings, now);
  give_note_order(job, seen);
}

// Slurm preempts no job for one that cannot have the cores, and gives those of a suspended one to others: a reservation
// keeps them.
bool Planner::may_lose_cores(const Job& run) const {
  const Job* array = run.part ? site_.jobs.peek(run.part->array) : nullptr;
  const bool is_in_block =
      array != nullptr && block_of(*array) != nullptr && array->place.bound && run.restart == 0;
  return !is_in_block &&
         (run.seen.suspended || site_.cluster.preempts_in(run.agreed.bid.request.partition));
}

// What is decided of it hangs on other jobs.
bool Planner::is_with_others(const Job& job) {
  return job.array || job.part || job.component || job.agreed.list || job.seen.throttle != 0 ||
         job.agreed.reserved;
}

// Of which nothing is due, a job with a place that lies further ahead or one that runs at a price: it is looked at again
// when Slurm tells something else of it, when anybody asks for it, and when its reservation is to be made or to be used,
// Slurm could not count it and is to try again, or its time limit has come.
void Planner::let_rest(Job& job, const market_job_t& seen, Time now) {
  const MarketSettings& settings = site_.exchange_of(job).settings;
  // While jobs are taken over there is no time to count them. One after another comes again, and not all of them in each pass.
  const bool was_wanted = job.place.count_due && job.place.count_at <= counts_wanted_at_;
  if (was_wanted && site_.pass_number == 0 && job.agreed.terms.start > now + kSoon)
    job.place.count_at = now + kCountSpread / 6 + job.id % kCountSpread;
  const bool is_counted_now = job.place.count_due && job.place.count_at <= now;
  const bool is_planned = job.phase == Phase::kConfirmed && job.place.booked && !job.place.bound &&
                          job.seen.ready && !is_counted_now;
  const bool is_due = job.due.note || job.due.hold || job.due.release || job.place.adopt_seats ||
                      job.place.missed || job.place.retime || job.agreed.revoked ||
                      job.seen.owner_changed;
  const bool may_rest = is_planned || runs_steadily(job, seen, now);
  if (seen.mark == 0 || site_.observes || job.agreed.terms.auctioned() || !may_rest ||
      is_with_others(job) || is_due)
    return;
  const Time next_scale = (now / settings.horizon + 1) * settings.horizon;  // of priorities
  const Time look_again = now + kLongestRest + job.id % kLongestRest;       // never many at once
  const Time lead = job.place.reserved ? 0 : reservation_lead_of(job);
  const Time next = is_planned ? job.agreed.terms.start - lead : seen.end;
  const Time count = job.place.count_due && is_planned ? job.place.count_at : look_again;
  const Time until = std::min({next, next_scale, look_again, count});
  if (until > now) site_.jobs.rest(job, seen, until);
}

// Where Slurm preempts, passes look for whose sake.
bool Planner::runs_steadily(const Job& job, const market_job_t& seen, Time now) const {
  return job.phase == Phase::kRunning && seen.state == MARKET_JOB_RUNNING &&
         now - seen.start >= kJustStarted && !job.run->preempted &&
         !site_.cluster.preempts_in(job.agreed.bid.request.partition);
}

// What woke only in this pass has the record that it lay down with; another note is written in any case.
void Planner::give_orders_to_woken(Time now) {
  const std::vector<JobBook::Woken> woken = site_.jobs.woken();
  for (const JobBook::Woken& one : woken) {
    Job* job = site_.jobs.find(one.id);
    if (job == nullptr || job->phase == Phase::kEnded) continue;
    market_job_t seen{};
    seen.job_id = one.id;
    seen.state = one.runs ? MARKET_JOB_RUNNING : MARKET_JOB_PENDING;
    seen.site_factor = one.site_factor;
    give_orders(*job, seen, now);
  }
}

void Planner::give_note_order(Job& job, const market_job_t& seen) {
  if (!std::exchange(job.due.note, false)) return;
  std::string note = confirmation_.note_of(job);
  if (note != or_empty(seen.note))
    site_.orders.add(MARKET_SET_NOTE, job.id).text = site_.orders.keep(std::move(note));
}

void Planner::give_place_orders(Job& job, Time now) {
  const MarketSettings& settings = site_.exchange_of(job).settings;
  if (!job.place.reserved && now >= job.place.retry_at &&
      job.agreed.terms.start - reservation_lead_of(job) <= now)
    reserve(job, now);
  if (job.agreed.terms.start > now || !job.place.reserved) return;
  if (!job.place.bound && job.seen.ready) {
    market_order_t& order = site_.orders.add(MARKET_BIND, job.id);
    order.name = site_.orders.keep(reservation_name(job));
    job.place.bound = true;
    job.place.bound_at = now;
  }
  if (block_of(job) != nullptr) return;
  // Slurm took its time: what is left of the reservation must still hold the whole run.
  const Time needed = now + job.agreed.bid.request.duration + settings.start_slack / 2;
  if (needed > job.place.reserved_until) {
    market_order_t& order = site_.orders.add(MARKET_EXTEND, job.id);
    order.name = site_.orders.keep(reservation_name(job));
    order.end = job.place.reserved_until =
        now + job.agreed.bid.request.duration + settings.start_slack;
    site_.cluster.bookings().book(booking_key(job), job.place.placement, job.agreed.terms.start,
                                  order.end);
  }
}

// Accepted jobs come before all others, earlier planned starts first. The scale is fixed for a week
// at a time, so that numbers do not change from pass to pass.
std::uint32_t Planner::factor(const MarketSettings& settings, const Terms& terms,
                              bool waiting) const {
  if (waiting) return 0;
  const Time span = 2 * settings.horizon;
  const Time base = site_.last_pass / settings.horizon * settings.horizon;
  const Time delay = std::clamp<Time>(terms.start - base, 0, span - 1);
  const auto bonus = static_cast<std::uint64_t>(span - 1 - delay) * settings.priority /
                     static_cast<std::uint64_t>(span);
  return settings.priority + static_cast<std::uint32_t>(bonus);
}

std::uint32_t Planner::site_factor(std::uint32_t job_id, std::string_view note_text) {
  if (!site_.has_config) return 0;
  const Job* job = site_.jobs.peek(job_id);
  if (job != nullptr && job->phase != Phase::kEnded) return job_factor(*job);
  const auto note = site_.note_in(note_text);
  if (!note || note->settled) return 0;
  site_.jobs.job_made(note->token);
  // Nobody tells its partition; the next pass corrects it.
  const MarketSettings& settings = site_.exchanges.front()->settings;
  if (note->end == 0 && !note->waiting && note->pot.empty())
    return settings.priority;  // in an auction
  return factor(settings, Terms{note->price, note->start, note->end, ""}, note->waiting);
}

void Planner::order_failed(const market_order_t& order, std::string_view why, Time now) {
  site_.log(LogLevel::kDebug, fmt::format("job {}: order to {} failed: {}", order.job_id,
                                          order_name(order.kind), why));
  Job* found = site_.jobs.find(order.job_id);
  if (found == nullptr) return;
  Job& job = *found;
  switch (order.kind) {
    case MARKET_AWARD:
      shrink_if_refused_often(job);
      award_failed(job, why, now);
      break;
    case MARKET_TAKE_AWARD:
      award_not_taken(job, order, now);
      break;
    case MARKET_SUSPEND:
    case MARKET_REQUEUE:
      job.auction.set(&AuctionTurn::stopped, false);
      job.auction.set(&AuctionTurn::sent_back, false);
      job.auction.set(&AuctionTurn::unstoppable, true);
      break;
    case MARKET_RESERVE:
      job.place.reserved = job.place.bound = false;
      job.place.retry_at = now + (job.phase == Phase::kRunning ? kRetry : 1);
      if (job.phase == Phase::kRunning || has_begun(job, now)) break;
      if (++job.place.reserve_failures < kReserveAttempts) break;
      if (job.agreed.reserved) {  // its owner gets it back free: it cannot be had elsewhere either
        site_.held_quotes.waste(job.agreed.bid.uid, std::max(job.agreed.bid_made, now - kRetry),
                                now);
        site_.exchange_of(job).hold(job, Cause::kResources, job.agreed.terms.price, now);
        break;
      }
      // Something the market does not know holds these nodes: another start, a slot later.
      site_.exchange_of(job).unplace(job, now);
      job.place.not_before = now + site_.exchange_of(job).settings.slot;
      break;
    case MARKET_BIND:
      if (std::exchange(job.place.from_block, false)) break;  // it gets a place of its own
      give_up_start(job, why, now);
      break;
    case MARKET_HOLD:
      job.due.hold = true;
      break;
    case MARKET_SET_ARRAY_LIMIT:
      if (job.array) job.array->dial.reset();
      if (job.part) job.part->limit_due = order.number;
      break;
    case MARKET_RELEASE:
      job.due.release = true;
      break;
    case MARKET_SET_NOTE:
      job.due.note = true;
      break;
    case MARKET_SET_REASON:
      job.due.reason_set = {};
      break;
    default:
      break;
  }
}

std::uint32_t Planner::job_factor(const Job& job) const {
  const bool waiting = job.phase == Phase::kWaiting;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  if (waiting || !job.agreed.terms.auctioned()) return factor(settings, job.agreed.terms, waiting);
  // Without a bid of its own it is a job without a bid unless its pot bids something.
  const bool is_outside = !job.agreed.bid.pot.empty() && !(job.auction->standing.share > 0);
  if (is_outside) return 0;
  const double part = std::clamp(job.auction->standing.priority, 0.0, 1.0);
  return settings.priority + static_cast<std::uint32_t>(std::lround(part * settings.priority));
}

// Slurm did not start the job at its planned start or cannot: others get the place, and the job is
// planned again, a few times and each time after a longer wait, then held.
void Planner::give_up_start(Job& job, std::string_view why, Time now) {
  site_.exchange_of(job).unplace(job, now);
  site_.exchange_of(job).unreserve(job);
  job.place.bound_at = 0;
  job.place.start_failure = why;
  const Partition* partition = site_.cluster.find_partition(job.agreed.bid.request.partition);
  const bool may_start = partition != nullptr && partition->up;
  if (may_start || job.place.start_failures == 0) ++job.place.start_failures;
  site_.log(LogLevel::kInfo, fmt::format("job {} gives up its planned start, the {}. in a row: {}",
                                         job.id, job.place.start_failures, why));
  if (job.place.start_failures > kStartAttempts)
    return site_.exchange_of(job).hold(job, Cause::kNotStarted, job.agreed.terms.price, now);
  job.cause = Cause::kNotStarted;
  job.place.not_before =
      now + std::min(kLongestWait, patience(job) << (job.place.start_failures - 1));
  job.place.retry_at = 0;
}

// How long a job keeps its place although Slurm does not start it: three times what start-up and
// clean-up are planned to take, for jobs on the same nodes that must be killed first.
Time Planner::patience(const Job& job) const {
  return std::max(kLeastPatience, 3 * site_.exchange_of(job).settings.start_slack);
}

void Planner::give_up_late_start(Job& job, Time now) {
  // An array's record waits while its tasks run in all lanes.
  const ArrayBlock* block = block_of(job);
  if (block != nullptr && job.array->running >= std::min(block->lanes, job.array->waiting()))
    job.place.bound_at = now;
  // Slurm would start tasks in a reservation until its last second.
  if (block != nullptr && job.place.bound &&
      now + job.agreed.bid.request.duration > job.place.until) {
    site_.exchange_of(job).unplace(job, now);
    site_.exchange_of(job).unreserve(job);
    job.due.note = true;
    return;
  }
  if (!job.place.bound ||
      now - std::max(job.agreed.terms.start, job.place.bound_at) < patience(job))
    return;
  give_up_start(job, fmt::format("Slurm did not start it within {} s", patience(job)), now);
}

}  // namespace market
