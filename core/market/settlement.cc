// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a run becomes money, once.
#include "core/market/settlement.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/owners.h"
#include "core/market/text.h"

namespace market {
namespace {

// Where Slurm does not tell who ended a run (a requeue, an end while nobody listened), it was its
// user: else every run could be made free. An operator can refund.
EndRule rule_of(const Ends& ends, const market_job_t& ended, bool ran, bool for_own, bool& own) {
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
      if (!ran) return EndRule::kFree;
      break;
    case MARKET_JOB_DEADLINE:
      if (!ran) return ends.deadline;
      break;
    case MARKET_JOB_CANCELLED:
      if (ran && ended.by_operator) return ends.cancelled_by_operator;
      if (ran) break;
      own = !ended.by_operator;
      return ends.cancelled_before_start;
    default:
      break;
  }
  own = true;
  return ends.own;
}

// Late counts by the delay of the start alone, whoever ended the run then, from the time on that is
// planned for starting up.
std::optional<double> ex_post_share(const Job& job, const market_job_t& ended,
                                    const MarketSettings& settings, bool observed) {
  const ExPost& contract = *job.agreed.terms.ex_post;
  const Time start = observed ? job.place.would_start : ended.start;
  const Time late = start - contract.start;
  if (start == 0 || job.place.missed || late <= settings.start_slack) return std::nullopt;
  return contract.share(static_cast<double>(late));
}

std::string settled_note(const Job& job, bool observed, Money charged, Money refunded) {
  Note note;
  note.observed = observed;
  note.settled = true;
  note.token = job.token;
  note.account = job.agreed.bid.account;
  note.rule = job.agreed.terms.rule;
  note.markup = job.agreed.terms.markup;
  note.price = job.agreed.terms.price;
  note.charged = charged;
  note.refunded = refunded;
  note.restart = job.restart;
  note.start = job.agreed.terms.start;
  note.end = job.agreed.terms.promised_end;
  note.submitted = job.agreed.bid_made;
  note.budget = job.agreed.texts.budget;
  note.rate_text = job.agreed.texts.rate;
  note.value = job.agreed.texts.value;
  note.quote = job.agreed.texts.quote;
  note.keeps_price = job.run.keeps_price;
  return write_note(note);
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

std::optional<EndTexts> Settlement::job_ended(const market_job_t& job, Time now) {
  auto note = end_run(job, now);
  if (!note) return std::nullopt;
  std::string bill = wanted_bill(or_empty(job.partition), *note);
  return EndTexts{std::move(*note), std::move(bill)};
}

// The text for AdminComment, which everybody reads; "" where the site does not want it. In abacus
// the charge is the whole budget, and bids are sealed.
std::string Settlement::wanted_bill(std::string_view partition,
                                    std::string_view settled_note) const {
  const auto note = read_note(settled_note);
  if (!note || note->observed) return {};
  const bool by_rule = !note->rule.starts_with("abacus/");
  if (!site_.exchange_of(partition).settings.bill_in_admin_comment.value_or(by_rule)) return {};
  return bill_text(*note, MARKET_BILL_MAX);
}

// An end that was told while the market could not listen, or that is not in the books yet.
void Settlement::see_ended(const market_job_t& ended, Time now) {
  const auto note = end_run(ended, now);
  const auto job = site_.jobs.all().find(ended.job_id);
  if (job == site_.jobs.all().end() || !note) return;
  job->second.seen.pass = site_.pass_number;
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
  if (job->phase != Phase::kEnded) settle(*job, ended, now);
  return job->run.settled_note;
}

// The job in memory; or, when the pass has not seen it yet or memory was lost, made from its note.
Job* Settlement::job_of_ended(const market_job_t& ended, Time now) {
  const auto known = site_.jobs.all().find(ended.job_id);
  if (known != site_.jobs.all().end()) return &known->second;
  const auto note = site_.note_in(or_empty(ended.note));
  if (!note || (site_.observes && !site_.trades(or_empty(ended.partition)))) return nullptr;
  if (note->refused) {
    tell_refused(*note, ended);
    return nullptr;
  }
  Job& job = site_.jobs.all()[ended.job_id];
  job = Job{};
  identify(job, ended);
  job.seen.at = now;
  const auto provisional = site_.jobs.provisionals().find(note->token);
  if (provisional != site_.jobs.provisionals().end()) {
    confirmation_.take_task(job, provisional->second);
    if (!job.agreed.texts.quote.empty()) site_.menus.used(provisional->second.bid.uid, note->token);
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
  job.agreed.bid.request.partition = or_empty(ended.partition);
  job.agreed.bid.request.duration = static_cast<Time>(ended.time_limit_min) * 60;
  if (auto demand = site_.demand_for(size_options(ended.size), job.agreed.bid.request.partition))
    job.agreed.bid.request.demand.tres = std::move(demand->tres);
  fit_budget(job.agreed.bid);
  confirmation_.resettle_old_runs(job, *note, ended, now);
  if (note->settled && note->restart == ended.restart) {
    job.run.resettle = std::pair(note->charged, note->refunded);
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
  const bool never_ran =
      !bill.ran && (ended.state == MARKET_JOB_CANCELLED || ended.state == MARKET_JOB_DEADLINE);
  const Time limit = job.agreed.bid.request.duration;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  EndRule rule = rule_of(settings.ends, ended, bill.ran,
                         job.run.preempted && job.run.preempted->for_own, bill.own);
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
  if (job.run.resettle) {
    std::tie(bill.charged, bill.refunded) = *job.run.resettle;
  } else if (job.phase != Phase::kWaiting && !job.run.unbilled && rule != EndRule::kFree) {
    if (auctioned && bill.ran) site_.exchange_of(job).rate_unseen(job, ended, now);
    bill.charged =
        auctioned ? site_.exchange_of(job).owed(job, ended, bill) : job.agreed.terms.price;
    if (!auctioned && settings.charge_basis == ChargeBasis::kUsed && limit > 0 && !never_ran) {
      bill.charged = bill.charged.scaled(std::min(bill.elapsed, limit), limit);
    }
    if (bill.ex_post) bill.charged = money_of(bill.charged.credits() * *bill.ex_post);
    if (rule == EndRule::kRefund) bill.refunded = bill.charged;
  }
  const bool dropped = ended.state == MARKET_JOB_DEADLINE;  // which its bill tells by its state
  bill.is_void = never_ran && !dropped && rule == EndRule::kFree && bill.charged == Money();
  return bill;
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
  if (job.run.unbilled) segment.quoted = Money();
  segment.note = job.agreed.terms.markup;
  std::string how = bill.late ? "late" : "";
  if (bill.ex_post) how = fmt::format("ex post × {:.3f}", *bill.ex_post);
  if (!how.empty() && !segment.note.empty()) how += ", ";
  segment.note = how + segment.note;
  if (!bill.ran && ended.state == MARKET_JOB_DEADLINE)
    segment.note = "did not start before its deadline";
  if (bill.ran && !or_empty(ended.tres_alloc).empty()) segment.tres = ended.tres_alloc;
  if (site_.observes) return post_would_be_bill(job, ended, std::move(segment));
  ledger::Payouts parts;
  if (bill.ran) parts = Owners(site_, site_.exchange_of(job)).parts_of(job, ended, bill);
  site_.accounts.settle(job, std::move(segment), std::move(parts), job.run.resettle.has_value());
}

void Settlement::settle(Job& job, const market_job_t& ended, Time now) {
  if (site_.observes) guess_would_start(job, ended);
  const Bill bill = bill_of(job, ended, now);
  if (job.phase != Phase::kWaiting && !bill.is_void) {
    post_bill(job, ended, bill, now);
  } else {
    site_.accounts.void_lien(job, fmt::format("{} before it started", bill.state));
  }
  if (site_.lessons.taken_back(job, ended)) site_.lessons.unlearn(job);
  site_.exchange_of(job).unplace(job, now);
  site_.forget_rooms();
  if (std::exchange(job.auction.stands, false) && job.phase == Phase::kConfirmed)
    site_.exchange_of(job).withdraw();  // others pay by it no longer
  job.place.reserved = job.place.bound =
      false;  // the next pass finds a reservation that no job needs
  job.phase = Phase::kEnded;
  job.cause = Cause::kNone;
  job.seen.pass = site_.pass_number;
  job.run.keeps_price = !bill.own;
  job.run.preempted.reset();
  job.run.settled_note = settled_note(job, site_.observes, bill.charged, bill.refunded);
}

}  // namespace market
