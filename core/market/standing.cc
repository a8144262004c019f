// SPDX-License-Identifier: GPL-2.0-or-later
// Which bids stand in the auction: those whose job could start. Else a held bid just below a
// rival's would make him pay it, for nothing.
#include <utility>

#include "core/market/auction_exchange.h"
#include "core/market/average_shares.h"
#include "core/market/site.h"
#include "core/market/sizing.h"

namespace market {
namespace {

constexpr Time kLook = 3;  // seconds that Slurm has to look at a job in its new size

}  // namespace

void AuctionExchange::see_who_stands(Time now) {
  const std::set<std::uint32_t> crowded = site_.jobs.crowded_tasks();
  for (Job& job : site_.jobs.awake()) {
    if (job.phase == Phase::kRunning || &site_.exchange_of(job) != this) continue;
    // Slurm has looked at its award and keeps it from there: a limit of its own, licenses.
    const bool is_limited = !job.seen.held && job.seen.dependent && !job.auction->award.empty();
    const bool is_refused = !job.auction->refusal.empty() && now < job.place.retry_at;
    if (is_limited && job.seen.size_limited && now >= job.place.retry_at) {
      shrink(job);
      job.auction.set(&AuctionTurn::stood, false);  // it is sized at once: this size may do
      job.place.retry_at = now + kLook;
    }
    job.auction.set(&AuctionTurn::last,
                    job.phase == Phase::kConfirmed && (is_limited || is_refused));
    if (is_refused) {
      if (job.auction->stands) leave_auction(job, now);
      job.auction.set(&AuctionTurn::left, false);  // that was Slurm's doing
      continue;
    }
    if (job.phase != Phase::kConfirmed || !job.seen.ready || crowded.contains(job.id)) {
      job.auction.set(&AuctionTurn::startable_since, 0);
      if (job.auction->stands) leave_auction(job, now);
      continue;
    }
    if (job.auction->startable_since == 0) job.auction.edit().startable_since = now;
    const bool for_long = now - job.auction->startable_since >= settings.auction_period;
    if (job.auction->stands || (job.auction->left && !for_long)) continue;
    job.auction.edit().stands = true;
    job.auction.edit().stood = false;
  }
}

// Others pay by it no longer, from this pass on. It comes back when it could have been started for
// a whole period, so that nobody stands just for the moment of an auction.
void AuctionExchange::leave_auction(Job& job, Time now) {
  stop_counting(job, now);
  AuctionTurn& turn = job.auction.edit();
  turn.stands = turn.stood = turn.rated = false;
  turn.left = true;
  turn.standing = Standing{};
  next_auction_ = 0;
}

// A bid that does not stand has the rank that it would have, since Slurm may start its job before
// the next pass (a license falls free, a dependency ends). It has no rate, and nobody's hangs on
// it.
void AuctionExchange::rank_the_absent(const std::vector<Job*>& owners,
                                      const std::vector<LiveBid>& bids, Time now) {
  const std::vector<Standing> ranks = auction_->auction(bids, node_rooms(), now);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Job& job = *owners[i];
    if (job.phase == Phase::kRunning || job.auction->stands) continue;
    Standing rank;
    rank.priority = ranks[i].priority;
    rank.share = ranks[i].share;
    rank.shares = ranks[i].shares;
    rank.level = ranks[i].level;
    rank.turn = ranks[i].turn;
    rank.turns = ranks[i].turns;
    job.auction.edit().standing = std::move(rank);
    job.auction.edit().stood = true;
  }
}

}  // namespace market
