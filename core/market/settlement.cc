// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a run becomes money, once.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/convert.h"
#include "core/market/market.h"
#include "core/market/text.h"

namespace market {
namespace {

struct End {
  const char* name;
  EndRule Ends::*rule;
};

End end_of(int state) {
  switch (state) {
    case MARKET_JOB_COMPLETED:
      return {"COMPLETED", &Ends::completed};
    case MARKET_JOB_FAILED:
      return {"FAILED", &Ends::failed};
    case MARKET_JOB_TIMEOUT:
      return {"TIMEOUT", &Ends::timeout};
    case MARKET_JOB_OUT_OF_MEMORY:
      return {"OUT_OF_MEMORY", &Ends::out_of_memory};
    case MARKET_JOB_NODE_FAIL:
      return {"NODE_FAIL", &Ends::node_fail};
    case MARKET_JOB_BOOT_FAIL:
      return {"BOOT_FAIL", &Ends::boot_fail};
    case MARKET_JOB_PREEMPTED:
      return {"PREEMPTED", &Ends::preempted};
    case MARKET_JOB_REQUEUED:
      return {"REQUEUED", &Ends::requeued};
    case MARKET_JOB_DEADLINE:
      return {"DEADLINE", &Ends::deadline};
    default:
      return {"CANCELLED", &Ends::cancelled};
  }
}

std::string settled_comment(const Job& job, Money charged, Money refunded) {
  Comment comment;
  comment.settled = true;
  comment.account = job.bid.account;
  comment.rule = job.terms.rule;
  comment.price = job.terms.price;
  comment.charged = charged;
  comment.refunded = refunded;
  comment.restart = job.restart;
  comment.start = job.terms.start;
  comment.end = job.terms.promised_end;
  comment.submitted = job.bid_made;
  comment.budget = job.texts.budget;
  comment.value = job.texts.value;
  return write_comment(comment);
}

}  // namespace

std::optional<std::string> Market::job_ended(const market_job_t& job, Time now) {
  const std::lock_guard lock(mutex_);
  return end_run(job, now);
}

// An end that was told while the market could not listen, or that is not in the books yet.
void Market::see_ended(const market_job_t& ended, Time now) {
  const auto comment = end_run(ended, now);
  const auto job = jobs_.find(ended.job_id);
  if (job == jobs_.end() || !comment) return;
  job->second.seen_pass = pass_number_;
  if (*comment != or_empty(ended.admin_comment))
    orders_.add(MARKET_SET_COMMENT, ended.job_id).text = orders_.keep(*comment);
}

std::optional<std::string> Market::end_run(const market_job_t& ended, Time now) {
  Job* job = job_of_ended(ended, now);
  if (job == nullptr) return std::nullopt;
  if (ended.restart < job->restart)
    return std::string(or_empty(ended.admin_comment));  // of an older run
  if (ended.restart > job->restart) {  // no pass saw its new run: the promise begins with it
    begin_again(*job, ended, now);
    job->missed = true;
  }
  if (job->phase != Phase::kEnded) settle(*job, ended, now);
  return job->settled_comment;
}

// The job in memory; or, when the pass has not seen it yet or memory was lost, made from its
// admin_comment.
Job* Market::job_of_ended(const market_job_t& ended, Time now) {
  const auto known = jobs_.find(ended.job_id);
  if (known != jobs_.end()) return &known->second;
  const auto comment = read_comment(or_empty(ended.admin_comment));
  if (!comment) return nullptr;
  Job& job = jobs_[ended.job_id];
  job = Job{};
  identify(job, ended);
  job.seen_at = now;
  const auto provisional = provisionals_.find(comment->token);
  if (provisional != provisionals_.end()) {
    take_task(job, provisional->second);
    if (job.phase == Phase::kConfirmed) set_lien(job, job.terms.price);
    if (ended.array_tasks_pending > 0 ||
        std::all_of(provisional->second.tasks.begin(), provisional->second.tasks.end(),
                    [](const auto& t) { return t.claimed; })) {
      drop_provisional(comment->token);
    }
    job.bid.uid = ended.uid;
    return &job;
  }
  recall(job, *comment, ended);
  job.bid.request.partition = or_empty(ended.partition);
  job.bid.request.duration = static_cast<Time>(ended.time_limit_min) * 60;
  if (auto tres = parse_tres(or_empty(ended.tres_req)))
    job.bid.request.demand.tres = std::move(*tres);
  resettle_old_runs(job, *comment, ended, now);
  if (comment->settled && comment->restart == ended.restart) {
    job.resettle = std::pair(comment->charged, comment->refunded);
  } else if (comment->settled) {  // of the run before this one: its promise begins with the run
    job.missed = true;
  }
  return &job;
}

void Market::settle(Job& job, const market_job_t& ended, Time now) {
  const End end = end_of(ended.state);
  const bool ran = ended.start > 0 && ended.end > ended.start;
  const bool never_ran =
      !ran && (ended.state == MARKET_JOB_CANCELLED || ended.state == MARKET_JOB_DEADLINE);
  const Time elapsed = ran ? std::max<Time>(0, ended.end - ended.start - ended.suspended_s) : 0;
  const Time limit = job.bid.request.duration;
  EndRule rule = config_.ends.*end.rule;
  if (never_ran && ended.state == MARKET_JOB_CANCELLED) rule = config_.ends.cancelled_before_start;
  const bool late = ended.state == MARKET_JOB_COMPLETED && !job.missed &&
                    job.terms.promised_end != 0 && ended.end > job.terms.promised_end &&
                    elapsed <= limit;
  const bool ex_post = late && job.terms.free_after != 0;
  if (late && !ex_post) rule = config_.ends.late;

  const bool was_accepted = job.phase != Phase::kWaiting;
  const bool auctioned = job.terms.auctioned();
  if (auctioned && was_accepted && ran && !job.resettle) rate_unseen(job, now);
  Money base;
  if (was_accepted && !job.unbilled) base = auctioned ? owed(job, ended, elapsed) : job.terms.price;
  if (!auctioned && config_.charge_basis == ChargeBasis::kUsed && limit > 0 && !never_ran) {
    base = std::min(base, base.scaled(std::min(elapsed, limit), limit));
  }
  if (ex_post && ended.end > job.terms.free_after) base = Money();
  Money charged = rule == EndRule::kFree ? Money() : base;
  Money refunded = rule == EndRule::kRefund ? base : Money();
  if (job.resettle) std::tie(charged, refunded) = *job.resettle;

  if (was_accepted && never_ran && rule == EndRule::kFree) {
    void_lien(job, fmt::format("{} before it started", end.name));
  } else if (was_accepted) {
    ledger::Segment segment = segment_of(job);
    segment.state = end.name;
    segment.start = ended.start;
    segment.end = ended.end != 0 ? ended.end : now;
    segment.suspended = ended.suspended_s;
    segment.elapsed = elapsed;
    segment.charged = charged;
    segment.refunded = refunded;
    if (job.unbilled) segment.quoted = Money();
    if (late) segment.note = "late";
    if (ran && !or_empty(ended.tres_alloc).empty()) segment.tres = ended.tres_alloc;
    Queued queued;
    queued.job_id = job.id;
    queued.previous_lien = job.lien;
    std::vector<ledger::Payee> payees;
    if (ran) payees = payees_of(job, ended, charged - refunded);
    if (!job.resettle || job.lien != Money()) {
      for (const ledger::Payee& payee : payees) {
        queued.deltas.emplace_back(payee.account, Delta{payee.amount, Money()});
      }
    }
    queued.operation = ledger::Settle{std::move(segment), std::move(payees)};
    if (job.lien != Money())
      queued.deltas.emplace_back(job.lien_account, Delta{Money(), Money() - job.lien});
    // Settled before a crash and no lien left: the balance has it already.
    if (!job.resettle || job.lien != Money())
      queued.deltas.emplace_back(job.bid.account, Delta{refunded - charged, Money()});
    job.lien = Money();
    enqueue(std::move(queued));
  }
  if (mechanism_ != nullptr) unplace(job, now);
  rooms_known_ = false;
  job.reserved = job.bound = false;  // the next pass finds a reservation that no job needs
  job.phase = Phase::kEnded;
  job.cause = Cause::kNone;
  job.seen_pass = pass_number_;
  job.settled_comment = settled_comment(job, charged, refunded);
}

}  // namespace market
