// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/would_starts.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/market/site.h"

namespace market {
namespace {

std::int64_t cpus_in(const Tres& tres) {
  const auto cpus = tres.find("cpu");
  return cpus == tres.end() ? 0 : cpus->second;
}

/// What jobs that nobody follows leave of the market's cores.
std::int64_t left_by_others(const Capacity& stock, Time now) {
  std::int64_t left = cpus_in(stock.total);
  for (const Capacity::Busy& busy : stock.busy) {
    if (busy.from <= now && busy.until > now) left -= cpus_in(busy.tres);
  }
  return left;
}

/// The bids of an auction that have not started in what is supposed, the best ones first.
std::vector<Job*> waiting_in(Site& site, const Exchange& exchange) {
  std::vector<Job*> waiting;
  for (Job& job : site.jobs.awake()) {
    const bool lives = job.phase == Phase::kRunning || job.phase == Phase::kConfirmed;
    const bool can_start = job.phase == Phase::kRunning || job.seen.ready;
    if (lives && can_start && job.agreed.terms.auctioned() && !job.run->unbilled &&
        job.place.would_start == 0 && &site.exchange_of(job) == &exchange)
      waiting.push_back(&job);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Job* a, const Job* b) {
    return std::tuple(-a->auction->standing.priority, a->id) <
           std::tuple(-b->auction->standing.priority, b->id);
  });
  return waiting;
}

}  // namespace

void WouldStarts::look(Site& site, Time now) {
  for (const auto& exchange : site.exchanges) {
    if (exchange->promises() || exchange->awards_nodes()) continue;
    auto& runs = runs_[exchange->settings.name];
    std::int64_t left = left_by_others(exchange->stock, now);
    std::erase_if(runs, [now](const auto& run) { return run.second.end <= now; });
    for (const auto& [key, run] : runs) left -= run.cpus;
    for (Job* job : waiting_in(site, *exchange)) {
      const std::int64_t cpus = cpus_in(job->agreed.bid.request.demand.tres);
      if (cpus > left) continue;
      left -= cpus;
      job->place.would_start = now;
      runs[{job->id, job->restart}] = {now, now + job->agreed.bid.request.duration, cpus};
    }
  }
}

void WouldStarts::ended(const Job& job, Time elapsed) {
  for (auto& [market, runs] : runs_) {
    const auto run = runs.find({job.id, job.restart});
    if (run != runs.end()) run->second.end = run->second.start + elapsed;
  }
}

}  // namespace market
