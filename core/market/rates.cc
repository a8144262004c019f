// SPDX-License-Identifier: GPL-2.0-or-later
// What a run in an auction owes while it runs: its rate, kept through crashes.
#include "core/market/rates.h"

#include <algorithm>
#include <cmath>

namespace market {
namespace {

constexpr Time kKeepEvery = 60;     // seconds between two notes of a run, at least
constexpr double kSameRate = 1e-9;  // rates that differ by less are the same

}  // namespace

Time limit_end(const Job& job, Time now) {
  const Time limit = job.agreed.bid.request.duration;
  if (job.phase == Phase::kRunning) return now + std::max<Time>(0, limit - job.run->ran);
  return std::max({now, job.seen.begin, job.agreed.bid.request.earliest}) + limit;
}

// What a run owes grows by its rate for the seconds it ran since it was last looked at.
void accrue(Job& job) {
  if (!job.auction->rated || job.run->ran <= job.run->accrued.seconds) return;
  Accrued& accrued = job.run.edit().accrued;
  const double before = accrued.credits;
  accrued.credits +=
      job.auction->standing.rate * static_cast<double>(job.run->ran - accrued.seconds);
  accrued.credits = std::min(accrued.credits, job.agreed.terms.price.credits());
  accrued.seconds = job.run->ran;
  for (GoodRate& good : job.auction.edit().goods) {
    if (job.auction->standing.rate > 0)
      good.owes += (accrued.credits - before) * good.rate / job.auction->standing.rate;
  }
}

// What a run owed when its note was last written, if the note is of this very run.
void resume(Job& job, const Note& note, Time run_start) {
  if (run_start == 0 || note.run_start != run_start || !note.rate) return;
  Accrued& accrued = job.run.edit().accrued;
  accrued.credits = note.accrued;
  accrued.seconds = note.ran;
  accrued.resumed = true;
  AuctionTurn& turn = job.auction.edit();
  turn.standing.rate = *note.rate;
  turn.awarded = note.awarded;
  turn.pays = pays_from(note.pays);
  turn.goods = goods_from(note.goods);
  turn.stopped = note.stopped;
  turn.rated = true;
}

// From the note the run goes on after a crash; while its rate stays that is exact. Also of runs
// whose rule is in force no more: the last change of their rate may not have been told.
void keep_rate(Job& job, const MarketSettings& settings, Time now) {
  if (!job.auction->rated) return;
  const double rate = job.auction->standing.rate;
  Accrued& accrued = job.run.edit().accrued;
  if (accrued.kept_rate) {
    const Time every = std::max(settings.auction_period, kKeepEvery);
    const bool same = std::abs(*accrued.kept_rate - rate) <= kSameRate * rate;
    if (same || now < accrued.kept_at + every) return;
  }
  accrued.kept_rate = rate;
  accrued.kept_at = now;
  job.due.note = true;
}

}  // namespace market
