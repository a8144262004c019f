// SPDX-License-Identifier: GPL-2.0-or-later
// What a run in an auction owes while it runs: its rate, kept through crashes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/market/convert.h"
#include "core/market/site.h"

namespace market {
namespace {

constexpr Time kKeepEvery = 60;     // seconds between two notes of a run, at least
constexpr double kRounding = 1e-9;  // rates that differ by less are the same

}  // namespace

// What a run owes grows by its rate for the seconds it ran since it was last looked at.
void Auctions::accrue(Job& job) {
  Accrued& accrued = job.accrued;
  if (!job.rated || job.ran <= accrued.seconds) return;
  accrued.credits += job.standing.rate * static_cast<double>(job.ran - accrued.seconds);
  accrued.credits = std::min(accrued.credits, job.terms.price.credits());
  accrued.seconds = job.ran;
}

// What a run owed when its note was last written, if the note is of this very run.
void Auctions::resume(Job& job, const Note& note, Time run_start) const {
  if (run_start == 0 || note.run_start != run_start || !note.rate) return;
  job.accrued.credits = note.accrued;
  job.accrued.seconds = note.ran;
  job.accrued.resumed = true;
  job.standing.rate = *note.rate;
  job.awarded = note.awarded;
  job.rated = true;
}

// From the note the run goes on after a crash; while its rate stays that is exact. Also of runs
// whose rule is in force no more: the last change of their rate may not have been told.
void Auctions::keep_rate(Job& job, Time now) {
  Accrued& accrued = job.accrued;
  const double rate = job.standing.rate;
  if (!job.rated) return;
  if (accrued.kept_rate) {
    const Time every = std::max(site_.exchange_of(job).settings.auction_period, kKeepEvery);
    const bool same = std::abs(*accrued.kept_rate - rate) <= kRounding * rate;
    if (same || now < accrued.kept_at + every) return;
  }
  accrued.kept_rate = rate;
  accrued.kept_at = now;
  job.note_due = true;
}

// A run that ended before any auction gave it a rate pays what a bid like it would pay now.
void Auctions::rate_unseen(Job& job, const market_job_t& ended, Time now) {
  const Auction* auction = auction_of(job);
  if (auction == nullptr || !auction->priced()) return;
  const Time end = ended.start + job.bid.request.duration + ended.suspended_s;
  const Placement placement = placement_of(ended.allocs, ended.alloc_count, site_.cluster.nodes());
  if (job.phase != Phase::kRunning) meet_asks(job, placement, end);  // no pass saw it run
  if (job.rated) return;
  const Phase phase = std::exchange(job.phase, Phase::kEnded);  // else it competes with itself
  const double worth = worth_at(job.bid, job.bid_made, end);
  job.standing = preview_or_alone(job.bid, worth, now, false);
  job.rated = true;
  meet_asks(job, placement, end);
  if (!std::exchange(job.rated, true)) {
    job.standing = preview_or_alone(job.bid, worth, now, true);
    raise_to_asks(job, placement, end);
  }
  job.phase = phase;
}

}  // namespace market
