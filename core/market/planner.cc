// SPDX-License-Identifier: GPL-2.0-or-later
// The periodic pass: what jobs do, who is planned where, and what Slurm is told to do about it.
#include "core/market/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "core/market/buying.h"
#include "core/market/convert.h"
#include "core/market/invariants.h"
#include "core/market/lists.h"
#include "core/market/rates.h"
#include "core/market/sizing.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr Time kUnseenLife = 60;  // seconds until a job or lien that nothing is seen of is gone

bool is_active(int state) {
  return state == MARKET_JOB_PENDING || state == MARKET_JOB_RUNNING ||
         state == MARKET_JOB_SUSPENDED;
}

}  // namespace

// Says what is broken before the assertion ends all.
bool Planner::is_whole() const {
  const std::string broken = broken_invariant(site_);
  if (!broken.empty()) site_.log(LogLevel::kError, "what must always hold does not: " + broken);
  return broken.empty();
}

const std::vector<market_order_t>& Planner::pass(const market_job_t* jobs, std::size_t job_count,
                                                 const char* const* resv_names,
                                                 std::size_t resv_count, Time now) {
  const auto began = std::chrono::steady_clock::now();
  site_.orders.clear();
  awards_given_ = 0;
  if (!site_.may_decide()) return site_.orders.list();
  site_.in_pass = true;
  ++site_.pass_number;
  site_.jobs.begin_pass();
  counts_wanted_at_ = std::exchange(site_.last_pass, now);
  site_.cluster.bookings().forget_before(now);
  see_all(jobs, job_count, now);
  site_.arrays.find_lost(now);
  settlement_.see_own_suspensions(jobs, job_count);
  confirmation_.forget_changed_arrays();
  drop_unseen(now);
  confirmation_.drop_provisionals(now);
  site_.accounts.return_orphans(site_.pass_number, now);
  find_next_starts(now);
  if (!site_.observes) check_reservations(resv_names, resv_count, now);
  site_.jobs.find_throttled();
  confirmation_.place_adopted(now);
  yield_places(now);
  stretch_arrays(now);
  site_.update_capacity(now);
  replan_lost(now);
  fund_waiting(now);
  keep_components_together(now);
  pull_forward(now);
  site_.slips.forget_old(now);
  work_on_lists(site_, now);
  site_.resales.work(now);
  site_.forget_rooms();
  for (const auto& exchange : site_.exchanges) exchange->work(now);
  if (site_.observes) site_.would_starts.look(site_, now);
  for (std::size_t i = 0; i < job_count; ++i) {
    Job* job = site_.jobs.find(jobs[i].job_id);
    if (job == nullptr || !is_active(jobs[i].state) || job->phase == Phase::kEnded) continue;
    const std::size_t given = site_.orders.list().size();
    give_orders(*job, jobs[i], now);
    if (site_.orders.list().size() == given) let_rest(*job, jobs[i], now);
  }
  give_orders_to_woken(now);
  put_orders_in_order(now);
  site_.in_pass = false;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  site_.last_pass_ms = took.count();
  assert(is_whole());
  return site_.orders.list();
}

// Arrays before their tasks, which take their parts from them; ends of tasks that were told before do so too.
void Planner::see_all(const market_job_t* jobs, std::size_t count, Time now) {
  for (std::size_t i = 0; i < count; ++i) {
    if (jobs[i].array_tasks_pending > 0) see(jobs[i], now);
  }
  // When jobs are taken over all arrays come before others.
  const bool is_pass = site_.pass_number > 0;
  if (is_pass || (count > 0 && jobs[count - 1].array_tasks_pending == 0)) {
    settlement_.hear_ends();
    settlement_.judge_preemptions(jobs, count, now);
  }
  std::vector<std::size_t> last_tasks;
  for (std::size_t i = 0; i < count; ++i) {
    if (jobs[i].array_tasks_pending > 0) continue;
    const Job* known = site_.jobs.peek(jobs[i].job_id);
    const bool was_array = known != nullptr && known->array;
    was_array ? last_tasks.push_back(i) : see(jobs[i], now);
  }
  for (const std::size_t i : last_tasks) see(jobs[i], now);  // what is missing then is lost
}

namespace {

// A run that the market stopped in a partition that it sells no more; once, so that an operator may
// suspend it afterwards.
void let_go_on(Site& site, const market_job_t& seen) {
  if (seen.state != MARKET_JOB_SUSPENDED) return;
  auto note = site.note_in(or_empty(seen.note));
  if (!note || !note->stopped) return;
  note->stopped = false;
  site.orders.add(MARKET_RESUME, seen.job_id);
  site.orders.add(MARKET_SET_NOTE, seen.job_id).text = site.orders.keep(write_note(*note));
}

}  // namespace

void Planner::see(const market_job_t& told, Time now) {
  Job* job = site_.jobs.find(told.job_id);
  const bool is_awarded = job != nullptr && job->auction->wish;
  market_job_t seen = is_awarded ? as_owner_wishes(told, *job) : told;
  if (job != nullptr && seen.submit != job->submitted && seen.restart <= job->restart &&
      job->phase == Phase::kEnded) {
    site_.jobs.erase(job->id);  // Slurm began its job numbers anew
    job = nullptr;
  }
  const bool may_be_ours = !site_.observes || site_.trades(or_empty(seen.partition));
  if (job != nullptr && !may_be_ours) {  // moved to where another market observes, or none
    site_.exchange_of(*job).unplace(*job, now);
    site_.accounts.void_lien(*job, "no market follows it any more");
    site_.jobs.erase(job->id);
    job = nullptr;
  }
  if (!may_be_ours) {
    if (seen.state == MARKET_JOB_RUNNING) site_.cluster.see_other(seen, site_.pass_number, now);
    return;
  }
  if (!is_active(seen.state)) {
    if (job != nullptr || site_.has_note(or_empty(seen.note))) settlement_.see_ended(seen, now);
    return;
  }
  if (seen.array_tasks_pending > 0 && !site_.arrays.is_record(seen)) return see_array(seen, now);
  if (job == nullptr && site_.has_note(or_empty(seen.note))) {
    job = confirmation_.welcome(seen, now);
    if (job != nullptr) seen = as_owner_wishes(told, *job);
  }
  if (job == nullptr) {
    let_go_on(site_, seen);
    if (seen.state != MARKET_JOB_PENDING) site_.cluster.see_other(seen, site_.pass_number, now);
    return;
  }
  job->seen.pass = site_.pass_number;
  job->seen.at = now;
  if (job->array) site_.arrays.see(*job, seen, now);
  see_limit_of_block(*job);
  if (job->array || job->part) {  // the limit of its array is the market's
    seen.array_throttle = 0;
    seen.array_full = false;
  }
  see_throttle(*job, seen);
  if (seen.restart > job->restart) confirmation_.new_run(*job, seen, now);
  if (job->phase == Phase::kEnded) return;
  if (seen.state == MARKET_JOB_PENDING) {
    if (let_go_without_pot(*job, seen, now)) return;
    see_pending(*job, seen, now);
  } else {
    see_running(*job, seen, now);
  }
}

// Its user's pot is all that it bids, and where it is there are no pots (any more): it goes on as a job without a bid,
// or waits for one where those are refused.
bool Planner::let_go_without_pot(Job& job, const market_job_t& seen, Time now) {
  if (job.agreed.bid.pot.empty() || site_.observes) return false;
  const std::string_view partition = or_empty(seen.partition);
  Exchange& exchange = site_.exchange_of(partition);
  if (site_.trades(partition) &&
      (exchange.with_pots() != nullptr || exchange.settings.unbid == UnbidJobs::kRefuse))
    return false;
  const bool is_held_by_market =
      job.phase == Phase::kWaiting || job.auction->kept_back || job.due.release;
  if (seen.held && seen.held_by_site && is_held_by_market && !job.agreed.user_held)
    site_.orders.add(MARKET_RELEASE, job.id);
  if (seen.site_factor != 0) site_.orders.add(MARKET_SET_PRIORITY, job.id).number = 0;
  site_.orders.add(MARKET_SET_NOTE, job.id).text = "";
  site_.exchange_of(job).unplace(job, now);
  site_.accounts.void_lien(job, "it is a job without a bid now");
  site_.log(LogLevel::kInfo,
            fmt::format("job {}: there are no pots in partition {}: it goes on without a bid",
                        job.id, partition));
  site_.jobs.erase(job.id);
  return true;
}

// Every task needs a record of its own: price, place, reservation and bill are per task.
void Planner::see_array(const market_job_t& seen, Time now) {
  const auto note = site_.note_in(or_empty(seen.note));
  if (!note) return;
  const auto provisional = site_.jobs.provisionals().find(note->token);
  if (provisional != site_.jobs.provisionals().end()) {
    provisional->second.seen = now;
    provisional->second.seen_pass = site_.pass_number;
    if (seen.counted_cpus != 0 && seen.counted_cpus != MARKET_UNCOUNTABLE) {
      provisional->second.counted_cpus = seen.counted_cpus;
      provisional->second.counted_nodes = seen.counted_nodes;
    }
  }
  if (!site_.observes) site_.orders.add(MARKET_SPLIT, seen.job_id);
}

// A task that was taken out of its array's record while it waits runs in its array's place as the others do; one that was
// sent back has a place of its own. Whether it has its array's.
bool Planner::see_place_of_array(const Job& job, const market_job_t& seen, Time now) {
  const Job* array = job.part ? site_.jobs.peek(job.part->array) : nullptr;
  const bool has_place = job.place.from_block && array != nullptr && array != &job &&
                         block_of(*array) != nullptr && array->place.booked;
  const auto inside = reserved_for(or_empty(seen.resv_name));
  const bool is_inside = inside && job.part && !job.array && inside->job == job.part->array;
  if (is_inside && !has_place) site_.orders.add(MARKET_UNBIND, job.id);
  const bool may_run = !seen.held && !seen.dependent && seen.begin <= now;
  if (!is_inside && has_place && array->place.bound && may_run)
    site_.orders.add(MARKET_BIND, job.id).name = site_.orders.keep(reservation_name(*array));
  return has_place;
}

// Its array's place is over, or it could not run when its wave began. Who keeps it waiting gives back what it bought.
void Planner::leave_block(Job& job, bool is_kept_by_owner, Time now) {
  if (!job.seen.ready && is_kept_by_owner) {
    lose_place(site_, job, now);
    job.place.missed = true;
  } else if (!job.seen.ready) {
    job.place.retime = true;
  }
  job.place.from_block = false;
  job.due.note = true;
}

void Planner::see_pending(Job& job, const market_job_t& seen, Time now) {
  if (job.agreed.reserved) return see_reserved(job, seen, now);
  const bool is_in_block = see_place_of_array(job, seen, now);
  // A job that the market keeps back waits for the market alone.
  const std::string_view shown = or_empty(seen.state_desc);
  const bool is_ours = job.auction->kept_back &&
                       (shown.empty() || (shown == job.due.reason_set && seen.held_by_site));
  if (seen.held && !is_ours) job.auction.set(&AuctionTurn::kept_back, false);
  job.seen.held = seen.held && !is_ours;
  // Tasks run: Slurm starts no more of them at a time, by a limit that its owner has.
  const bool is_limited = block_of(job) != nullptr && seen.dependent && job.array->running > 0;
  if (is_limited) limit_to_what_runs(job, now);
  job.seen.dependent = seen.dependent && !is_limited;
  job.seen.size_limited = seen.size_limited;
  job.seen.dependency_failed = seen.dependency_failed;
  job.seen.array_full = seen.array_full;
  job.seen.ready = !job.seen.held && !job.seen.dependent && !seen.array_full && seen.begin <= now;
  if (!seen.held && job.phase == Phase::kConfirmed) job.agreed.user_held = false;  // released since
  const bool is_kept_by_owner = (seen.held && !seen.held_by_site) || seen.dependent;
  if (job.place.from_block && !is_in_block) leave_block(job, is_kept_by_owner, now);
  if (job.agreed.revoked) {
    job.agreed.revoked = job.agreed.told = false;
    return site_.exchange_of(job).hold(job, Cause::kNoFunds, job.agreed.terms.price, now);
  }
  if (job.phase == Phase::kRunning) {  // back to the queue without a new run
    job.phase = Phase::kConfirmed;
    site_.exchange_of(job).unplace(job, now);
    confirmation_.forget_run(job);
    if (job.run.exchange(&Run::unbilled, false))
      return site_.exchange_of(job).hold(job, Cause::kNoFunds, job.agreed.terms.price, now);
  }
  const std::uint64_t fingerprint = fingerprint_of(seen);
  const bool later_begin = seen.begin > job.seen.begin && seen.begin > job.agreed.terms.start;
  job.seen.begin = seen.begin;
  job.seen.deadline = seen.deadline;
  if (fingerprint != job.seen.fingerprint || later_begin ||
      confirmation_.has_other_price(job, seen)) {
    job.seen.fingerprint = fingerprint;
    confirmation_.changed(job, seen, now);
  }
  job.seen.owner_changed = false;
  confirmation_.hear_count(job, seen, seen.counted_cpus, seen.counted_nodes, now);
  const bool has_place = job.place.booked || job.place.from_block;
  if (job.phase != Phase::kConfirmed || !has_place || job.agreed.terms.start > now ||
      job.seen.ready)
    return;
  if (job.place.from_block) return leave_block(job, is_kept_by_owner || seen.begin > now, now);
  // Not ready at its start: the place goes back, and the promise is made anew when it is ready.
  // Where Slurm could start only some components it takes them back and lets them begin later.
  const bool begins_later = seen.begin > now && !job.component;
  const bool by_owner = (seen.held && !seen.held_by_site) || seen.dependent || begins_later;
  if (by_owner) {
    lose_place(site_, job, now);
    job.place.missed = true;
  } else {
    site_.exchange_of(job).unplace(job, now);
    site_.exchange_of(job).unreserve(job);
    job.place.retime = true;  // held by others, or sisters ran at other times than planned
  }
  job.due.note = true;
  job.cause = Cause::kNotReady;
}

void Planner::see_running(Job& job, const market_job_t& seen, Time now) {
  const bool is_first = job.phase != Phase::kRunning;
  if (is_first && job.seen.owner_changed &&
      (fingerprint_of(seen) != job.seen.fingerprint || confirmation_.has_other_price(job, seen)))
    confirmation_.buy_running(job, seen, now);
  Exchange& exchange = site_.exchange_of(job);
  const Time slack = exchange.settings.start_slack;
  if (is_first && site_.observes) see_would_start(job, seen, now);
  if (is_first) keep_size(site_, job, seen);
  if (is_first) {
    job.place.from_block = false;
    job.auction.set(&AuctionTurn::sent_back, false);
    job.auction.set(&AuctionTurn::room_since, 0);
    if (job.phase == Phase::kWaiting && job.agreed.bid.pot.empty()) run_unbilled(site_, job);
    const bool is_earlier = job.place.booked && job.agreed.terms.start > seen.start;
    if (site_.trades(job.agreed.bid.request.partition)) {
      if (is_earlier)  // sold from its true start on
        exchange.release(job.agreed.bid.request, job.agreed.terms.start, job.agreed.terms.start);
      if (is_earlier || !job.place.booked) exchange.promise(job.agreed.bid.request, seen.start);
    }
    if (!job.place.booked || job.agreed.terms.start > seen.start)
      job.agreed.terms.start = seen.start;
    if (job.place.missed && !job.agreed.terms.auctioned() && job.phase == Phase::kConfirmed) {
      job.agreed.terms.bought = now;
      job.agreed.counted = false;
      site_.set_lien(job, job.agreed.terms.price);
    }
    if (job.place.missed || job.place.retime) {  // Slurm was first: the promise begins with the run
      job.place.missed = job.place.retime = false;
      if (!job.agreed.terms.auctioned())
        job.agreed.terms.promise_anew(seen.start, job.agreed.bid.request.duration + slack);
    }
    job.place.booked = true;
    job.phase = Phase::kRunning;
    job.cause = Cause::kNone;
    job.place.start_failures = 0;
    job.run.edit().start = seen.start;
    job.run.edit().end = 0;
    job.due.note = true;  // so that the run is known even if its end is told to nobody
    job.place.bound = or_empty(seen.resv_name) == reservation_name(job);
    if (job.place.reserved && !job.place.bound) exchange.unreserve(job);
    if (job.agreed.terms.auctioned() && !job.run->unbilled) {
      exchange.meet_asks(job, placement_of(seen.allocs, seen.alloc_count, site_.cluster.nodes()),
                         limit_end(job, now));
    }
  }
  job.seen.owner_changed = false;
  job.seen.suspended = seen.state == MARKET_JOB_SUSPENDED;
  if (job.place.reserved && !may_lose_cores(job)) exchange.unreserve(job);  // it has its cores
  if (!job.seen.suspended && job.auction.exchange(&AuctionTurn::stopped, false))
    job.due.note = true;
  if (job.seen.suspended && job.auction->stopped && exchange.with_pots() == nullptr)
    site_.orders.add(MARKET_RESUME, job.id);  // stopped under other rules
  job.run.edit().ran = std::max<Time>(0, now - seen.start - seen.suspended_s);
  accrue(job);
  // A run past its end is booked a minute at a time.
  const Time end = seen.end > now ? seen.end : job.run->end > now ? job.run->end : now + kPastEnd;
  if (!is_first && end == job.run->end) return;
  job.run.edit().end = end;
  job.place.placement = placement_of(seen.allocs, seen.alloc_count, site_.cluster.nodes());
  if (is_first) site_.cluster.add_new_run({job.place.placement, end});
  site_.cluster.bookings().book(booking_key(job), job.place.placement, seen.start, end + slack);
  if (job.place.reserved && job.place.reserved_until != 0 &&
      end + slack > job.place.reserved_until) {
    market_order_t& order = site_.orders.add(MARKET_EXTEND, job.id);
    order.name = site_.orders.keep(reservation_name(job));
    order.end = job.place.reserved_until = end + slack;
  }
}

void Planner::drop_unseen(Time now) {
  site_.cluster.drop_others(site_.pass_number);
  site_.jobs.erase_awake_if([&](Job& job) {
    const bool is_gone = job.seen.pass != site_.pass_number &&
                         (job.phase == Phase::kEnded || now - job.seen.at >= kUnseenLife);
    if (is_gone && job.phase != Phase::kEnded) {
      site_.exchange_of(job).unplace(job, now);
      site_.accounts.void_lien(job, "the job is gone");
      if (job.phase != Phase::kRunning) site_.lessons.unlearn(job);
      site_.log(
          LogLevel::kInfo,
          fmt::format("job {} is gone and was not told to have ended: its lien returns", job.id));
    }
    return is_gone;
  });
}

}  // namespace market
