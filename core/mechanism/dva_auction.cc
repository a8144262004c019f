// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_auction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/words/node_ask.h"

namespace market {
namespace {

constexpr double kSeveralPrices = std::numeric_limits<double>::infinity();

}  // namespace

DvaAuction::DvaAuction(const MarketSettings& config)
    : rules_{config.over_budget, true}, floor_(config.floor_price / kSecondsPerHour) {
  for (const TresWeight& weight : config.weights) {
    if (weight.tres == "node" || !(weight.weight > 0)) continue;
    goods_.names.push_back(weight.tres);
    goods_.weights.push_back(weight.weight / units_of_price(weight.tres));
  }
}

// The order of the last auction serves again while nobody changes what he asks.
void DvaAuction::rank_by_ask(std::span<const NodeRoom> nodes) {
  const std::vector<double> before = std::move(asks_);
  asks_.clear();
  for (const NodeRoom& node : nodes) {
    const bool several = node.ask && !node.ask->tres.empty();
    asks_.push_back(several    ? kSeveralPrices
                    : node.ask ? node.ask->price / kSecondsPerHour
                               : floor_);
  }
  if (asks_ == before) return;
  by_ask_.clear();
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (asks_[node] != kSeveralPrices) by_ask_.push_back(node);
  }
  std::stable_sort(by_ask_.begin(), by_ask_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return asks_[a] < asks_[b]; });
}

void DvaAuction::add_goods_of(std::span<const NodeRoom> nodes) {
  for (const NodeRoom& node : nodes) {
    for (const auto& [name, amount] : node.total) goods_.add(name);
  }
}

// As many parts as the job needs nodes, each with its part of what is asked for.
DvaAuction::Bidder DvaAuction::bidder_of(const LiveBid& bid, std::size_t number,
                                         const DvaRooms& rooms) const {
  const double seconds = seconds_left(bid);
  Bidder bidder;
  bidder.number = number;
  AuctionTask& task = bidder.task;
  task.budget = bid.bid_rate ? *bid.bid_rate : bid.budget / seconds;
  task.demand = goods_.amounts(bid.bid->request.demand.tres);
  for (std::size_t j = 0; j < task.demand.size(); ++j) {  // where Slurm does not count memory
    if (goods_.names[j] == "mem" && !(rooms.largest(j) > 0)) task.demand[j] = 0;
  }
  const Shape& shape = bid.bid->request.demand.shape;
  double parts = std::max(
      {1.0, static_cast<double>(shape.min_nodes), static_cast<double>(shape.req_nodes.size())});
  for (std::size_t j = 0; j < task.demand.size(); ++j) {
    if (rooms.largest(j) > 0) parts = std::max(parts, std::ceil(task.demand[j] / rooms.largest(j)));
  }
  if (bid.bid->malleable) {
    parts = 1;
    bidder.sized = sized_demand(bid, goods_, task.demand);
  }
  task.nodes = static_cast<std::uint32_t>(std::min(parts, 1e6));
  task.workload = task.demand;
  for (double& amount : task.workload) amount *= seconds;
  for (double& amount : task.demand) amount /= task.nodes;
  bidder.units = goods_.billing(task.demand);
  return bidder;
}

std::optional<Award> DvaAuction::sized_award(const Bidder& bidder, const LiveBid& bid,
                                             const BudgetToBeat& budget, DvaRooms* rooms) {
  const DvaRooms::Wanted wanted{
      bidder.task.demand, bidder.units, bidder.task.budget, 0, 1, 1, bid.able};
  const std::vector<NodeOffer> offers = sized_offers(*bidder.sized, wanted, rooms);
  auto won = award(bidder.task, budget, offers, {OverBudget::kCap, true});
  if (!won) return won;
  AwardedPart& part = won->parts.front();
  won->real_payment_unit = part.real_payment_unit =
      std::min(part.real_payment_unit, part.expected_payment_unit);
  return won;
}

// The same bid on another number of nodes: what is asked for each grows with them, what is asked for
// the whole job is parted among them.
DvaAuction::Bidder DvaAuction::on_nodes(const Bidder& bidder, const LiveBid& bid,
                                        std::uint32_t nodes) const {
  const Shape& shape = bid.bid->request.demand.shape;
  Tres tres = bid.bid->request.demand.tres;
  const std::int64_t count = nodes;
  const std::int64_t tasks = std::max<std::int64_t>(1, shape.tasks_per_node);
  const std::int64_t filled = count * tasks * shape.cpus_per_task;
  tres["node"] = count;
  tres["cpu"] = shape.exclusive ? tres["cpu"] / std::max(1u, shape.min_nodes) * count
                                : std::max(tres["cpu"], filled);
  if (shape.mem_per_cpu_mb > 0)
    tres["mem"] = tres["cpu"] * static_cast<std::int64_t>(shape.mem_per_cpu_mb);
  else if (shape.mem_per_node_mb > 0)
    tres["mem"] = count * static_cast<std::int64_t>(shape.mem_per_node_mb);
  for (const auto& [name, each] : shape.gres_per_node) tres["gres/" + name] = each * count;
  Bidder wide = bidder;
  wide.task.nodes = nodes;
  wide.task.demand = goods_.amounts(tres);
  for (std::size_t j = 0; j < wide.task.demand.size(); ++j) {
    if (bidder.task.demand[j] == 0) wide.task.demand[j] = 0;  // it is not counted
    wide.task.demand[j] /= nodes;
  }
  wide.units = goods_.billing(wide.task.demand);
  return wide;
}

// More nodes cost more, so the most that are within the budget are found by halving.
DvaAuction::Won DvaAuction::widest(const Bidder& bidder, const LiveBid& bid, std::size_t position,
                                   const DvaRivals& rivals, DvaRooms* rooms) const {
  const std::uint32_t asked = bid.bid->request.demand.shape.most_nodes;
  std::uint32_t most = static_cast<std::uint32_t>(std::min<std::size_t>(asked, rooms->size()));
  Won best{bidder, award_to(bidder, bid, position, rivals, rooms)};
  std::uint32_t least = bidder.task.nodes;
  if (bidder.sized) return best;
  // On few nodes there may be no room for what the job shares out over more of them.
  for (std::uint32_t tried = most; !best.award && tried > bidder.task.nodes; tried /= 2) {
    Bidder wide = on_nodes(bidder, bid, tried);
    auto award = award_to(wide, bid, position, rivals, rooms);
    if (!award) continue;
    best = {std::move(wide), std::move(award)};
    least = tried;
    most = std::min(most, 2 * tried - 1);
  }
  if (!best.award) return best;
  while (least < most) {
    const std::uint32_t tried = most - (most - least) / 2;
    Bidder wide = on_nodes(bidder, bid, tried);
    auto award = award_to(wide, bid, position, rivals, rooms);
    if (award) {
      best = {std::move(wide), std::move(award)};
      least = tried;
    } else {
      most = tried - 1;
    }
  }
  return best;
}

// Looks no farther than the award depends on.
std::optional<Award> DvaAuction::award_to(const Bidder& bidder, const LiveBid& bid,
                                          std::size_t position, const DvaRivals& rivals,
                                          DvaRooms* rooms) const {
  const auto budget = [&](const NodeOffer& offer) {
    const std::vector<double>& taken = bidder.sized ? offer.shares : bidder.task.demand;
    return rivals.highest_kept_off(position, offer.node, taken, *rooms);
  };
  if (bidder.sized) return sized_award(bidder, bid, budget, rooms);
  DvaRooms::Wanted wanted{bidder.task.demand,
                          bidder.units,
                          bidder.task.budget,
                          seconds_left(bid),
                          bidder.task.nodes,
                          bidder.task.nodes + std::size_t{1},
                          bid.able};
  while (true) {
    const std::vector<NodeOffer> offers = rooms->offers(wanted);
    auto won = award(bidder.task, budget, offers, rules_);
    // What ends with the list was judged without its successor.
    const bool judged = won && won->parts.back().node != offers.back().node;
    const bool dearer_do = won || rules_.over_budget == OverBudget::kSkip;
    if (judged || !dearer_do || offers.size() < wanted.count) return won;
    wanted.count *= 2;
  }
}

std::vector<Standing> DvaAuction::auction(std::span<const LiveBid> bids,
                                          std::span<const NodeRoom> nodes, Time) {
  add_goods_of(nodes);
  rank_by_ask(nodes);
  DvaRooms rooms(goods_, nodes, floor_, by_ask_);
  std::vector<Standing> standings(bids.size());
  std::vector<Bidder> bidders;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (bids[i].running && bids[i].rate) {
      standings[i].rate = *bids[i].rate;
      standings[i].priority = 1;
    } else {
      bidders.push_back(bidder_of(bids[i], i, rooms));
    }
  }
  std::stable_sort(bidders.begin(), bidders.end(), [&](const Bidder& a, const Bidder& b) {
    const bool a_last = bids[a.number].last, b_last = bids[b.number].last;
    return a_last != b_last ? b_last : a.task.budget > b.task.budget;
  });
  double highest = 0;
  DvaRivals rivals(goods_.names.size());
  for (const Bidder& bidder : bidders) {
    const LiveBid& bid = bids[bidder.number];
    highest = std::max(highest, bidder.task.budget);
    rivals.add({bidder.task.budget, bidder.units, bidder.task.demand, bid.bid->account, bid.able,
                !bid.last && !bid.running});
  }
  for (std::size_t position = 0; position < bidders.size(); ++position) {
    const Bidder& bidder = bidders[position];
    const LiveBid& bid = bids[bidder.number];
    Standing& standing = standings[bidder.number];
    standing.priority = highest > 0 ? bidder.task.budget / highest / 2 : 0;
    if (bid.running) {  // awarded nothing: it owes what its bid displaces, and what its nodes ask
      standing.rate = rivals.highest_after(position);
      continue;
    }
    standing.rate = std::min(bidder.task.budget, floor_ * bidder.units * bidder.task.nodes);
    const auto [winner, won] = widest(bidder, bid, position, rivals, &rooms);
    if (!won) continue;
    standing.rate = won->real_payment_unit;
    standing.priority += 0.5;
    standing.share = 1;
    for (const AwardedPart& part : won->parts) {
      standing.nodes.push_back(part.node);
      standing.payments.push_back(std::min(part.real_payment_unit, part.auction_payment_unit));
      rooms.take(part.node, winner.sized ? part.shares : winner.task.demand);
    }
    if (bidder.sized) standing.size = size_of(*bidder.sized, won->parts.front());
  }
  return standings;
}

}  // namespace market
