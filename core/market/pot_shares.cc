// SPDX-License-Identifier: GPL-2.0-or-later
// Shares among runs that last: the market suspends or requeues the newest run of who holds too much.
#include <algorithm>
#include <set>

#include "core/market/pot_exchange.h"
#include "core/market/pot_table.h"
#include "core/market/share_rooms.h"
#include "core/market/site.h"
#include "core/mechanism/tycoon_shares.h"

namespace market {
namespace {

constexpr Time kPatience = 120;   // seconds in which Slurm looks at its whole queue
constexpr Time kVainPause = 600;  // seconds for which a job that nodes keep waiting waits alone

bool holds_gres(const Request& request) {
  return std::any_of(request.demand.tres.begin(), request.demand.tres.end(), [](const auto& entry) {
    return entry.first.starts_with("gres/") && entry.second > 0;
  });
}

std::int64_t cpus_on(const Placement& placement, const std::vector<Node>& nodes,
                     const std::string& partition) {
  std::int64_t cpus = 0;
  for (const Seat& seat : placement) {
    if (seat.node >= nodes.size() || !nodes[seat.node].partitions.contains(partition)) continue;
    cpus += std::int64_t{seat.cores.count()} * nodes[seat.node].threads_per_core;
  }
  return cpus;
}

// A suspended run leaves its cores alone, so one with GRES is sent back, if its owner lets it: Slurm
// knows. Memory stays too, which the nodes tell.
Stop stop_of(const Job& job, const MarketSettings& settings) {
  const bool leaves_all = !holds_gres(job.agreed.bid.request);
  return settings.tycoon.enforce == TycoonEnforce::kSuspend && leaves_all ? Stop::kSuspend
                                                                          : Stop::kRequeue;
}

}  // namespace

// What nobody holds. Of CPUs Slurm tells who has which; of other goods what runs with a pot or a bid
// asked for.
std::vector<double> PotExchange::free_at(const std::string& partition, const Host& host,
                                         const Table& table) const {
  std::vector<double> free;
  for (const HostGood& good : host.goods) free.push_back(good.capacity);
  for (std::size_t i = 0; i < host.goods.size(); ++i) {
    if (host.goods[i].tres == "cpu") continue;
    for (const tycoon::HeldRun& run : table.runs) free[i] -= run.held[i];
  }
  const auto cpu = std::find_if(host.goods.begin(), host.goods.end(),
                                [](const HostGood& good) { return good.tres == "cpu"; });
  if (cpu == host.goods.end()) return free;
  const std::vector<Node>& nodes = site_.cluster.nodes();
  std::int64_t held = 0;
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.phase == Phase::kRunning && !job.seen.suspended)
      held += cpus_on(job.place.placement, nodes, partition);
  }
  for (const Placement* placement : site_.cluster.held_by_others(site_.last_pass))
    held += cpus_on(*placement, nodes, partition);
  double& left = free[static_cast<std::size_t>(cpu - host.goods.begin())];
  left = std::max(0.0, left - static_cast<double>(held));
  return free;
}

bool PotExchange::may_stop(const Job& job) const {
  if (!is_of_rule(job)) return false;
  if (job.seen.suspended || job.auction->stopped || job.auction->sent_back ||
      job.auction->unstoppable)
    return false;
  return job.run->ran >= settings.tycoon.min_run && job.auction->rated;
}

// What no stop lets start, for reasons of its own or of its nodes, would have others stopped, or kept from going on,
// for nothing. It takes its turn in Slurm's queue as before, and claims nothing.
bool PotExchange::waits_alone(const Job& job) const {
  return job.auction->vain_at != 0 && site_.last_pass < job.auction->vain_at + kVainPause;
}

// A chance that leads to nothing for longer than Slurm takes to look at its queue is none.
void PotExchange::note_chance(Job& job, Time& since, bool is_so) const {
  const Time patience = std::max(2 * settings.auction_period, kPatience);
  since = !is_so ? 0 : since == 0 ? site_.last_pass : since;
  if (since == 0 || site_.last_pass <= since + patience) return;
  since = 0;
  job.auction.edit().vain_at = site_.last_pass;
}

// A period has two looks in vain. Who had one has the next when each of the others could have had his, so jobs that
// never start keep nobody else's from being looked at.
std::vector<tycoon::ShareWaiter> PotExchange::waiters(Host& host, const Table& table,
                                                      const std::vector<std::size_t>& order) const {
  std::set<std::uint32_t> owners;
  for (const std::size_t i : order) owners.insert(table.waiting_jobs[i]->agreed.bid.uid);
  const Time turns = settings.auction_period * static_cast<Time>((owners.size() + 1) / 2);
  std::erase_if(host.vain, [&](const auto& had) { return site_.last_pass >= had.second + turns; });
  std::vector<tycoon::ShareWaiter> waiting;
  for (const std::size_t i : order) {
    const std::uint32_t owner = table.waiting_jobs[i]->agreed.bid.uid;
    waiting.push_back(
        {table.waiting[i].player, table.waiting[i].wanted, !host.vain.contains(owner), owner});
  }
  return waiting;
}

void PotExchange::move_shares(const std::string& partition, Host& host, const Table& table,
                              const tycoon::PotPeriod& period) {
  std::vector<tycoon::ShareHolder> players;
  for (const auto& claims : period.claims) {
    tycoon::ShareHolder& player = players.emplace_back();
    for (const tycoon::Claim& claim : claims) {
      player.held.push_back(claim.held);
      player.allotted.push_back(claim.allotted);
    }
  }
  std::vector<tycoon::ShareRun> runs;
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    const Job& job = *table.running_jobs[i];
    runs.push_back({table.runs[i].player, amounts(host, job.agreed.bid.request.demand.tres),
                    static_cast<double>(site_.last_pass - job.run->start), may_stop(job),
                    table.runs[i].is_stopped});
  }
  const bool stops_runs = settings.tycoon.enforce != TycoonEnforce::kStart;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < table.waiting.size(); ++i)
    if (stops_runs && period.ranks[i].is_ranked && !waits_alone(*table.waiting_jobs[i]))
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&period](std::size_t a, std::size_t b) {
    return period.ranks[a].place < period.ranks[b].place;
  });
  std::vector<Stop> stops;
  for (const Job* job : table.running_jobs) stops.push_back(stop_of(*job, settings));
  std::vector<const Job*> waiting_jobs;
  for (const std::size_t i : order) waiting_jobs.push_back(table.waiting_jobs[i]);
  tycoon::ShareMoves moves;
  {
    ShareRooms rooms(site_, table.running_jobs, stops, std::move(waiting_jobs));
    moves = tycoon::move_shares(std::move(players), runs, waiters(host, table, order),
                                free_at(partition, host, table), settings.tycoon.slack, &rooms);
  }
  for (const std::size_t i : moves.vain) {
    Job& job = *table.waiting_jobs[order[i]];
    job.auction.edit().vain_at = host.vain[job.agreed.bid.uid] = site_.last_pass;
  }
  const auto is_in = [](const std::vector<std::size_t>& jobs, std::size_t i) {
    return std::find(jobs.begin(), jobs.end(), i) != jobs.end();
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    Job& job = *table.waiting_jobs[order[i]];
    note_chance(job, job.auction.edit().room_since, is_in(moves.served, i));
    note_chance(job, job.auction.edit().lacking_since, is_in(moves.lacking, i));
  }
  for (const std::size_t run : moves.stops) {
    Job& job = *table.running_jobs[run];
    const bool suspends = stops[run] == Stop::kSuspend;
    job.auction.set(suspends ? &AuctionTurn::stopped : &AuctionTurn::sent_back, true);
    job.due.note = true;
    site_.orders.add(suspends ? MARKET_SUSPEND : MARKET_REQUEUE, job.id);
  }
  for (const std::size_t run : moves.resumes)
    site_.orders.add(MARKET_RESUME, table.running_jobs[run]->id);
}

}  // namespace market
