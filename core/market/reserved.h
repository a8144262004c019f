// SPDX-License-Identifier: GPL-2.0-or-later
// Places that people reserve to run jobs in. A place is carried by a job that stays held: its note,
// its lien and its bill are that of any bid, so that a crash loses none of them. What it owes is what a
// run would owe that takes all of the place's time.
#pragma once

#include "core/market/job.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

/// When the time of the place is over.
inline Time place_end(const Job& job) {
  return job.agreed.terms.start + job.agreed.bid.request.duration;
}

/// Whether its time has begun.
inline bool has_begun(const Job& job, Time now) {
  return job.agreed.reserved.has_value() && now >= job.agreed.terms.start;
}

/// The end of the job that stands for a place, as that of a run: from the start of the place to its
/// end, or to when its owner gave it up. Of any other job, and of a place that had not begun: `ended`.
market_job_t as_used(const Job& job, const market_job_t& ended, Time now);
/// Counts what cannot be used of a place whose time goes on.
void count_lost(const Site& site, Job& job, Time now);
/// The part of the place that cannot be used now: its CPUs on nodes that failed, or all where Slurm has
/// no reservation for it.
double part_lost(const Site& site, const Job& job);
/// Of a place's price, what is for the part of its time that could not be used.
Money refund_for_lost(const Job& job);

}  // namespace market
