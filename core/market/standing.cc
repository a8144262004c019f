// SPDX-License-Identifier: GPL-2.0-or-later
// Which bids stand in the auction: those whose job could start. Else a held bid just below a
// rival's would make him pay it, for nothing.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/market/market.h"
#include "core/util/slurm_time.h"

namespace market {

// Of an array that limits how many of its tasks run, as many stand as may still start: the best
// bids. The others could not start beside them.
std::set<std::uint32_t> Market::crowded_tasks() const {
  std::set<std::uint32_t> crowded;
  for (const auto& [array, ids] : throttled_) {
    std::uint32_t running = 0, most = 0;
    std::vector<const Job*> ready;
    for (const std::uint32_t id : ids) {
      const auto found = jobs_.find(id);
      if (found == jobs_.end()) continue;
      const Job& task = found->second;
      most = task.throttle;
      running += task.phase == Phase::kRunning;
      if (task.phase == Phase::kConfirmed && task.ready) ready.push_back(&task);
    }
    std::sort(ready.begin(), ready.end(), [](const Job* a, const Job* b) {
      return std::tuple(b->terms.price, a->id) < std::tuple(a->terms.price, b->id);
    });
    const std::size_t room = most - std::min(most, running);
    for (std::size_t i = room; i < ready.size(); ++i) crowded.insert(ready[i]->id);
  }
  return crowded;
}

void Market::see_who_stands(const Exchange& exchange, Time now) {
  const std::set<std::uint32_t> crowded = crowded_tasks();
  for (auto& [id, job] : jobs_) {
    if (job.phase == Phase::kRunning || &exchange_of(job) != &exchange) continue;
    if (job.phase != Phase::kConfirmed || !job.ready || crowded.contains(id)) {
      job.startable_since = 0;
      if (job.stands) leave_auction(job);
      continue;
    }
    if (job.startable_since == 0) job.startable_since = now;
    const bool for_long = now - job.startable_since >= exchange.settings.auction_period;
    if (job.stands || (job.left && !for_long)) continue;
    job.stands = true;
    job.stood = false;
  }
}

// Others pay by it no longer, from this pass on. It comes back when it could have been started for
// a whole period, so that nobody stands just for the moment of an auction.
void Market::leave_auction(Job& job) {
  job.stands = job.stood = job.rated = false;
  job.left = true;
  job.standing = Standing{};
  exchange_of(job).auction_at = 0;
}

// A bid that does not stand has the rank that it would have, since Slurm may start its job before
// the next pass (a license falls free, a dependency ends). It has no rate, and nobody's hangs on
// it.
void Market::rank_the_absent(Exchange& exchange, const std::vector<Job*>& owners,
                             const std::vector<LiveBid>& bids, Time now) {
  const std::vector<Standing> ranks = exchange.auction->auction(bids, node_rooms(exchange), now);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Job& job = *owners[i];
    if (job.phase == Phase::kRunning || job.stands) continue;
    job.standing = Standing{ranks[i].priority, ranks[i].share, 0, {}, {}};
    job.stood = true;
  }
}

// Why a bid does not stand.
std::string Market::explain_absence(const Job& job, Time now, std::string& code) const {
  std::string why;
  if (job.held) {
    code = "HELD";
    why = fmt::format("is held: scontrol release {} lets it go on", job.id);
  } else if (job.dependent) {
    code = "DEPENDENCY";
    why = "waits for a job it depends on, or for a limit of its account or licenses";
  } else if (job.begin > now) {
    code = "BEGIN";
    why = fmt::format("waits for its begin time, {}", format_time_short(job.begin, now));
  } else if (job.throttle != 0) {
    code = "ARRAY_LIMIT";
    why = fmt::format("waits for its turn: at most {} tasks of its array run at a time",
                      job.throttle);
  } else {
    code = "QUEUED";
    why = "could start only since a moment ago";
  }
  return why + "; until then its bid does not stand in the auction, and nobody pays by it";
}

}  // namespace market
