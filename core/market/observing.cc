// SPDX-License-Identifier: GPL-2.0-or-later
// A market that observes: it plans and bills as if it were obeyed, and gives no order. Its plan holds
// what it promises and what really runs; a would-be bill is what a bid agreed to, for the run as
// Slurm ran it.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/admission.h"
#include "core/market/note.h"
#include "core/market/planner.h"
#include "core/market/rates.h"
#include "core/market/settlement.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

constexpr std::string_view kVoice = "market (observing): ";
constexpr const char* kUnknown = "-";  // the account of a bid that names none

/// Since when Slurm could have started the run.
Time startable_since(const market_job_t& ended) {
  return std::max(ended.submit, ended.begin);
}

std::string first_line_of(std::string_view answer) {
  constexpr std::string_view kOwn = "market: ";
  if (answer.starts_with(kOwn)) answer.remove_prefix(kOwn.size());
  return std::string(answer.substr(0, answer.find('\n')));
}

}  // namespace

// What is told is one line, and what is kept is the note alone: nothing that Slurm, or anybody who
// looks at the job, sees another way.
Answer Admission::observe(const market_submission_t& submission, Time now) {
  if (!market_has_bid(&submission) || !site_.ready()) return {};
  Answer answer;
  const bool names_several = or_empty(submission.partition).find(',') != std::string_view::npos;
  if (names_several || submission.component != 0) {
    answer.verdict = MARKET_UNBILLED;
    answer.text =
        fmt::format("{}a bid {} is not followed", kVoice,
                    names_several ? "that names several partitions" : "for a heterogeneous job");
  } else {
    answer = submit(submission, now);
    const std::string said = first_line_of(answer.text);
    switch (answer.verdict) {
      case MARKET_ACCEPTED:
        answer.text = fmt::format("{}would be {}", kVoice, said);
        break;
      case MARKET_WAITING:
        answer.text = fmt::format("{}the bid {}", kVoice, said);
        break;
      case MARKET_REJECTED:
        answer.note = refused_note(submission, now);
        answer.text = fmt::format("{}would be refused: {}", kVoice, said);
        break;
      default:  // a guard against floods: it goes without being followed
        return {};
    }
    answer.verdict = MARKET_OBSERVED;
    answer.account.clear();
    answer.partition.clear();
  }
  if (site_.config.quiet == Quiet::kAccepted) answer.text.clear();
  return answer;
}

std::string Admission::refused_note(const market_submission_t& submission, Time now) {
  Note note;
  note.observed = note.refused = true;
  note.token = site_.jobs.next_token();
  const std::string_view named = or_empty(submission.account);
  const std::string account =
      lower_case(named.empty() ? or_empty(submission.default_account) : named);
  note.account = is_account_name(account) ? account : kUnknown;
  note.rule = std::string(site_.exchange_of(or_empty(submission.partition)).rule());
  note.submitted = now;
  return write_note(note);
}

// A planned start that lies behind stands, whatever Slurm did meanwhile. When Slurm is first, the
// market would have been as fast if the place was free in its own plan.
void Planner::see_would_start(Job& job, const market_job_t& seen, Time now) {
  if (job.place.would_start != 0 || job.phase == Phase::kWaiting || job.agreed.terms.auctioned())
    return;
  const Time planned = job.agreed.terms.start;
  const bool stands = !job.place.missed && !job.place.retime;
  if (stands && planned <= seen.start) {
    job.place.would_start = planned;
    return;
  }
  const bool fits =
      site_.earliest_place(job.agreed.bid.request, now, now, booking_key(job)).has_value();
  job.place.would_start = fits || !stands ? seen.start : planned;
}

// A place that would have its reservation by now is kept from others in the plan.
void Planner::watch(Job& job, const market_job_t& seen, Time now) {
  const Exchange& exchange = site_.exchange_of(job);
  if (job.phase == Phase::kConfirmed && job.place.booked &&
      job.agreed.terms.start - exchange.settings.reservation_lead <= now)
    job.place.reserved = true;
  if (job.phase == Phase::kConfirmed && job.place.would_start == 0 && job.auction->stands &&
      !job.auction->standing.nodes.empty())
    job.place.would_start = now;
  if (job.phase == Phase::kRunning && job.agreed.terms.auctioned())
    keep_rate(job, exchange.settings, now);
  give_note_order(job, seen);
}

// Of a run that no pass saw: it was as short as that.
void Settlement::guess_would_start(Job& job, const market_job_t& ended) const {
  const bool is_promised = !job.agreed.terms.auctioned() && job.phase == Phase::kConfirmed;
  if (job.place.would_start == 0 && is_promised && ended.start != 0)
    job.place.would_start = std::min(job.agreed.terms.start, ended.start);
}

// When the run would have ended, as long as it really was.
Time Settlement::would_end(const Job& job, const market_job_t& ended) const {
  return job.place.would_start == 0 ? 0 : job.place.would_start + (ended.end - ended.start);
}

void Settlement::post_would_be_bill(Job& job, const market_job_t& ended, ledger::Segment segment) {
  ledger::ObserveRun run;
  run.market = site_.exchange_of(job).settings.name;
  const Time since = startable_since(ended);
  const Time would_start = job.place.would_start;
  run.waited = std::max<Time>(0, (ended.start != 0 ? ended.start : ended.end) - since);
  if (would_start != 0) {
    run.would_wait = std::max<Time>(0, would_start - since);
    segment.planned_start = would_start;
  } else if (job.agreed.terms.auctioned() && !job.run->unbilled) {
    run.would_wait = std::max<Time>(0, ended.end - since);  // at least: it would wait still
  }
  site_.would_starts.ended(job, segment.elapsed);
  run.segment = std::move(segment);
  site_.accounts.observe(job, std::move(run), job.run->resettle.has_value());
}

void Settlement::tell_refused(const Note& note, const market_job_t& ended) {
  ledger::ObserveRun run;
  run.refused = true;
  run.market = site_.exchange_of(or_empty(ended.partition)).settings.name;
  const Time start = ended.start != 0 ? ended.start : ended.end;
  run.waited = std::max<Time>(0, start - startable_since(ended));
  ledger::Segment& segment = run.segment;
  segment.key = {site_.cluster_name, ended.job_id, ended.submit, ended.restart, note.token};
  segment.array_job_id = ended.array_job_id;
  segment.array_task_id = ended.array_job_id == 0 ? 0 : ended.array_task_id;
  segment.uid = ended.uid;
  segment.user = or_empty(ended.user);
  segment.account = note.account;
  segment.partition = or_empty(ended.partition);
  segment.mechanism = note.rule;
  segment.state = state_name(ended.state);
  segment.tres = or_empty(ended.tres_alloc);
  segment.note = "refused";
  segment.start = ended.start;
  segment.end = ended.end;
  segment.suspended = ended.suspended_s;
  if (ended.start != 0)
    segment.elapsed = std::max<Time>(0, ended.end - ended.start - ended.suspended_s);
  site_.accounts.record(std::move(run));
}

}  // namespace market
