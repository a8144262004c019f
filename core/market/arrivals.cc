// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: accepted bids become jobs, or turn out to have become none.
#include <algorithm>
#include <utility>

#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/text.h"

namespace market {

void identify(Job& job, const market_job_t& seen) {
  job.id = seen.job_id;
  job.array_job_id = seen.array_job_id;
  job.array_task_id = seen.array_task_id;
  job.restart = seen.restart;
  job.submitted = seen.submit;
  job.user = or_empty(seen.user);
  job.seen.tres = or_empty(seen.tres_req);
  job.agreed.bid.uid = seen.uid;
  job.seen.throttle = seen.array_throttle;
  if (seen.het_job_id != 0) job.component = Component{seen.het_job_id, seen.het_offset};
}

Job* Confirmation::welcome(const market_job_t& seen, Time now) {
  auto note = site_.note_in(or_empty(seen.note));
  if (!note || note->refused) return nullptr;
  const bool is_part = note->array_tasks > 0 && seen.array_tasks_pending == 0;
  const bool is_of_block = is_part && !note->block.empty();
  if (is_part) note = site_.arrays.take_part(*note, seen, now);
  Job& job = site_.jobs.make(seen.job_id);
  identify(job, seen);
  job.seen.begin = seen.begin;
  job.seen.fingerprint = fingerprint_of(seen);
  const auto provisional = site_.jobs.provisionals().find(note->token);
  if (!is_part && provisional != site_.jobs.provisionals().end()) {
    confirm(job, provisional->second, seen, now);
  } else {
    adopt(job, *note, seen, now);
  }
  if (is_of_block && seen.state == MARKET_JOB_PENDING) {
    job.place.from_block = true;
    job.place.not_before = note->start;
    job.place.adopt_seats.reset();
  }
  return &job;
}

// The next unclaimed task of the bid becomes this job; the acceptance's lien in memory goes over to
// it.
void Confirmation::take_task(Job& job, Provisional& provisional) {
  auto task = std::find_if(provisional.tasks.begin(), provisional.tasks.end(),
                           [](const auto& t) { return !t.claimed; });
  const bool is_extra = task == provisional.tasks.end();
  if (is_extra) task = std::prev(provisional.tasks.end());
  provisional.seen_pass = site_.pass_number;
  job.token = provisional.token;
  job.agreed.bid = provisional.bid;
  job.agreed.texts = provisional.texts;
  job.agreed.bid_made = provisional.made;
  job.agreed.user_held = provisional.user_held;
  if (job.component && provisional.component) job.component->budget = provisional.component->budget;
  job.agreed.list = provisional.list;
  job.agreed.reserved = provisional.reserved;
  job.agreed.terms = task->terms;
  job.phase = Phase::kWaiting;
  job.cause = Cause::kNoFunds;
  job.agreed.needed = job.agreed.terms.price;
  if (is_extra || !task->funded) {
    if (!is_extra) site_.jobs.count_claimed();
    task->claimed = true;
    return;
  }
  site_.cluster.bookings().rename(
      booking_key(provisional.token, static_cast<std::size_t>(task - provisional.tasks.begin())),
      booking_key(job));
  task->claimed = true;
  site_.jobs.count_claimed();
  if (!job.agreed.terms.auctioned()) {
    job.place.placement = std::move(task->placement);
    job.place.booked = true;  // promised to the mechanism since the acceptance
  }
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.agreed.told = job.agreed.bid.pot.empty();  // by a pot it has no price
  site_.accounts.give_back(job.agreed.bid.account, job.agreed.terms.price);
}

void Confirmation::confirm(Job& job, Provisional& provisional, const market_job_t& seen, Time now) {
  const std::string token = provisional.token;
  const auto [counted_cpus, counted_nodes] =
      std::pair(provisional.counted_cpus, provisional.counted_nodes);
  take_task(job, provisional);
  if (job.agreed.bid.array_tasks > 0) site_.arrays.begin(job, seen, nullptr);
  job.due.release =
      job.phase == Phase::kConfirmed && provisional.comes_held && !provisional.user_held;
  job.auction.set(&AuctionTurn::kept_back,
                  job.due.release &&
                      site_.exchange_of(provisional.bid.request).holds_until_turn(provisional.bid));
  const bool done = std::all_of(provisional.tasks.begin(), provisional.tasks.end(),
                                [](const auto& t) { return t.claimed; });
  if (!provisional.texts.quote.empty()) {
    site_.menus.used(provisional.bid.uid, token);
    site_.held_quotes.used(provisional.bid.uid, token);
  }
  if (done) site_.jobs.forget_provisional(token);
  job.agreed.bid.uid = seen.uid;
  if (job.phase != Phase::kConfirmed) {
    job.due.hold = job.due.note = true;
    return;
  }
  if (!job.agreed.terms.auctioned()) job.agreed.terms.accepted = site_.slips.accepted(job, now);
  settle_terms(job, seen, now);
  job.due.note = true;
  hear_count(job, seen, counted_cpus, counted_nodes, now);
}

void Confirmation::drop_provisional(const std::string& token) {
  const auto entry = site_.jobs.provisionals().find(token);
  if (entry == site_.jobs.provisionals().end()) return;
  Provisional& provisional = entry->second;
  if (!provisional.texts.quote.empty()) site_.menus.give_back(provisional.bid.uid, token);
  for (std::size_t i = 0; i < provisional.tasks.size(); ++i) {
    const Provisional::Task& task = provisional.tasks[i];
    if (task.claimed) continue;
    site_.jobs.count_claimed();
    if (!task.funded) continue;
    site_.cluster.bookings().cancel(booking_key(token, i));
    if (!task.terms.auctioned() && site_.trades(provisional.bid.request.partition))
      site_.exchange_of(provisional.bid.request).release_terms(provisional.bid.request, task.terms);
    site_.accounts.give_back(provisional.bid.account, task.terms.price);
  }
  if (!provisional.texts.quote.empty())
    site_.held_quotes.give_back(provisional.bid.uid, token, site_.last_pass);
  site_.jobs.forget_provisional(token);
}

void Confirmation::drop_provisionals(Time now) {
  site_.menus.forget(now);
  site_.held_quotes.expire(now);
  for (const std::string& token : site_.jobs.take_gone(site_.pass_number, now))
    drop_provisional(token);
}

void Confirmation::forget_run(Job& job) {
  if (Run* run = job.run.made()) {
    run->start = run->end = run->ran = 0;
    run->accrued = {};
  }
  if (AuctionTurn* turn = job.auction.made()) {
    turn->awarded = false;
    turn->pays.clear();
    turn->goods.clear();
    turn->stopped = turn->unstoppable = false;
  }
}

}  // namespace market
