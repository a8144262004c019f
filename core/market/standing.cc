// SPDX-License-Identifier: GPL-2.0-or-later
// Which bids stand in the auction: those whose job could start. Else a held bid just below a
// rival's would make him pay it, for nothing.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/market/site.h"
#include "core/util/slurm_time.h"

namespace market {

void Auctions::see_who_stands(const Exchange& exchange, Time now) {
  const std::set<std::uint32_t> crowded = site_.jobs.crowded_tasks();
  for (auto& [id, job] : site_.jobs.all()) {
    if (job.phase == Phase::kRunning || &site_.exchange_of(job) != &exchange) continue;
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
void Auctions::leave_auction(Job& job) {
  job.stands = job.stood = job.rated = false;
  job.left = true;
  job.standing = Standing{};
  site_.exchange_of(job).auction_at = 0;
}

// A bid that does not stand has the rank that it would have, since Slurm may start its job before
// the next pass (a license falls free, a dependency ends). It has no rate, and nobody's hangs on
// it.
void Auctions::rank_the_absent(Exchange& exchange, const std::vector<Job*>& owners,
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
std::string Auctions::explain_absence(const Job& job, Time now, std::string& code) const {
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
