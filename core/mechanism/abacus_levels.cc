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
  std::vector<std::size_t> of_bid;
  std::vector<ServiceLevel> levels(bids.size());
  for (std::size_t i = 0; i < bids.size(); ++i) {
    // Who waits and needs nothing takes no share from who needs one: he would keep others out for a lien alone.
    levels[i].prolific = !bids[i].runs && bids[i].left == 0;
    if (levels[i].prolific) continue;
    levels[i].needs = need_of(bids[i]);
    jobs.push_back({bids[i].budget, Utility::linear({1.0}), levels[i].needs});
    of_bid.push_back(i);
  }
  if (jobs.empty()) return levels;
  abacus::Options options = abacus::paper_options();
  options.alpha = alpha;
  const abacus::Pools pools = abacus::divide_pools(jobs, 1, options, kMostWork);
  for (std::size_t k = 0; k < pools.members.size(); ++k) {
    ServiceLevel& level = levels[of_bid[pools.members[k]]];
    level.prolific = true;
    level.has = pools.outcome.shares[k];
  }
  return levels;
}

}  // namespace market
