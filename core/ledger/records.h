// SPDX-License-Identifier: GPL-2.0-or-later
// What is set aside and charged, compared with what the market and Slurm itself say of the jobs.
// Each function returns one line for each thing that does not agree.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::ledger {

/// What is set aside for a job, as the market says.
struct LiveLien {
  std::uint32_t job_id = 0, restart = 0;
  std::string bid, account;
  Money amount;
};

/// A run as Slurm's own records have it.
struct SlurmRun {
  std::uint32_t job_id = 0;
  Time submitted = 0, start = 0, end = 0;  ///< start 0: it never ran; end 0: it has not ended
  bool is_live = false;                    ///< pending, running or suspended
  std::string admin_comment;
};
/// How the note of a bill begins that is for a place which was reserved.
inline constexpr std::string_view kPlaceNote = "place market_r";
/// By job number; Slurm gives numbers again.
using SlurmRuns = std::multimap<std::uint32_t, SlurmRun>;

/// Open liens of the books without a live job in the market, and the reverse.
std::vector<std::string> compare_liens(const std::vector<OpenLien>& books,
                                       const std::vector<LiveLien>& market);

/// Open liens of the books whose job Slurm has not, or not any more.
std::vector<std::string> liens_without_job(const std::vector<OpenLien>& books,
                                           const SlurmRuns& slurm);

/// Runs that were charged though Slurm says that they never ran, and bills in AdminComment that are
/// not what the books say. `complete`: Slurm's records hold all runs, so that one they do not have
/// was never made. `compared` counts the charged runs that Slurm has.
std::vector<std::string> compare_charges(const std::vector<Segment>& books, const SlurmRuns& slurm,
                                         bool complete, std::size_t& compared);

}  // namespace market::ledger
