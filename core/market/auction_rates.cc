// SPDX-License-Identifier: GPL-2.0-or-later
// What the runs of an auction owe a second: by their award, and by what owners ask.
#include <algorithm>
#include <utility>

#include "core/market/auction_exchange.h"
#include "core/market/convert.h"
#include "core/market/owners.h"
#include "core/market/site.h"

namespace market {
namespace {

constexpr double kRounding = 1e-9;

/// All of the node is free; where it names the same resources as before they stay where they are.
void make_free(NodeRoom& room) {
  const bool same_names =
      std::equal(room.free.begin(), room.free.end(), room.total.begin(), room.total.end(),
                 [](const auto& free, const auto& total) { return free.first == total.first; });
  if (!same_names) {
    room.free = room.total;
    return;
  }
  auto free = room.free.begin();
  for (const auto& [name, amount] : room.total) (free++)->second = amount;
}

}  // namespace

void AuctionExchange::list_nodes() {
  nodes_known_ = true;
  rooms_.clear();
  for (const Node& node : site_.cluster.nodes()) {
    NodeRoom room{node.name, {}, {}, {}};
    if (settings.owners.contains(node.name)) room.ask = site_.asks.of(settings, node.name);
    if (node.usable && sells(settings, node)) {
      room.total["cpu"] = std::int64_t{node.cores} * node.threads_per_core;
      room.total["mem"] = static_cast<std::int64_t>(node.mem_mb);
      for (const auto& [name, count] : node.gres) room.total["gres/" + name] = count;
    }
    rooms_.push_back(std::move(room));
  }
}

// Kept until a run begins or ends or the cluster or the configuration changes: many submissions
// may come between two passes.
const std::vector<NodeRoom>& AuctionExchange::node_rooms() {
  if (rooms_known_) return rooms_;
  rooms_known_ = true;
  if (!auction_->wants_nodes()) return rooms_;
  if (!nodes_known_) list_nodes();
  for (NodeRoom& room : rooms_) make_free(room);
  const auto take = [this](const Placement& placement) {
    for (const Seat& seat : placement) {
      if (seat.node >= rooms_.size()) continue;
      Tres& free = rooms_[seat.node].free;
      free["cpu"] -=
          std::int64_t{seat.cores.count()} * site_.cluster.nodes()[seat.node].threads_per_core;
      free["mem"] -= static_cast<std::int64_t>(seat.mem_mb);
      for (const auto& [name, count] : seat.gres) free["gres/" + name] -= count;
    }
  };
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.phase != Phase::kRunning) continue;
    take(job.place.placement);
    take_gres(job);
  }
  for (const Placement* held : site_.cluster.held_by_others(site_.last_pass)) take(*held);
  return rooms_;
}

// Slurm tells cores and memory of a run alone: of gres what it bought, evenly over its nodes.
void AuctionExchange::take_gres(const Job& job) {
  const Placement& placement = job.place.placement;
  const auto count = static_cast<std::int64_t>(placement.size());
  for (const auto& [name, bought] : job.agreed.bid.request.demand.tres) {
    if (!name.starts_with("gres/")) continue;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t node = placement[static_cast<std::size_t>(i)].node;
      if (node < rooms_.size())
        rooms_[node].free[name] -= bought / count + (i < bought % count ? 1 : 0);
    }
  }
}

// A run that ended before any auction gave it a rate pays what a bid like it would pay now.
void AuctionExchange::rate_unseen(Job& job, const market_job_t& ended, Time now) {
  if (!is_of_rule(job) || !is_priced()) return;
  const Time end = ended.start + job.agreed.bid.request.duration + ended.suspended_s;
  const Placement placement = placement_of(ended.allocs, ended.alloc_count, site_.cluster.nodes());
  if (job.phase != Phase::kRunning) meet_asks(job, placement, end);  // no pass saw it run
  if (job.auction->rated) return;
  const Phase phase = std::exchange(job.phase, Phase::kEnded);  // else it competes with itself
  const double worth = worth_at(job.agreed.bid, job.agreed.bid_made, end);
  job.auction.edit().standing = preview_or_alone(job.agreed.bid, worth, now, false);
  job.auction.edit().rated = true;
  meet_asks(job, placement, end);
  if (!job.auction.exchange(&AuctionTurn::rated, true)) {
    job.auction.edit().standing = preview_or_alone(job.agreed.bid, worth, now, true);
    raise_to_asks(job, placement, end);
  }
  job.phase = phase;
}

// The rate becomes what is asked for the nodes that the run really has, but no more than its bid
// comes to each second of its time limit.
void AuctionExchange::raise_to_asks(Job& job, const Placement& placement, Time limit_end) {
  if (!auction_->wants_nodes()) return;
  job.auction.edit().pays = Owners(site_, *this).asked(job, placement);
  const double asked =
      placement.empty()  // nobody tells where it ran
          ? settings.floor_price * site_.billing_of(job.agreed.bid.request) / kSecondsPerHour
          : sum_asked(job.auction->pays);
  const double most = worth_at(job.agreed.bid, job.agreed.bid_made, limit_end) /
                      static_cast<double>(std::max<Time>(1, job.agreed.bid.request.duration));
  job.auction.edit().standing.rate = std::max(job.auction->standing.rate, std::min(most, asked));
}

// Slurm puts a run where it likes. Where that is what the auction awarded, and what the owners won
// meets what they ask for what it really holds, they get that; else it owes what they ask.
void AuctionExchange::meet_asks(Job& job, const Placement& placement, Time limit_end) {
  if (std::string drawn = auction_->started(job.id); !drawn.empty()) {
    job.agreed.terms.markup = std::move(drawn);
    job.due.note = true;
  }
  if (!is_of_rule(job) || !auction_->wants_nodes() || !job.auction->rated ||
      job.run->accrued.resumed)
    return;
  if (job.auction->standing.nodes.empty()) {  // never awarded any: it is rated as a run
    job.auction.edit().rated = job.auction.edit().stood = false;
    return;
  }
  if (site_.observes) {  // Slurm ran it elsewhere; the market would have run it on its award
    job.auction.edit().awarded = true;
    return;
  }
  const Owners owners(site_, *this);
  AuctionTurn& turn = job.auction.edit();
  turn.pays = owners.won(job, placement);
  turn.awarded = owners.on_awarded_nodes(job, placement) &&
                 std::all_of(turn.pays.begin(), turn.pays.end(), [](const NodePay& pay) {
                   return pay.asked <= pay.rate * (1 + kRounding);
                 });
  if (!turn.awarded) raise_to_asks(job, placement, limit_end);
}

}  // namespace market
