// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose size the market decides at the award: what they may ask for, what Slurm is told, and
// what they are from their start on.
#pragma once

#include <string>

#include "core/market/offer.h"
#include "core/market/site.h"

namespace market {

/// The longest that the work of a malleable bid can take, seconds: all of it at the smallest size,
/// with `slack`, in Slurm's whole minutes.
Time longest_run(const Bid& bid, Time slack);

/// Fails with the option that is missing, or that a malleable job cannot be had with.
Result<void> check_malleable(const market_submission_t& submission);

/// Makes the draft malleable as --workload and --malleable say, its request being the smallest size;
/// its time limit becomes the longest run, or the one that was asked for where that is shorter. Of
/// a market that only observes it stays a job of that size. Fails with the option that does not fit
/// the others.
Result<void> make_malleable(const Site& site, const market_submission_t& submission, Draft* draft);

/// After a crash: the same from the texts of its note, for a request that is known again.
void make_malleable_again(const Site& site, const market_job_t& seen, Job* job);

/// The size in Slurm's record.
SlurmSize size_of(const market_job_t& seen);

/// What Slurm's record is to say for the size that the job is awarded; all 0 when it is not malleable.
SlurmSize awarded_size(const Site& site, const Job& job, const market_job_t& seen);

/// The job has its size: from its start on it is a bid for that, also when it is queued again.
void keep_size(Site& site, Job& job, const market_job_t& seen);

/// A limit of Slurm's keeps the job from starting in its size: it is awarded less next time.
void shrink(Job& job);

/// Slurm refused its award once more. The first times it may be that a node has just come up; from
/// the fifth on it is awarded less.
void shrink_if_refused_often(Job& job);

/// "8 CPUs on n4, its work takes 0:02:00"; "" without a size.
std::string size_text(const Site& site, const Standing& standing);

/// Why a change of a malleable job cannot be, whoever asks for it.
std::string resize_refusal(std::uint32_t job_id);

/// Whether the change is one of size, nodes or time.
inline bool resizes(const market_change_t& change) {
  return change.resized || change.time_limit_min != 0;
}

}  // namespace market
