// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: jobs are found again after a crash, run again, and change. One file although it
// is long: what a job is made from again is what its note kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/market/buying.h"
#include "core/market/class_choice.h"
#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/explain.h"
#include "core/market/rates.h"
#include "core/market/reserved.h"
#include "core/market/seats.h"
#include "core/market/settlement.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

// Bytes with the place of an array's lanes, on hundreds of nodes: the tasks that run in it cannot move. A task's own note
// is short again.
constexpr std::size_t kLongestArrayNote = 1 << 15;

}  // namespace

std::string Confirmation::note_of(const Job& job) const {
  Note note;
  note.observed = site_.observes;
  note.token = job.token;
  note.account = job.agreed.bid.account;
  note.rule = job.agreed.terms.rule;
  note.price = job.agreed.terms.price;
  note.start = job.agreed.terms.start;
  note.end = job.agreed.terms.promised_end;
  note.ex_post = job.agreed.terms.ex_post;
  note.markup = job.agreed.terms.markup;
  note.submitted = job.agreed.bid_made;
  if (!job.agreed.terms.auctioned()) {
    note.accepted = job.agreed.terms.accepted;
    note.bought = job.agreed.terms.bought;
    note.missed = job.phase == Phase::kConfirmed && job.place.missed;
  }
  note.waiting = job.phase == Phase::kWaiting || job.run->unbilled;
  note.kept_back = job.auction->kept_back;
  note.wish = job.auction->wish;
  note.budget = job.agreed.texts.budget;
  if (job.component) note.budget_of_all = job.component->budget;
  note.rate_text = job.agreed.texts.rate;
  note.value = job.agreed.texts.value;
  note.quote = job.agreed.texts.quote;
  note.list = job.agreed.list;
  note.reserved = job.agreed.reserved;
  note.workload = job.agreed.texts.workload;
  note.malleable = job.agreed.texts.malleable;
  note.sized = job.run->sized;
  note.job_class = job.agreed.bid.request.job_class;
  note.work = job.agreed.texts.work;
  note.pot = job.agreed.bid.pot;
  note.utility = job.agreed.texts.utility;
  if (job.array) {
    note.array_budget = job.agreed.texts.array_budget;
    note.array_tasks = job.array->tasks;
    note.array_returned = job.array->returned;
    note.array_lost = job.array->lost;
    note.array_limit = job.array->limit;
    note.array_start = job.array->first_start;
  }
  if (const ArrayBlock* block = block_of(job)) {
    note.array_parted = job.array->parted;
    note.block = block_text(*block, job.place.first_task, job.place.until);
  }
  if (job.part) note.part_of = job.part->array;
  if (job.part) note.array_start = job.part->first_start;
  note.part_owed = job.part && job.part->owed;
  note.has_level = job.agreed.bid.level != 0;
  if (job.phase == Phase::kRunning) note.run_start = job.run->start;
  if (job.phase == Phase::kRunning && site_.observes) note.start = job.place.would_start;
  if (job.phase == Phase::kRunning && job.agreed.terms.auctioned() && job.auction->rated) {
    note.ran = job.run->accrued.seconds;
    note.accrued = job.run->accrued.credits;
    note.rate = job.auction->standing.rate;
    note.awarded = job.auction->awarded;
    note.pays = pays_text(job.auction->pays);
    note.goods = goods_text(job.auction->goods);
    note.stopped = job.auction->stopped;
  }
  std::string text = write_note(note);
  if (text.size() >= MARKET_NOTE_MAX) {  // of many nodes; what they ask then is what they get
    note.pays.clear();
    text = write_note(note);
  }
  if (!job.place.booked || job.phase != Phase::kConfirmed) return text;
  note.seats = seats_text(job.place.placement, site_.cluster.nodes());
  std::string longer = write_note(note);
  const std::size_t most = job.array ? kLongestArrayNote : MARKET_NOTE_MAX;
  return longer.size() < most ? longer : text;
}

// Whether two requests differ in nothing that has a price.
bool Confirmation::same_price_basis(const Request& a, const Request& b) const {
  const Exchange& exchange = site_.exchange_of(a);
  const MarketSettings& settings = exchange.settings;
  const auto priced = [&settings](Tres tres) {
    if (settings.configurations.empty())
      erase_if(tres, [&](const auto& entry) { return settings.weight_of(entry.first) <= 0; });
    return tres;
  };
  return a.duration == b.duration && a.partition == b.partition &&
         exchange.qos_factor(a.qos) == exchange.qos_factor(b.qos) &&
         priced(a.demand.tres) == priced(b.demand.tres);
}

bool Confirmation::has_other_price(const Job& job, const market_job_t& seen) const {
  const std::string& sold = job.agreed.bid.request.qos;
  if (or_empty(seen.qos) == sold) return false;
  const Exchange& exchange = site_.exchange_of(job);
  return exchange.qos_factor(lower_case(or_empty(seen.qos))) != exchange.qos_factor(sold);
}

Result<Request> Confirmation::request_of(const market_job_t& seen, const Request& before,
                                         bool new_shape) const {
  Request request = before;
  if (!or_empty(seen.partition).empty()) request.partition = seen.partition;
  request.qos = lower_case(or_empty(seen.qos));
  if (seen.time_limit_min != 0) request.duration = static_cast<Time>(seen.time_limit_min) * 60;
  if (new_shape) {
    auto demand = site_.demand_for(size_options(seen.size), request.partition);
    if (!demand) return tl::unexpected(demand.error());
    request.demand = std::move(*demand);
  }
  request.earliest = std::max(request.earliest, std::min(seen.begin, kFarthest));
  if (seen.deadline != 0)
    request.deadline = site_.window_end(request, seen.deadline, site_.last_pass);
  return request;
}

// After a crash the job's note tells what was agreed, and the ledger what is set aside.
void Confirmation::recall(Job& job, const Note& note, const market_job_t& seen) {
  job.token = note.token;
  set_account(job.agreed.bid, note.account);
  job.agreed.bid.request.job_class = note.job_class;
  job.agreed.texts = {note.budget,    note.value, note.quote,   note.rate_text,   note.workload,
                      note.malleable, note.work,  note.utility, note.array_budget};
  if (job.component) job.component->budget = note.budget_of_all;
  job.agreed.list = note.list;
  job.agreed.reserved = note.reserved;
  job.run.set(&Run::sized, note.sized);
  job.agreed.bid_made = note.submitted != 0 ? note.submitted : seen.submit;
  const auto worth = parse_worth(job.agreed.texts);
  job.agreed.bid.worth = worth ? *worth : Worth{note.price, std::nullopt};
  job.agreed.bid.pot = note.pot;
  if (!note.pot.empty()) job.agreed.bid.worth = Worth{Money(), std::nullopt};
  if (!note.work.empty()) job.agreed.bid.worth.work = parse_work(note.work).value_or(0);
  if (auto utility = parse_utility(note.utility)) job.agreed.bid.utility = std::move(*utility);
  job.agreed.terms = Terms{note.price, note.start, note.end, note.rule, note.ex_post, note.markup};
  job.agreed.terms.accepted = note.accepted != 0 ? note.accepted : job.agreed.bid_made;
  job.agreed.terms.bought = note.bought != 0 ? note.bought : job.agreed.bid_made;
  job.phase = note.waiting ? Phase::kWaiting : Phase::kConfirmed;
  job.agreed.told = !note.waiting && (!note.settled || note.keeps_price) && note.pot.empty();
  job.agreed.bid.level = note.has_level ? seen.deadline : 0;
  if (note.array_tasks > 0) site_.arrays.begin(job, seen, &note);
  site_.arrays.join(job, note);
  resume(job, note, seen.start);
  if (job.agreed.terms.auctioned()) job.auction.edit().average.partial = true;
  if (site_.observes && note.run_start != 0 && note.run_start == seen.start)
    job.place.would_start = note.start;
  site_.accounts.claim_lien(job, note.settled);
}

void Confirmation::adopt(Job& job, const Note& note, const market_job_t& told, Time now) {
  job.auction.set(&AuctionTurn::kept_back, note.kept_back);
  if (note.wish) job.auction.edit().wish = note.wish;
  const market_job_t seen = as_owner_wishes(told, job);
  job.seen.fingerprint = fingerprint_of(seen);
  recall(job, note, seen);
  Request base;
  base.earliest = std::max(seen.begin, job.agreed.bid_made);
  base.partition = or_empty(seen.partition);
  const MarketSettings& settings = site_.exchange_of(base).settings;
  base.payer = job.agreed.bid.account;
  base.job_class = note.job_class;
  base.deadline = job.agreed.bid_made + settings.horizon - settings.start_slack;
  const double work = job.agreed.bid.worth.work;
  const ContractClass* recurrent = work > 0 ? settings.job_class(note.job_class) : nullptr;
  if (recurrent != nullptr) {
    const Time due = due_by(*recurrent, work, job.agreed.bid_made);
    base.deadline = std::min(base.deadline, due - settings.start_slack);
  }
  auto request = request_of(seen, base, true);
  if (!request) {
    site_.log(LogLevel::kError, fmt::format("job {}: {}", job.id, request.error().text));
    request = base;
  }
  request->job_class = class_after_change(settings, *request, job.agreed.bid.worth);
  if (note.reserved && note.reserved->length > 0) request->duration = note.reserved->length;
  job.agreed.bid.request = *request;
  fit_budget(job.agreed.bid);
  const bool was_malleable = !job.agreed.texts.malleable.empty();
  make_malleable_again(site_, seen, &job);
  if (was_malleable && !job.agreed.bid.malleable)  // it started, and no pass saw that
    job.agreed.terms.price =
        std::min(job.agreed.terms.price, site_.exchange_of(job).most_it_costs(job.agreed.bid));
  resettle_old_runs(job, note, seen, now);
  const char* reason = reason_of(site_, job);
  if (job.auction->kept_back && or_empty(seen.state_desc) == or_empty(reason))
    job.due.reason_set = or_empty(reason);
  if (note.waiting) {
    job.cause = Cause::kNoFunds;
    job.agreed.needed = note.price;
    job.due.hold = true;
    return;
  }
  if (note.settled) {  // a run ended and the next has not been planned
    job.place.retime = job.due.note = true;
    job.place.missed = !note.keeps_price;  // it buys again
  }
  if (note.missed && seen.state == MARKET_JOB_PENDING) {  // and its place was given back
    job.place.missed = true;
    job.cause = Cause::kNotReady;
    return;
  }
  if (job.agreed.bid.pot.empty()) site_.set_lien(job, job.agreed.terms.price);
  if (block_of(job) != nullptr) {
    job.place.bound = or_empty(seen.resv_name) == reservation_name(job);
    job.place.bound_at = now;
    job.place.reserved_until = job.place.until;
  }
  // Placed when all jobs have been seen: what runs comes first.
  if (seen.state == MARKET_JOB_PENDING && !note.settled && !job.agreed.terms.auctioned())
    job.place.adopt_seats = note.seats;
}

void Confirmation::place_known(Job& job, const NodeNames& names, Time now) {
  if (job.phase != Phase::kConfirmed || !job.place.adopt_seats) return;
  auto placement = placement_from(*job.place.adopt_seats, names, has_begun(job, now));
  if (!placement) return;
  job.place.adopt_seats.reset();
  if (block_of(job) != nullptr && job.place.until > now)
    return site_.exchange_of(job).place_block(job, std::move(*placement), job.place.until);
  const Time start =
      job.agreed.reserved ? job.agreed.terms.start : std::max(now, job.agreed.terms.start);
  site_.exchange_of(job).place(job, Choice{start, job.agreed.terms.price, std::move(*placement)});
}

// Everybody gets the old place again; those whose place was not kept take what is left at their start.
void Confirmation::place_adopted(Time now) {
  const auto needs = [](const Job& job) { return job.place.adopt_seats.has_value(); };
  const JobRange awake = site_.jobs.awake();
  if (std::none_of(awake.begin(), awake.end(), needs)) return;
  const NodeNames names(site_.cluster.nodes());
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) place_known(*job, names, now);
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    if (!job->place.adopt_seats) continue;
    if (has_begun(*job, now)) continue;  // it stays when it is, wherever that was
    job->place.adopt_seats.reset();
    if (job->component) continue;  // it gets a place together with the others
    if (block_of(*job) != nullptr)
      site_.exchange_of(*job).unreserve(*job);  // it is of another place
    const Time start = std::max(now, job->agreed.terms.start);
    auto choice = site_.earliest_place(*job, start, start);
    if (choice) site_.exchange_of(*job).place(*job, std::move(*choice));
    job->due.note = true;
  }
}

// Runs before the present one whose end was not written: they ended by a requeue, which is the
// job's new submission for Slurm.
void Confirmation::resettle_old_runs(const Job& job, const Note& note, const market_job_t& seen,
                                     Time now) {
  for (const ledger::Segment& segment : site_.accounts.take_older_liens(job, seen.restart)) {
    Job old = job;
    old.token = segment.key.bid;
    old.submitted = segment.key.submitted;
    old.restart = segment.key.restart;
    old.agreed.lien = segment.quoted;
    old.agreed.lien_account = segment.account;
    const std::string& payer = segment.account;  // a pot names its account last
    old.agreed.bid.pot = payer.starts_with('@') ? payer : "";
    set_account(old.agreed.bid, payer.substr(payer.rfind('/') + 1));
    old.agreed.terms = Terms{segment.quoted,    segment.planned_start, segment.promised_end,
                             segment.mechanism, note.ex_post,          note.markup};
    old.agreed.terms.accepted = job.agreed.terms.accepted;
    old.agreed.bid.request.partition = segment.partition;
    if (!old.agreed.terms.auctioned()) {
      // A start that was moved forward leaves more until the promise than the job had bought.
      Time limit = segment.promised_end - segment.planned_start -
                   site_.exchange_of(old.agreed.bid.request).settings.start_slack;
      if (seen.time_limit_min != 0)
        limit = std::min(limit, static_cast<Time>(seen.time_limit_min) * 60);
      old.agreed.bid.request.duration = std::max<Time>(1, limit);
    }
    old.phase = Phase::kConfirmed;
    if (Run* run = old.run.made()) run->accrued = {};
    if (note.settled && note.restart == old.restart)
      old.run.edit().resettle = {note.charged, note.refunded, note.rest, note.rest_until};
    const bool told = note.run_start != seen.start && note.run_start >= old.submitted;
    const Time start = told ? note.run_start : 0;
    resume(old, note, start);
    end_by_requeue(old, seen, start, std::max(seen.submit, start), now);
  }
}

// A run that is over though nobody told: [start, end), or it had not begun when `start` is 0.
void Confirmation::end_by_requeue(Job& job, const market_job_t& seen, Time start, Time end,
                                  Time now) {
  market_job_t ended = seen;
  ended.restart = job.restart;
  ended.state = MARKET_JOB_REQUEUED;
  ended.start = start;
  ended.end = start == 0 ? 0 : end;
  ended.suspended_s = 0;
  ended.allocs = nullptr;
  ended.alloc_count = 0;
  ended.tres_alloc = nullptr;
  settlement_.settle(job, ended, now);
}

// The job is in the queue again, or runs again, as its next run.
void Confirmation::begin_again(Job& job, const market_job_t& seen, Time now) {
  const Phase phase = job.phase == Phase::kWaiting ? Phase::kWaiting : Phase::kConfirmed;
  keep_size(site_, job, seen);
  if (job.run->preempted) settlement_.settle_preempted(job, true, now);
  if (job.phase != Phase::kEnded) {
    Time end = now;  // at the latest when the job was in the queue again, or ran again
    for (const Time later : {seen.submit, seen.start}) {
      if (later > job.run->start) end = std::min(end, later);
    }
    end_by_requeue(job, seen, job.run->start, end, now);
  }
  if (job.part && job.run->keeps_price) job.part->owed = false;  // its owner did not send it back
  job.restart = seen.restart;
  job.submitted = seen.submit;
  job.seen.begin = seen.begin;
  if (Run* run = job.run.made()) {
    run->settled_note.clear();
    run->resettle.reset();
  }
  forget_run(job);
  job.place.start_failures = 0;
  job.place.would_start = 0;
  job.place.missed = false;
  job.auction.set(&AuctionTurn::stood, false);
  job.auction.set(&AuctionTurn::refusals, 0);
  job.auction.set(&AuctionTurn::reach, 1);
  job.place.reserved = job.place.bound = job.agreed.revoked = false;
  job.due.reason_set = {};
  job.phase = phase;
}

// A new run of the same bid; its promise begins anew. What Slurm or an operator ended goes on at
// its price, what its user ended is quoted anew (unless it runs already: then nothing can hold it).
void Confirmation::new_run(Job& job, const market_job_t& seen, Time now) {
  begin_again(job, seen, now);
  job.due.note = true;
  const bool was_unbilled = job.run.exchange(&Run::unbilled, false);
  const bool by_pot = !job.agreed.bid.pot.empty();
  if (!was_unbilled && (by_pot || !job.run->keeps_price) && seen.state == MARKET_JOB_PENDING) {
    Request request = job.agreed.bid.request;
    request.earliest = std::max({request.earliest, seen.begin, now});
    if (seen.deadline == 0 && job.agreed.bid.worth.work == 0)
      request.deadline = std::max(request.deadline, site_.window_end(request, 0, now));
    job.agreed.told = false;
    job.agreed.cap.reset();
    buy_again(site_, job, request, 0, now);
    return;
  }
  const bool is_covered =
      by_pot || job.agreed.terms.price <= site_.accounts.available(job.agreed.bid.account);
  if (was_unbilled || !is_covered) {
    return site_.exchange_of(job).hold(job, Cause::kNoFunds, job.agreed.terms.price, now);
  }
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.place.retime = true;
  site_.set_lien(job, by_pot ? Money() : job.agreed.terms.price);
}

// What its owner changed is priced anew; what Slurm, a site's plugin or an operator changed never
// costs its owner more.
void Confirmation::changed(Job& job, const market_job_t& seen, Time now) {
  const bool by_owner = std::exchange(job.seen.owner_changed, false);
  if (job.agreed.bid.level != 0 && seen.deadline != 0) job.agreed.bid.level = seen.deadline;
  if (by_owner) {
    job.agreed.told = false;
    job.agreed.cap.reset();
    job.place.counted_cpus = 0;
  }
  job.place.count_due = true;
  job.place.count_at = 0;
  job.place.start_failures = 0;
  job.auction.set(&AuctionTurn::reach, 1);
  auto request = request_of(seen, job.agreed.bid.request, true);
  if (!request) {
    site_.log(LogLevel::kInfo, fmt::format("job {}: {}", job.id, request.error().text));
    return site_.exchange_of(job).hold(job, Cause::kResources, job.agreed.terms.price, now);
  }
  const std::string account = lower_case(or_empty(seen.account));
  const bool same_account = account.empty() || account == job.agreed.bid.account;
  if (!account.empty()) set_account(job.agreed.bid, account);
  request->payer = job.agreed.bid.account;
  request->job_class =
      class_after_change(site_.exchange_of(*request).settings, *request, job.agreed.bid.worth);
  job.seen.tres = or_empty(seen.tres_req);
  raise_to_count(job, *request, seen.size.tasks);
  if (job.phase == Phase::kWaiting) {
    job.agreed.bid.request = *request;
    fit_budget(job.agreed.bid);
    job.place.retry_at = 0;
    if (job.cause == Cause::kNotStarted) job.cause = Cause::kResources;
  } else if (by_owner && same_account && is_cut(site_, job, *request, now)) {
    job.agreed.told = true;
    cut(site_, job, *request, now);
  } else if (by_owner) {
    buy_again(site_, job, *request, job.agreed.terms.start, now);
  } else {
    move_at_told_price(site_, job, *request, now);
  }
}

}  // namespace market
