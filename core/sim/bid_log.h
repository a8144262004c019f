// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that come with bids of their own: those of a ledger, and the workloads of the papers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sim/valuation_models.h"
#include "core/sim/workload.h"

namespace market::sim {

struct BidLog {
  Workload workload;
  std::vector<Valuation> valuations;  ///< of its jobs
};

/// The bids of a ledger's cluster, or of all where `cluster` is empty: those that ran as long as their
/// last run did, refused ones as long as they would have been allowed to. Deadlines are as the ledger
/// keeps them (core/words/past_bid.h), so a bid without one has its market's horizon.
Result<BidLog> read_ledger(const std::string& path, const std::string& cluster);

/// The workload of a paper's experiments, as far as a list of jobs can hold it: "era", "abacus",
/// "tycoon", "contracts" or "dva", with ":JOBS" for so many jobs. core/sim/paper_workloads.cc tells
/// the sources. Its machine's size is in the workload. Fails naming what is allowed.
Result<BidLog> generate_workload(std::string_view text, std::string_view seed);

/// MapReduce jobs as the SWIM project samples them: lines of six columns between tabs, name, submit,
/// gap, and bytes of map input, shuffle and output. The log has no times of runs: a job has a core for
/// each 128 MB of its input, at most 600, of which each moves 20 MB of all its bytes a second and takes
/// two seconds to start.
Result<Workload> read_mapreduce(const std::string& path);

}  // namespace market::sim
