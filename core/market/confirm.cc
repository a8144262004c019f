// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: accepted bids become jobs, jobs are found again after a crash, and change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/market/convert.h"
#include "core/market/market.h"
#include "core/market/seats.h"
#include "core/market/text.h"
#include "core/plan/whole_nodes.h"
#include "core/util/account_name.h"

namespace market {

std::string Market::note_of(const Job& job) const {
  Note note;
  note.token = job.token;
  note.account = job.bid.account;
  note.rule = job.terms.rule;
  note.price = job.terms.price;
  note.start = job.terms.start;
  note.end = job.terms.promised_end;
  note.free_after = job.terms.free_after;
  note.submitted = job.bid_made;
  note.waiting = job.phase == Phase::kWaiting || job.unbilled;
  note.budget = job.texts.budget;
  note.value = job.texts.value;
  if (job.phase == Phase::kRunning) note.run_start = job.run_start;
  if (job.phase == Phase::kRunning && job.terms.auctioned() && job.rated) {
    note.ran = job.accrued.seconds;
    note.accrued = job.accrued.credits;
    note.rate = job.standing.rate;
    note.awarded = job.awarded;
  }
  std::string text = write_note(note);
  if (!job.placed || job.phase != Phase::kConfirmed) return text;
  note.seats = seats_text(job.placement, cluster_.nodes());
  std::string longer = write_note(note);
  return longer.size() < MARKET_NOTE_MAX ? longer : text;
}

void identify(Job& job, const market_job_t& seen) {
  job.id = seen.job_id;
  job.array_job_id = seen.array_job_id;
  job.array_task_id = seen.array_task_id;
  job.restart = seen.restart;
  job.submitted = seen.submit;
  job.user = or_empty(seen.user);
  job.tres_text = or_empty(seen.tres_req);
  job.bid.uid = seen.uid;
  job.throttle = seen.array_throttle;
}

Job* Market::welcome(const market_job_t& seen, Time now) {
  const auto note = read_note(or_empty(seen.note));
  if (!note) return nullptr;
  Job& job = jobs_[seen.job_id];
  job = Job{};
  identify(job, seen);
  job.begin = seen.begin;
  job.fingerprint = fingerprint_of(seen);
  const auto provisional = provisionals_.find(note->token);
  if (provisional != provisionals_.end()) {
    confirm(job, provisional->second, seen, now);
  } else {
    adopt(job, *note, seen, now);
  }
  return &job;
}

// The next unclaimed task of the bid becomes this job; the acceptance's lien in memory goes over to
// it.
void Market::take_task(Job& job, Provisional& provisional) {
  auto task = std::find_if(provisional.tasks.begin(), provisional.tasks.end(),
                           [](const auto& t) { return !t.claimed; });
  const bool is_extra = task == provisional.tasks.end();
  if (is_extra) task = std::prev(provisional.tasks.end());
  provisional.seen_pass = pass_number_;
  job.token = provisional.token;
  job.bid = provisional.bid;
  job.texts = provisional.texts;
  job.bid_made = provisional.made;
  job.user_held = provisional.user_held;
  job.terms = task->terms;
  job.phase = Phase::kWaiting;
  job.cause = Cause::kNoFunds;
  job.needed = job.terms.price;
  if (is_extra || !task->funded) {
    if (!is_extra) --provisional_tasks_;
    task->claimed = true;
    return;
  }
  cluster_.bookings().rename(
      booking_key(provisional.token, static_cast<std::size_t>(task - provisional.tasks.begin())),
      booking_key(job));
  task->claimed = true;
  --provisional_tasks_;
  if (!job.terms.auctioned()) {
    job.placement = std::move(task->placement);
    job.placed = true;  // promised to the mechanism since the acceptance
  }
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.told = true;
  accounts_.give_back(job.bid.account, job.terms.price);
}

// Whether two requests differ in nothing that has a price.
bool Market::same_price_basis(const Request& a, const Request& b) const {
  const MarketSettings& settings = exchange_of(a).settings;
  const auto priced = [&settings](Tres tres) {
    if (settings.configurations.empty())
      std::erase_if(tres, [&](const auto& entry) { return settings.weight_of(entry.first) <= 0; });
    return tres;
  };
  return a.duration == b.duration && a.partition == b.partition &&
         priced(a.demand.tres) == priced(b.demand.tres);
}

void Market::confirm(Job& job, Provisional& provisional, const market_job_t& seen, Time now) {
  const std::string token = provisional.token;
  const auto [counted_cpus, counted_nodes] =
      std::pair(provisional.counted_cpus, provisional.counted_nodes);
  take_task(job, provisional);
  job.release_due =
      job.phase == Phase::kConfirmed && provisional.comes_held && !provisional.user_held;
  const bool done = std::all_of(provisional.tasks.begin(), provisional.tasks.end(),
                                [](const auto& t) { return t.claimed; });
  if (done) forget_provisional(token);
  job.bid.uid = seen.uid;
  if (job.phase != Phase::kConfirmed) {
    job.hold_due = job.note_due = true;
    return;
  }
  settle_terms(job, seen, now);
  job.note_due = true;
  hear_count(job, seen, counted_cpus, counted_nodes, now);
}

namespace {

constexpr Time kFarthest = Time{1} << 40;  // sums with it stay in range

}  // namespace

Result<Request> Market::request_of(const market_job_t& seen, const Request& before,
                                   bool new_shape) const {
  Request request = before;
  if (!or_empty(seen.partition).empty()) request.partition = seen.partition;
  if (seen.time_limit_min != 0) request.duration = static_cast<Time>(seen.time_limit_min) * 60;
  if (new_shape) {
    auto demand = demand_for(size_options(seen.size), request.partition);
    if (!demand) return tl::unexpected(demand.error());
    request.demand = std::move(*demand);
  }
  request.earliest = std::max(request.earliest, std::min(seen.begin, kFarthest));
  if (seen.deadline != 0) request.deadline = window_end(request, seen.deadline, last_pass_);
  return request;
}

// After a crash the job's note tells what was agreed, and the ledger what is set aside.
void Market::recall(Job& job, const Note& note, const market_job_t& seen) {
  job.token = note.token;
  job.bid.account = note.account;
  job.texts = {note.budget, note.value};
  job.bid_made = note.submitted != 0 ? note.submitted : seen.submit;
  const auto worth = parse_worth(note.budget, note.value);
  job.bid.worth = worth ? *worth : Worth{note.price, std::nullopt};
  job.terms = Terms{note.price, note.start, note.end, note.rule, note.free_after};
  job.phase = note.waiting ? Phase::kWaiting : Phase::kConfirmed;
  job.told = !note.waiting && (!note.settled || note.keeps_price);
  resume(job, note, seen.start);
  accounts_.claim_lien(job, note.settled);
}

void Market::adopt(Job& job, const Note& note, const market_job_t& seen, Time now) {
  recall(job, note, seen);
  Request base;
  base.earliest = std::max(seen.begin, job.bid_made);
  base.partition = or_empty(seen.partition);
  const MarketSettings& settings = exchange_of(base).settings;
  base.deadline = job.bid_made + settings.horizon - settings.start_slack;
  auto request = request_of(seen, base, true);
  if (!request) {
    log_(LogLevel::kError, fmt::format("job {}: {}", job.id, request.error().text));
    request = base;
  }
  job.bid.request = *request;
  resettle_old_runs(job, note, seen, now);
  if (note.waiting) {
    job.cause = Cause::kNoFunds;
    job.needed = note.price;
    job.hold_due = true;
    return;
  }
  if (note.settled) {  // a run ended and the next has not been planned
    job.retime = job.note_due = true;
    job.missed = !note.keeps_price;  // it buys again
  }
  set_lien(job, job.terms.price);
  // Placed when all jobs have been seen: what runs comes first.
  if (seen.state == MARKET_JOB_PENDING && !note.settled && !job.terms.auctioned())
    job.adopt_seats = note.seats;
}

// Everybody gets the old place again; those whose place was not kept take what is left at their
// start.
void Market::place_adopted(Time now) {
  const auto needs = [](const auto& entry) { return entry.second.adopt_seats.has_value(); };
  if (std::none_of(jobs_.begin(), jobs_.end(), needs)) return;
  std::vector<Job*> without;
  for (Job* job : in_order(Phase::kConfirmed)) {
    if (!job->adopt_seats) continue;
    auto placement = placement_from(*job->adopt_seats, cluster_.nodes());
    job->adopt_seats.reset();
    if (!placement) {
      without.push_back(job);
      continue;
    }
    place(*job, Choice{std::max(now, job->terms.start), job->terms.price, std::move(*placement)});
  }
  for (Job* job : without) {
    const Time start = std::max(now, job->terms.start);
    auto choice = earliest_place(job->bid.request, start, start, booking_key(*job));
    if (choice) place(*job, std::move(*choice));
    job->note_due = true;
  }
}

// Runs before the present one whose end was not written: they ended by a requeue, which is the
// job's new submission for Slurm.
void Market::resettle_old_runs(const Job& job, const Note& note, const market_job_t& seen,
                               Time now) {
  for (const ledger::Segment& segment : accounts_.take_older_liens(job, seen.restart)) {
    Job old = job;
    old.token = segment.key.bid;
    old.submitted = segment.key.submitted;
    old.restart = segment.key.restart;
    old.lien = segment.quoted;
    old.lien_account = old.bid.account = segment.account;
    old.terms =
        Terms{segment.quoted, segment.planned_start, segment.promised_end, segment.mechanism};
    old.bid.request.partition = segment.partition;
    if (!old.terms.auctioned()) {
      // A start that was moved forward leaves more until the promise than the job had bought.
      Time limit = segment.promised_end - segment.planned_start -
                   exchange_of(old.bid.request).settings.start_slack;
      if (seen.time_limit_min != 0)
        limit = std::min(limit, static_cast<Time>(seen.time_limit_min) * 60);
      old.bid.request.duration = std::max<Time>(1, limit);
    }
    old.phase = Phase::kConfirmed;
    old.accrued = {};
    if (note.settled && note.restart == old.restart)
      old.resettle = std::pair(note.charged, note.refunded);
    const bool told = note.run_start != seen.start && note.run_start >= old.submitted;
    const Time start = told ? note.run_start : 0;
    resume(old, note, start);
    end_by_requeue(old, seen, start, std::max(seen.submit, start), now);
  }
}

// A run that is over though nobody told: [start, end), or it had not begun when `start` is 0.
void Market::end_by_requeue(Job& job, const market_job_t& seen, Time start, Time end, Time now) {
  market_job_t ended = seen;
  ended.restart = job.restart;
  ended.state = MARKET_JOB_REQUEUED;
  ended.start = start;
  ended.end = start == 0 ? 0 : end;
  ended.suspended_s = 0;
  ended.allocs = nullptr;
  ended.alloc_count = 0;
  ended.tres_alloc = nullptr;
  settle(job, ended, now);
}

void Market::forget_run(Job& job) {
  job.run_start = job.run_end = job.ran = 0;
  job.accrued = {};
  job.awarded = false;
}

// The job is in the queue again, or runs again, as its next run.
void Market::begin_again(Job& job, const market_job_t& seen, Time now) {
  const Phase phase = job.phase == Phase::kWaiting ? Phase::kWaiting : Phase::kConfirmed;
  if (job.preempted) settle_preempted(job, true, now);
  if (job.phase != Phase::kEnded) {
    Time end = now;  // at the latest when the job was in the queue again, or ran again
    for (const Time later : {seen.submit, seen.start}) {
      if (later > job.run_start) end = std::min(end, later);
    }
    end_by_requeue(job, seen, job.run_start, end, now);
  }
  job.restart = seen.restart;
  job.submitted = seen.submit;
  job.begin = seen.begin;
  job.settled_note.clear();
  job.resettle.reset();
  forget_run(job);
  job.start_failures = 0;
  job.stood = job.missed = false;
  job.reserved = job.bound = job.revoked = false;
  job.reason_set = {};
  job.phase = phase;
}

// A new run of the same bid; its promise begins anew. What Slurm or an operator ended goes on at
// its price, what its user ended is quoted anew (unless it runs already: then nothing can hold it).
void Market::new_run(Job& job, const market_job_t& seen, Time now) {
  begin_again(job, seen, now);
  job.note_due = true;
  const bool was_unbilled = std::exchange(job.unbilled, false);
  if (!was_unbilled && !job.keeps_price && seen.state == MARKET_JOB_PENDING) {
    Request request = job.bid.request;
    request.earliest = std::max({request.earliest, seen.begin, now});
    if (seen.deadline == 0)
      request.deadline = std::max(request.deadline, window_end(request, 0, now));
    job.told = false;
    renegotiate(job, request, 0, now);
    return;
  }
  if (was_unbilled || job.terms.price > accounts_.available(job.bid.account)) {
    return hold(job, Cause::kNoFunds, job.terms.price, now);
  }
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.retime = true;
  set_lien(job, job.terms.price);
}

// What its owner changed is priced anew; what Slurm, a site's plugin or an operator changed never
// costs its owner more.
void Market::changed(Job& job, const market_job_t& seen, Time now) {
  const bool by_owner = std::exchange(job.owner_changed, false);
  if (by_owner) {
    job.told = false;
    job.counted_cpus = 0;
  }
  job.count_due = true;
  job.count_at = 0;
  job.start_failures = 0;
  auto request = request_of(seen, job.bid.request, true);
  if (!request) {
    log_(LogLevel::kInfo, fmt::format("job {}: {}", job.id, request.error().text));
    return hold(job, Cause::kResources, job.terms.price, now);
  }
  const std::string account = lower_case(or_empty(seen.account));
  if (!account.empty()) job.bid.account = account;
  job.tres_text = or_empty(seen.tres_req);
  raise_to_count(job, *request, seen.size.tasks);
  if (job.phase == Phase::kWaiting) {
    job.bid.request = *request;
    job.retry_at = 0;
    if (job.cause == Cause::kNotStarted) job.cause = Cause::kResources;
  } else if (by_owner) {
    renegotiate(job, *request, job.terms.start, now);
  } else {
    move_at_told_price(job, *request, now);
  }
}

// Slurm started the job after its owner's change and before a pass saw that. Nothing can hold it any
// more: it costs what the change asks now, but not more than its bid.
void Market::buy_running(Job& job, const market_job_t& seen, Time now) {
  const auto changed_to = request_of(seen, job.bid.request, true);
  if (!changed_to || job.phase == Phase::kWaiting || job.terms.auctioned() ||
      same_price_basis(*changed_to, job.bid.request))
    return;
  unplace(job, now);
  job.bid.request = *changed_to;
  job.retime = true;
  job.note_due = true;
  Request at_once = *changed_to;
  at_once.earliest = now;
  at_once.deadline = now + at_once.duration;
  const PriceList list = exchange_of(at_once).price_list(at_once, now);
  const Money most = most_it_costs(job.bid);
  const auto asked = list.credits.empty() || !std::isfinite(list.credits.front())
                         ? most
                         : Money::from_credits(list.credits.front()).value_or(most);
  job.terms.price = std::clamp(asked, std::min(job.terms.price, most), most);
  set_lien(job, job.terms.price);
}

// A new quote for a changed request: at the start that was promised if that can be had, else at the
// best one.
bool Market::renegotiate(Job& job, const Request& request, Time keep_start, Time now) {
  Exchange& exchange = exchange_of(request);
  if (exchange.auction != nullptr) return rejoin(job, request, now);
  unplace(job, now);
  unreserve(job);
  job.bid.request = request;
  const Money available = accounts_.can_pay(job.bid.account, job);
  const bool may_pay = accounts_.may_pay(job.bid.account, job.bid.uid);
  StartSpans closed = closed_by_sisters(job);
  Wish wish = wish_for(job.bid, job.bid_made);
  wish.only_start = keep_start;
  wish.full = &closed;
  Found found = find(request, wish, now);
  if (!found.choice || !affordable(job.bid, job.bid_made, *found.choice) ||
      found.choice->price > available) {
    wish.only_start = 0;
    found = find(request, wish, now);
  }
  keep_told(job, found, now);
  const Money price = found.choice ? found.choice->price : job.terms.price;
  Cause cause = Cause::kNone;
  if (!found.choice) {
    cause = found.for_sale        ? Cause::kResources
            : job.bid.worth.value ? Cause::kOutbid
                                  : Cause::kResources;
  } else if (!affordable(job.bid, job.bid_made, *found.choice)) {
    cause = Cause::kOutbid;
  } else if (price > available || !may_pay) {
    cause = Cause::kNoFunds;
  }
  if (cause != Cause::kNone) {
    hold(job, cause, price, now);
    return false;
  }
  job.terms = Terms{price, found.choice->start,
                    found.choice->start + request.duration + exchange.settings.start_slack,
                    std::string(exchange.rule()), found.choice->free_after};
  place(job, std::move(*found.choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.told = true;
  set_lien(job, price);
  teach(job, now);
  job.note_due = true;
  return true;
}

}  // namespace market
