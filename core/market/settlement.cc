// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a run becomes money, once. One file although it is long: each end is one rule here.
#include "core/market/settlement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/ledger/records.h"
#include "core/market/average_shares.h"
#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/late_price.h"
#include "core/market/owners.h"
#include "core/market/reserved.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

bool is_resold(const MarketSettings& settings, const Job& job) {
  return settings.charge_basis == ChargeBasis::kResale && !job.agreed.terms.auctioned();
}

bool never_began(const market_job_t& ended, const Bill& bill) {
  return !bill.ran && (ended.state == MARKET_JOB_CANCELLED || ended.state == MARKET_JOB_DEADLINE);
}

// Where Slurm does not tell who ended a run (a requeue, an end while nobody listened), it was its
// user: else every run could be made free. An operator can refund.
EndRule rule_of(const MarketSettings& settings, const market_job_t& ended, const Job& job, bool ran,
                bool& own) {
  const Ends& ends = settings.ends;
  const bool for_own = job.run->preempted && job.run->preempted->for_own;
  own = false;
  switch (ended.state) {
    case MARKET_JOB_NODE_FAIL:
      return ends.node_fail;
    case MARKET_JOB_BOOT_FAIL:
      return ends.boot_fail;
    case MARKET_JOB_PREEMPTED:
      if (!ran || !for_own) return ends.preempted;
      break;
    case MARKET_JOB_REQUEUED:
      if (!ran && !is_resold(settings, job)) return EndRule::kFree;
      break;
    case MARKET_JOB_DEADLINE:
      if (!ran) return ends.deadline;
      break;
    case MARKET_JOB_CANCELLED:
      if (ran && ended.by_operator) return ends.cancelled_by_operator;
      if (ran) break;
      own = !ended.by_operator;
      if (is_resold(settings, job)) return own ? settings.taken_back() : EndRule::kFree;
      return ends.cancelled_before_start.value_or(EndRule::kFree);
    default:
      break;
  }
  own = true;
  return ends.own;
}

// What the run paid for each good: should its bill be lost, the same pots and owners have the same parts.
std::string goods_paid(const Job& job, const Bill& bill) {
  const auto rest = static_cast<double>(std::max<Time>(0, bill.elapsed - job.run->accrued.seconds));
  std::vector<GoodRate> paid;
  for (const GoodRate& good : job.auction->goods)
    paid.push_back({good.tres, 0, 0, good.owes + good.rate * rest});
  return goods_text(paid);
}

std::string settled_note(const Job& job, bool observed, const Bill& bill) {
  Note note;
  note.observed = observed;
  note.settled = true;
  note.token = job.token;
  note.account = job.agreed.bid.account;
  note.rule = job.agreed.terms.rule;
  note.markup = job.agreed.terms.markup;
  note.price = job.agreed.terms.price;
  note.charged = bill.charged;
  note.refunded = bill.refunded;
  if (bill.rest) {
    note.rest = bill.rest->segment.quoted;
    note.rest_until = bill.rest->segment.promised_end;
  }
  if (!job.agreed.terms.auctioned()) {
    note.accepted = job.agreed.terms.accepted;
    note.bought = job.agreed.terms.bought;
  }
  note.restart = job.restart;
  note.start = job.agreed.terms.start;
  note.end = job.agreed.terms.promised_end;
  note.submitted = job.agreed.bid_made;
  note.budget = job.agreed.texts.budget;
  if (job.component) note.budget_of_all = job.component->budget;
  note.rate_text = job.agreed.texts.rate;
  note.value = job.agreed.texts.value;
  note.quote = job.agreed.texts.quote;
  note.sized = job.run->sized;
  note.job_class = job.agreed.bid.request.job_class;
  note.work = job.agreed.texts.work;
  note.pot = job.agreed.bid.pot;
  if (bill.ran) note.goods = goods_paid(job, bill);
  note.utility = job.agreed.texts.utility;
  if (job.part) note.part_of = job.part->array;
  if (job.part) note.array_start = job.part->first_start;
  note.part_owed = job.part && job.part->owed;
  note.has_level = job.agreed.bid.level != 0;
  note.keeps_price = job.run->keeps_price;
  return write_note(note);
}

// Whether the books told of it after a crash.
bool waits(const Resales& resales, const ledger::Rest& rest) {
  const auto& waiting = resales.waiting();
  return std::any_of(waiting.begin(), waiting.end(), [&rest](const ledger::Rest& one) {
    return one.segment.key == rest.segment.key;
  });
}

std::string rest_text(const ledger::Rest& rest, Time now) {
  return fmt::format("resale of the rest: {} pending until {}", rest.segment.quoted.to_string(),
                     format_time_short(rest.segment.promised_end, now));
}

}  // namespace

const char* state_name(int state) {
  switch (state) {
    case MARKET_JOB_COMPLETED:
      return "COMPLETED";
    case MARKET_JOB_FAILED:
      return "FAILED";
    case MARKET_JOB_TIMEOUT:
      return "TIMEOUT";
    case MARKET_JOB_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case MARKET_JOB_NODE_FAIL:
      return "NODE_FAIL";
    case MARKET_JOB_BOOT_FAIL:
      return "BOOT_FAIL";
    case MARKET_JOB_PREEMPTED:
      return "PREEMPTED";
    case MARKET_JOB_REQUEUED:
      return "REQUEUED";
    case MARKET_JOB_DEADLINE:
      return "DEADLINE";
    default:
      return "CANCELLED";
  }
}

void run_unbilled(const Site& site, Job& job) {
  site.log(LogLevel::kInfo,
           fmt::format("job {} was started while its bid waited: it runs unbilled", job.id));
  job.run.edit().unbilled = true;
}

std::optional<EndTexts> Settlement::job_ended(const market_job_t& job, Time now) {
  const bool is_early =
      !site_.may_decide() || site_.pass_number == 0;  // its array is not known yet
  if (is_early || !unheard_.empty()) {
    if (site_.has_note(or_empty(job.note))) unheard_.emplace_back(job, now);
    return std::nullopt;
  }
  auto note = end_run(job, now);
  if (!note) return std::nullopt;
  std::string bill = wanted_bill(or_empty(job.partition), *note);
  return EndTexts{std::move(*note), std::move(bill), site_.arrays.lower_limit(job)};
}

void Settlement::hear_ends() {
  while (!unheard_.empty()) {
    const UnheardEnd end = std::move(unheard_.front());
    unheard_.pop_front();
    (void)end_run(end.job(), end.told_at());
  }
}

// The text for AdminComment, which everybody reads; "" where the site does not want it. Bids in auctions are sealed, and
// the bill tells what was bid: in abacus the charge is the whole budget, in tycoon it grows to it.
std::string Settlement::wanted_bill(std::string_view partition,
                                    std::string_view settled_note) const {
  const auto note = read_note(settled_note);
  if (!note || note->observed) return {};
  // The rule of the run, which the partition may have changed since.
  constexpr std::array<std::string_view, 3> kSealed{"abacus/", "dva/", "tycoon/"};
  const Exchange& exchange = site_.exchange_of(partition);
  const bool is_sealed = !exchange.promises() ||
                         std::any_of(kSealed.begin(), kSealed.end(),
                                     [&note](auto rule) { return note->rule.starts_with(rule); });
  if (!exchange.settings.bill_in_admin_comment.value_or(!is_sealed)) return {};
  return bill_text(*note, MARKET_BILL_MAX);
}

// An end that was told while the market could not listen, or that is not in the books yet.
void Settlement::see_ended(const market_job_t& ended, Time now) {
  const auto note = end_run(ended, now);
  Job* job = site_.jobs.find(ended.job_id);
  if (job == nullptr || !note) return;
  job->seen.pass = site_.pass_number;
  if (*note == or_empty(ended.note)) return;
  site_.orders.add(MARKET_SET_NOTE, ended.job_id).text = site_.orders.keep(*note);
  if (std::string bill = wanted_bill(or_empty(ended.partition), *note); !bill.empty())
    site_.orders.add(MARKET_SET_BILL, ended.job_id).text = site_.orders.keep(std::move(bill));
}

std::optional<std::string> Settlement::end_run(const market_job_t& ended, Time now) {
  Job* job = job_of_ended(ended, now);
  if (job == nullptr) return std::nullopt;
  if (ended.restart < job->restart) return std::string(or_empty(ended.note));  // of an older run
  if (ended.restart > job->restart) {  // no pass saw its new run: the promise begins with it
    confirmation_.begin_again(*job, ended, now);
    job->place.missed = true;
  }
  if (await_preemptor(*job, ended)) return std::string(or_empty(ended.note));
  if (job->array && job->phase != Phase::kEnded) site_.arrays.end(*job, ended, now);
  if (job->phase != Phase::kEnded) settle(*job, ended, now);
  return job->run->settled_note;
}

// The job in memory; or, when the pass has not seen it yet or memory was lost, made from its note.
Job* Settlement::job_of_ended(const market_job_t& ended, Time now) {
  if (Job* known = site_.jobs.find(ended.job_id); known != nullptr) return known;
  auto note = site_.note_in(or_empty(ended.note));
  if (!note || (site_.observes && !site_.trades(or_empty(ended.partition)))) return nullptr;
  if (note->refused) {
    tell_refused(*note, ended);
    return nullptr;
  }
  Job& job = site_.jobs.make(ended.job_id);
  identify(job, ended);
  job.seen.at = now;
  const bool is_part = note->array_tasks > 0 && ended.array_tasks_pending == 0;
  if (is_part) note = site_.arrays.take_part(*note, ended, now);
  const auto provisional = site_.jobs.provisionals().find(note->token);
  if (!is_part && provisional != site_.jobs.provisionals().end()) {
    confirmation_.take_task(job, provisional->second);
    if (job.agreed.terms.block) site_.arrays.begin(job, ended, nullptr);
    if (!job.agreed.texts.quote.empty()) {
      site_.menus.used(provisional->second.bid.uid, note->token);
      site_.held_quotes.used(provisional->second.bid.uid, note->token);
    }
    if (job.phase == Phase::kConfirmed) {
      site_.set_lien(job, job.agreed.terms.price);
      site_.lessons.teach(job, now);
    }
    if (ended.array_tasks_pending > 0 ||
        std::all_of(provisional->second.tasks.begin(), provisional->second.tasks.end(),
                    [](const auto& t) { return t.claimed; })) {
      confirmation_.drop_provisional(note->token);
    }
    job.agreed.bid.uid = ended.uid;
    return &job;
  }
  confirmation_.recall(job, *note, ended);
  if (!note->settled && !note->missed && !job.agreed.terms.auctioned())
    job.place.adopt_seats = note->seats;
  job.agreed.bid.request.partition = or_empty(ended.partition);
  job.agreed.bid.request.duration = static_cast<Time>(ended.time_limit_min) * 60;
  if (note->reserved && note->reserved->length > 0)
    job.agreed.bid.request.duration = note->reserved->length;
  if (auto demand = site_.demand_for(size_options(ended.size), job.agreed.bid.request.partition))
    job.agreed.bid.request.demand.tres = std::move(demand->tres);
  fit_budget(job.agreed.bid);
  make_malleable_again(site_, ended, &job);
  confirmation_.resettle_old_runs(job, *note, ended, now);
  if (note->settled && note->restart == ended.restart) {
    job.run.edit().resettle = {note->charged, note->refunded, note->rest, note->rest_until};
    if (!note->goods.empty()) job.auction.edit().goods = goods_from(note->goods);
  } else if (note->settled) {  // of the run before this one: its promise begins with the run
    job.place.missed = true;
  }
  return &job;
}

Bill Settlement::bill_of(Job& job, const market_job_t& ended, Time now) {
  Bill bill;
  bill.state = state_name(ended.state);
  bill.ran = ended.start > 0 && ended.end > ended.start;
  if (bill.ran) bill.elapsed = std::max<Time>(0, ended.end - ended.start - ended.suspended_s);
  const bool never_ran = never_began(ended, bill);
  const Time limit = job.agreed.bid.request.duration;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  EndRule rule = rule_of(settings, ended, job, bill.ran, bill.own);
  const bool owes_unstarted = never_ran && site_.arrays.owes_unstarted(job, ended, now);
  if (owes_unstarted) rule = settings.ends.own;
  if (job.agreed.terms.ex_post) {
    bill.ex_post = ex_post_share(job, ended, settings, site_.observes);
  } else {
    const Time done = site_.observes ? would_end(job, ended) : ended.end;
    bill.late = ended.state == MARKET_JOB_COMPLETED && !job.place.missed &&
                job.agreed.terms.promised_end != 0 && done > job.agreed.terms.promised_end &&
                bill.elapsed <= limit;
  }
  if (bill.late) rule = settings.ends.late;

  const bool auctioned = job.agreed.terms.auctioned();
  if (job.run->resettle) {
    resettle(job, ended, bill);
  } else if (job.phase != Phase::kWaiting && !job.run->unbilled && rule != EndRule::kFree) {
    if (auctioned && bill.ran) site_.exchange_of(job).rate_unseen(job, ended, now);
    const bool by_rate = auctioned && !owes_unstarted;
    bill.charged = by_rate ? site_.exchange_of(job).owed(job, ended, bill) : job.agreed.terms.price;
    const bool has_level = job.agreed.bid.level != 0 && site_.exchange_of(job).sells_levels();
    if (has_level && !bill.own) bill.charged = Money();  // it was not met
    if (bill.ex_post)
      bill.charged = std::min(money_of(bill.charged.credits() * *bill.ex_post),
                              worth_that_came_true(job, ended, settings));
    const bool owes_a_rest = is_resold(settings, job) && bill.own && rule == EndRule::kCharge;
    if (owes_a_rest) bill.rest = rest_of(job, ended, bill, now);
    // From its start on a place owes all but its resale.
    const bool by_use = !auctioned && settings.charge_basis != ChargeBasis::kReserved &&
                        (!job.agreed.reserved || is_resold(settings, job));
    if (by_use && limit > 0 && (!never_ran || owes_a_rest))
      bill.charged = bill.charged.scaled(std::min(bill.elapsed, limit), limit);
    if (rule == EndRule::kRefund) bill.refunded = bill.charged;
    const Money lost = bill.ran ? std::min(bill.charged, refund_for_lost(job)) : Money();
    bill.refunded = std::max(bill.refunded, lost);
  }
  const bool dropped = ended.state == MARKET_JOB_DEADLINE;  // which its bill tells by its state
  const bool is_free = rule == EndRule::kFree || is_resold(settings, job);
  bill.is_void = never_ran && !dropped && is_free && bill.charged == Money();
  return bill;
}

// What the bill was before a crash.
void Settlement::resettle(const Job& job, const market_job_t& ended, Bill& bill) const {
  const Run::Settled& before = *job.run->resettle;
  bill.charged = before.charged;
  bill.refunded = before.refunded;
  if (before.rest_until != 0)
    bill.rest = site_.resales.recalled(job, before.rest, ended.end, before.rest_until);
}

// What its owner does not use of what he bought; `bill.charged` is still the price of all of it.
std::optional<ledger::Rest> Settlement::rest_of(const Job& job, const market_job_t& ended,
                                                const Bill& bill, Time now) const {
  const Time end = ended.end != 0 ? ended.end : now;
  if (never_began(ended, bill)) return site_.resales.place_of(job, end);
  const Time unused = job.agreed.bid.request.duration - bill.elapsed;
  if (job.agreed.reserved && unused > 0)
    return site_.resales.place_left(job, bill.charged, unused, end);
  return site_.resales.end_of(job, bill.charged, unused, end);
}

// What the run brings those whose hours it bought. In the time of grace only what it used is
// certain.
void Settlement::count_purchase(Job& job, const market_job_t& ended, const Bill& bill, Time now) {
  const bool is_paid = bill.charged > bill.refunded || bill.rest.has_value();
  if (!is_paid || job.agreed.counted || job.agreed.terms.auctioned() || job.run->resettle) return;
  Purchase purchase = site_.resales.purchase_of(job);
  const Time end = ended.end != 0 ? ended.end : now;
  const Time grace = site_.exchange_of(job).settings.cancel_grace;
  if (end <= job.agreed.terms.accepted + grace) purchase.end = std::min(purchase.end, end);
  if (bill.ran) purchase.start = ended.start;
  if (purchase.start < purchase.end) site_.resales.count(job, purchase);
}

void Settlement::post_bill(Job& job, const market_job_t& ended, const Bill& bill, Time now) {
  ledger::Segment segment =
      site_.accounts.segment_of(job, site_.billing_of(job.agreed.bid.request));
  segment.state = bill.state;
  segment.start = ended.start;
  segment.end = ended.end != 0 ? ended.end : now;
  segment.suspended = ended.suspended_s;
  segment.elapsed = bill.elapsed;
  segment.charged = bill.charged;
  segment.refunded = bill.refunded;
  if (job.run->unbilled) segment.quoted = Money();
  segment.note = job.agreed.terms.markup;
  std::string how = bill.late ? "late" : "";
  if (bill.ex_post) how = fmt::format("ex post × {:.3f}", *bill.ex_post);
  if (!how.empty() && !segment.note.empty()) how += ", ";
  segment.note = how + segment.note;
  if (bill.ran && !job.run->sized.empty())
    segment.note += (segment.note.empty() ? "" : ", ") + job.run->sized;
  if (bill.rest) segment.note += (segment.note.empty() ? "" : ", ") + rest_text(*bill.rest, now);
  if (bill.ran && job.agreed.reserved)
    segment.note = fmt::format("{}{}", ledger::kPlaceNote, job.id) +
                   (segment.note.empty() ? "" : ", ") + segment.note;
  if (!bill.ran && ended.state == MARKET_JOB_DEADLINE)
    segment.note = "did not start before its deadline";
  if (bill.ran && !or_empty(ended.tres_alloc).empty()) segment.tres = ended.tres_alloc;
  if (site_.observes) return post_would_be_bill(job, ended, std::move(segment));
  ledger::Payouts parts;
  if (bill.ran) parts = Owners(site_, site_.exchange_of(job)).parts_of(job, ended, bill);
  if (bill.ran) parts.pots = pots_that_pay(site_, job, bill);
  site_.accounts.settle(job, std::move(segment), std::move(parts), job.run->resettle.has_value());
}

namespace {

// Its owner did not use all that he bought, for whatever reason of his.
bool is_taken_back(const Job& job, const market_job_t& ended, const Bill& bill) {
  const bool has_place = job.place.booked || job.place.adopt_seats;
  const bool is_own = bill.own || (never_began(ended, bill) && !ended.by_operator);
  return is_own && !bill.rest && has_place && !job.run->resettle && !job.run->unbilled &&
         bill.elapsed < job.agreed.bid.request.duration;
}

// And ended before a pass saw it run.
bool ran_while_waiting(const Job& job, const market_job_t& ended) {
  return job.phase == Phase::kWaiting && job.agreed.bid.pot.empty() && ended.start > 0 &&
         ended.end > ended.start;
}

}  // namespace

void Settlement::settle(Job& job, const market_job_t& told, Time now) {
  const market_job_t ended = as_used(job, told, now);
  if (ran_while_waiting(job, ended)) run_unbilled(site_, job);
  if (site_.observes) guess_would_start(job, ended);
  if (ended.start > 0 && job.phase != Phase::kWaiting) keep_size(site_, job, ended);
  Bill bill = bill_of(job, ended, now);
  count_purchase(job, ended, bill, now);
  if (is_taken_back(job, ended, bill)) site_.slips.note(job, ended.end != 0 ? ended.end : now);
  if ((job.phase != Phase::kWaiting || job.run->unbilled) && !bill.is_void) {
    post_bill(job, ended, bill, now);
  } else {
    const std::string rest = bill.rest ? ", " + rest_text(*bill.rest, now) : "";
    site_.accounts.void_lien(job, fmt::format("{} before it started{}", bill.state, rest));
  }
  if (bill.rest && !(job.run->resettle && waits(site_.resales, *bill.rest)))
    site_.resales.offer(*bill.rest, nullptr, now);
  teach_utility(site_, job, ended);
  if (site_.lessons.taken_back(job, ended)) site_.lessons.unlearn(job);
  site_.exchange_of(job).unplace(job, now);
  site_.forget_rooms();
  if ((job.auction.exchange(&AuctionTurn::stands, false) && job.phase == Phase::kConfirmed) ||
      job.part)
    site_.exchange_of(job)
        .withdraw();  // others pay by it no longer, or tasks of its array may start
  job.place.reserved = job.place.bound =
      false;  // the next pass finds a reservation that no job needs
  job.phase = Phase::kEnded;
  job.cause = Cause::kNone;
  job.seen.pass = site_.pass_number;
  Run& run = job.run.edit();
  run.keeps_price = !bill.own;
  run.preempted.reset();
  run.settled_note = settled_note(job, site_.observes, bill);
}

}  // namespace market
