// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that Slurm ends or suspends for another job. Where that one is of the same user or account,
// its owner ended the run as if he had cancelled it. Slurm tells only after the end for whom it
// was, so the bill waits for the next pass.
#include <algorithm>

#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/settlement.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

constexpr Time kGrace = 300;  // seconds before the end that Slurm may have begun to make room
constexpr Time kSkew = 1;     // seconds by which two looks at the clock differ

bool overlap(const Placement& a, const Placement& b) {
  return std::any_of(a.begin(), a.end(), [&](const Seat& seat) {
    return std::any_of(b.begin(), b.end(), [&](const Seat& other) {
      return other.node == seat.node && other.cores.overlaps(seat.cores);
    });
  });
}

bool is_own(const Job& job, std::uint32_t uid, std::string_view account) {
  return uid == job.agreed.bid.uid || lower_case(account) == job.agreed.bid.account;
}

}  // namespace

void Settlement::tell_preemptors(const market_preemptor_t* preemptors, std::size_t count) {
  preemptors_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const market_preemptor_t& told = preemptors[i];
    preemptors_.push_back(
        {told.job_id, told.uid, std::string(or_empty(told.account)), told.since, told.start});
  }
}

// Whether the bill of this end must wait until a pass knows for whom it was.
bool Settlement::await_preemptor(Job& job, const market_job_t& ended) {
  const bool ran = ended.start > 0 && ended.end > ended.start;
  if (job.run->preempted) return ended.restart == job.restart;
  if (ended.state != MARKET_JOB_PREEMPTED || !ran || job.run->resettle ||
      job.phase == Phase::kEnded)
    return false;
  job.run.edit().preempted = PreemptedRun{ended.start, ended.end, ended.suspended_s,
                                          std::string(or_empty(ended.tres_alloc))};
  if (ended.alloc_count > 0)
    job.place.placement = placement_of(ended.allocs, ended.alloc_count, site_.cluster.nodes());
  wants_preemptors_ = true;
  return true;
}

void Settlement::judge_preemptions(const market_job_t* jobs, std::size_t count, Time now) {
  if (!wants_preemptors_) return;
  wants_preemptors_ = false;
  std::vector<Job*> preempted;
  for (Job& job : site_.jobs.awake()) {
    if (job.run->preempted) preempted.push_back(&job);
  }
  std::sort(preempted.begin(), preempted.end(),
            [](const Job* a, const Job* b) { return a->id < b->id; });
  for (Job* job : preempted) settle_preempted(*job, is_for_own(*job, jobs, count), now);
  preemptors_.clear();
}

// Slurm marks whom it makes room for when it begins to, which is just before the end or, with a
// time of grace, some time before. Gang scheduling sets no mark: then it is who started there.
bool Settlement::is_for_own(const Job& job, const market_job_t* jobs, std::size_t count) const {
  const Time end = job.run->preempted->end;
  Time latest = 0;
  bool for_own = false;
  for (const Preemptor& other : preemptors_) {
    const bool started_before = other.start != 0 && other.start < end - kSkew;
    if (other.job_id == job.id || started_before || other.since > end + kSkew ||
        other.since < std::max(latest, end - kGrace)) {
      continue;
    }
    const bool own = is_own(job, other.uid, other.account);
    for_own = own || (for_own && other.since == latest);
    latest = other.since;
  }
  if (latest != 0) return for_own;
  const std::vector<Node>& nodes = site_.cluster.nodes();
  return std::any_of(jobs, jobs + count, [&](const market_job_t& seen) {
    return seen.state == MARKET_JOB_RUNNING && seen.job_id != job.id && seen.start >= end - kSkew &&
           is_own(job, seen.uid, or_empty(seen.account)) &&
           overlap(job.place.placement, placement_of(seen.allocs, seen.alloc_count, nodes));
  });
}

void Settlement::settle_preempted(Job& job, bool for_own, Time now) {
  PreemptedRun& preempted = *job.run.edit().preempted;
  preempted.for_own = for_own;
  const PreemptedRun run = preempted;
  market_job_t ended{};
  ended.job_id = job.id;
  ended.restart = job.restart;
  ended.state = MARKET_JOB_PREEMPTED;
  ended.start = run.start;
  ended.end = run.end;
  ended.suspended_s = run.suspended;
  ended.tres_alloc = run.tres.c_str();
  settle(job, ended, now);
  if (!site_.in_pass) return;
  site_.orders.add(MARKET_SET_NOTE, job.id).text = site_.orders.keep(job.run->settled_note);
  if (std::string bill = wanted_bill(job.agreed.bid.request.partition, job.run->settled_note);
      !bill.empty())
    site_.orders.add(MARKET_SET_BILL, job.id).text = site_.orders.keep(std::move(bill));
}

// A run that its owner's other job suspends is not late by the cluster's fault.
void Settlement::see_own_suspensions(const market_job_t* jobs, std::size_t count) {
  const std::vector<Node>& nodes = site_.cluster.nodes();
  for (std::size_t i = 0; i < count; ++i) {
    if (jobs[i].state != MARKET_JOB_SUSPENDED) continue;
    Job* found = site_.jobs.find(jobs[i].job_id);
    if (found == nullptr || found->place.missed) continue;
    Job& job = *found;
    job.place.missed = std::any_of(jobs, jobs + count, [&](const market_job_t& seen) {
      return seen.state == MARKET_JOB_RUNNING && is_own(job, seen.uid, or_empty(seen.account)) &&
             overlap(job.place.placement, placement_of(seen.allocs, seen.alloc_count, nodes));
    });
  }
}

}  // namespace market
