// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_slo.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace market::abacus {

namespace {

constexpr double kSlack = 1e-9;

bool reaches(double utility, double least) {
  return utility >= least - kSlack * std::max(1.0, std::abs(least));
}

double density_of(const SloJob& job) {
  const double need = job.utility.equal_share_for(job.min_utility);
  return need > 0 ? job.budget / need : std::numeric_limits<double>::infinity();
}

Outcome run_among(const std::vector<SloJob>& jobs, const std::vector<std::size_t>& members,
                  std::size_t resources, const Options& options) {
  Auction auction(resources);
  auction.reserve(members.size());
  for (std::size_t job : members) auction.add(jobs[job].budget, jobs[job].utility);
  return run(auction, options);
}

bool all_reach(const std::vector<SloJob>& jobs, const std::vector<std::size_t>& members,
               const Outcome& outcome) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (!reaches(outcome.utilities[k], jobs[members[k]].min_utility)) return false;
  }
  return true;
}

std::vector<std::size_t> with(const std::vector<std::size_t>& members, std::size_t job) {
  std::vector<std::size_t> more = members;
  more.insert(std::lower_bound(more.begin(), more.end(), job), job);
  return more;
}

// Those that need nothing come first and reach it whatever the others get: they are admitted at once. How many.
std::size_t admit_free(const std::vector<SloJob>& jobs, const std::vector<double>& densities,
                       std::size_t resources, const Options& options, Pools& pools) {
  const auto needs_something = [&](std::size_t job) { return std::isfinite(densities[job]); };
  const auto end = std::find_if(pools.order.begin(), pools.order.end(), needs_something);
  pools.prolific.assign(pools.order.begin(), end);
  if (pools.prolific.empty()) return 0;
  pools.density.assign(pools.prolific.size(), std::numeric_limits<double>::infinity());
  pools.members = pools.prolific;
  std::sort(pools.members.begin(), pools.members.end());
  pools.outcome = run_among(jobs, pools.members, resources, options);
  return pools.prolific.size();
}

}  // namespace

Pools divide_pools(const std::vector<SloJob>& jobs, std::size_t resources, const Options& options,
                   double most_work) {
  Pools pools;
  std::vector<double> densities;
  densities.reserve(jobs.size());
  for (const SloJob& job : jobs) densities.push_back(density_of(job));
  pools.order.resize(jobs.size());
  std::iota(pools.order.begin(), pools.order.end(), std::size_t{0});
  std::stable_sort(pools.order.begin(), pools.order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(densities[a], jobs[a].budget) > std::pair(densities[b], jobs[b].budget);
  });
  pools.outcome.converged = true;
  const std::size_t free = admit_free(jobs, densities, resources, options, pools);
  for (std::size_t k = free; k < pools.order.size(); ++k) {
    const std::size_t job = pools.order[k];
    pools.density.push_back(densities[job]);
    bool admitted = false;
    if (reaches(jobs[job].utility.largest(), jobs[job].min_utility)) {
      std::vector<std::size_t> members = with(pools.members, job);
      const auto round_work = static_cast<double>(members.size() * resources);
      Options limited = options;
      if (most_work / round_work < static_cast<double>(options.max_rounds))
        limited.max_rounds = static_cast<std::size_t>(most_work / round_work);
      Outcome outcome = run_among(jobs, members, resources, limited);
      most_work -= static_cast<double>(outcome.rounds) * round_work;
      if (!outcome.converged && outcome.rounds < options.max_rounds) {
        pools.complete = false;
        return pools;
      }
      admitted = all_reach(jobs, members, outcome);
      if (admitted) {
        pools.members = std::move(members);
        pools.outcome = std::move(outcome);
      }
    }
    (admitted ? pools.prolific : pools.others).push_back(job);
  }
  return pools;
}

}  // namespace market::abacus
