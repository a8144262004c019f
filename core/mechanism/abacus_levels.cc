// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_levels.h"

#include <algorithm>

#include "core/mechanism/abacus_slo.h"

namespace market {
namespace {

constexpr double kMostWork = 1e6;  // rounds × jobs of one division, some hundredths of a second

}  // namespace

double need_of(const LevelBid& bid) {
  if (bid.runs || bid.left == 0) return 0;
  return bid.cpus * static_cast<double>(bid.limit) /
         static_cast<double>(std::max<Time>(1, bid.left));
}

std::vector<ServiceLevel> service_levels(std::span<const LevelBid> bids, double alpha) {
  std::vector<abacus::SloJob> jobs;
  jobs.reserve(bids.size());
  for (const LevelBid& bid : bids)
    jobs.push_back({bid.budget, Utility::linear({1.0}), need_of(bid)});
  abacus::Options options = abacus::paper_options();
  options.alpha = alpha;
  const abacus::Pools pools = abacus::divide_pools(jobs, 1, options, kMostWork);
  std::vector<ServiceLevel> levels(bids.size());
  for (std::size_t i = 0; i < bids.size(); ++i) levels[i].needs = jobs[i].min_utility;
  for (std::size_t k = 0; k < pools.members.size(); ++k) {
    levels[pools.members[k]].prolific = true;
    levels[pools.members[k]].has = pools.outcome.shares[k];
  }
  return levels;
}

}  // namespace market
