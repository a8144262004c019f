// SPDX-License-Identifier: GPL-2.0-or-later
// The average shares of a job over its waiting and running (Abacus, Definition 1), for who learns utilities.
#pragma once

#include "core/market/job.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

/// Adds the shares of the job's present standing up to `until`, if its clock runs. Before the standing changes,
/// and at the end.
void count_shares(Job& job, Time until);
/// Its clock runs from `now` on, where its standing tells shares.
void go_on_counting(Job& job, Time now);
/// Its clock stands: it cannot start, which is its own doing.
void stop_counting(Job& job, Time now);

/// What the run that has ended teaches goes to the books: of one that completed, whose shares are known from
/// its beginning. Of an array that is one bid only its last task, with the time of all.
void teach_utility(Site& site, Job& job, const market_job_t& ended);

}  // namespace market
