// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_auction.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/mechanism/room_index.h"

namespace market {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kHour = 3600;
constexpr double kMegabytesPerWeight = 1024;  // weights of memory are for a GB

}  // namespace

DvaAuction::DvaAuction(const MarketSettings& config) : floor_(config.floor_price / kHour) {
  for (const TresWeight& weight : config.weights) {
    if (weight.tres == "node" || !(weight.weight > 0)) continue;
    goods_.push_back(weight.tres);
    const double units = weight.tres == "mem" ? kMegabytesPerWeight : 1.0;
    weights_.push_back(weight.weight / units);
  }
}

std::vector<double> DvaAuction::amounts(const Tres& tres) const {
  std::vector<double> values(goods_.size());
  for (std::size_t j = 0; j < goods_.size(); ++j) values[j] = amount_of(tres, goods_[j]);
  return values;
}

double DvaAuction::billing(const std::vector<double>& values) const {
  double sum = 0;
  for (std::size_t j = 0; j < values.size(); ++j) sum += values[j] * weights_[j];
  return sum;
}

/// The nodes of one auction, in order of their asks.
struct DvaAuction::Rooms {
  RoomIndex free;
  std::vector<double> asks;     ///< of each place of that order
  std::vector<double> largest;  ///< of each good, what the largest node has
};

// The order of the last auction serves again while nobody changes what he asks.
void DvaAuction::rank_by_ask(std::span<const NodeRoom> nodes) {
  const std::vector<double> before = std::move(asks_);
  asks_.clear();
  for (const NodeRoom& node : nodes) asks_.push_back(node.ask ? *node.ask / kHour : floor_);
  if (asks_ == before) return;
  by_ask_.resize(nodes.size());
  std::iota(by_ask_.begin(), by_ask_.end(), 0u);
  std::stable_sort(by_ask_.begin(), by_ask_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return asks_[a] < asks_[b]; });
}

// What has no weight costs nothing, and a job needs room for it all the same.
void DvaAuction::add_goods_of(std::span<const NodeRoom> nodes) {
  for (const NodeRoom& node : nodes) {
    for (const auto& [name, amount] : node.total) {
      if (std::find(goods_.begin(), goods_.end(), name) != goods_.end()) continue;
      goods_.push_back(name);
      weights_.push_back(0);
    }
  }
}

DvaAuction::Rooms DvaAuction::rooms_of(std::span<const NodeRoom> nodes) {
  add_goods_of(nodes);
  rank_by_ask(nodes);
  std::vector<double> free, asks, largest(goods_.size());
  free.reserve(nodes.size() * goods_.size());
  asks.reserve(nodes.size());
  for (const std::uint32_t node : by_ask_) {
    asks.push_back(asks_[node]);
    for (std::size_t j = 0; j < goods_.size(); ++j) {
      free.push_back(amount_of(nodes[node].free, goods_[j]));
      largest[j] = std::max(largest[j], amount_of(nodes[node].total, goods_[j]));
    }
  }
  return {RoomIndex(std::move(free), nodes.size(), goods_.size()), std::move(asks),
          std::move(largest)};
}

// As many parts as the job needs nodes, each with its part of what is asked for.
AuctionTask DvaAuction::task_of(const LiveBid& bid, const Rooms& rooms) const {
  const double seconds = seconds_left(bid);
  AuctionTask task;
  task.budget = bid.budget / seconds;
  task.demand = amounts(bid.bid->request.demand.tres);
  for (std::size_t j = 0; j < goods_.size(); ++j) {  // where Slurm does not count memory
    if (goods_[j] == "mem" && !(rooms.largest[j] > 0)) task.demand[j] = 0;
  }
  const Shape& shape = bid.bid->request.demand.shape;
  double parts = std::max(
      {1.0, static_cast<double>(shape.min_nodes), static_cast<double>(shape.req_nodes.size())});
  for (std::size_t j = 0; j < goods_.size(); ++j) {
    if (rooms.largest[j] > 0) parts = std::max(parts, std::ceil(task.demand[j] / rooms.largest[j]));
  }
  task.nodes = static_cast<std::uint32_t>(std::min(parts, 1e6));
  task.workload = task.demand;
  for (double& amount : task.workload) amount *= seconds;
  for (double& amount : task.demand) amount /= task.nodes;
  return task;
}

// The places that the bid may have, in their order. Where some nodes must be among them, just as many
// as it needs: then no other node's price is the next one.
void DvaAuction::keep_able(const std::vector<char>& able, std::size_t needed,
                           std::vector<std::uint32_t>* places) const {
  std::erase_if(*places, [&](std::uint32_t place) { return able[by_ask_[place]] == 0; });
  const auto must = std::count(able.begin(), able.end(), kRequiredNode);
  if (must == 0) return;
  const auto rest = std::stable_partition(places->begin(), places->end(), [&](std::uint32_t place) {
    return able[by_ask_[place]] == kRequiredNode;
  });
  if (rest - places->begin() < must) return places->clear();
  places->resize(std::min(places->size(), needed));
  std::sort(places->begin(), places->end());
}

// The first that an award depends on, in order of expected payment, ties by number; none when there
// are too few for one. The offers are by place; all have the demand for shares.
std::vector<NodeOffer> DvaAuction::candidates(const AuctionTask& task, double seconds,
                                              const std::vector<char>* able, Rooms* rooms) const {
  const double units = billing(task.demand);
  const double most = task.budget / task.nodes * (1 + kRounding);
  const auto end = std::partition_point(rooms->asks.begin(), rooms->asks.end(),
                                        [&](double ask) { return !(units * ask > most); });
  const auto affordable = static_cast<std::size_t>(end - rooms->asks.begin());
  const std::size_t needed = task.nodes + std::size_t{1};
  std::vector<std::uint32_t> places =
      rooms->free.first(task.demand, affordable, task.nodes, able == nullptr ? needed : affordable);
  if (able != nullptr) {
    keep_able(*able, task.nodes, &places);
    if (places.size() < task.nodes) places.clear();
    places.resize(std::min(places.size(), needed));
  }
  std::vector<NodeOffer> offers;
  offers.reserve(places.size());
  for (const std::uint32_t place : places) {
    const double unit = units * rooms->asks[place];
    offers.push_back({place, {unit, seconds, unit * seconds, true}, {}});
  }
  return offers;
}

// Takes what is awarded, if anything is.
void DvaAuction::place(const AuctionTask& task, double auction_budget, const LiveBid& bid,
                       Rooms* rooms, Standing* standing) const {
  const AuctionRules rules{OverBudget::kCap, true};
  const auto won =
      award(task, auction_budget, candidates(task, seconds_left(bid), bid.able, rooms), rules);
  if (!won) return;
  standing->rate = won->real_payment_unit;
  standing->priority += 0.5;
  standing->share = 1;
  for (const AwardedPart& part : won->parts) {
    standing->nodes.push_back(by_ask_[part.node]);
    standing->payments.push_back(part.real_payment_unit);
    rooms->free.take(part.node, task.demand);
  }
}

namespace {

// AB of each task, by its number: the highest budget up to its own among the others that come first.
std::vector<double> budgets_to_beat(std::span<const AuctionTask> tasks,
                                    std::span<const std::uint32_t> order,
                                    const std::function<bool(std::uint32_t)>& comes_first) {
  const auto end = std::find_if_not(order.begin(), order.end(), comes_first);
  std::vector<double> budgets =
      auction_budgets(tasks, order.first(static_cast<std::size_t>(end - order.begin())));
  for (auto number = end; number != order.end(); ++number) {
    const auto rival = std::find_if(order.begin(), end, [&](std::uint32_t other) {
      return tasks[other].budget <= tasks[*number].budget;
    });
    budgets[*number] = rival == end ? 0 : tasks[*rival].budget;
  }
  return budgets;
}

}  // namespace

std::vector<Standing> DvaAuction::auction(std::span<const LiveBid> bids,
                                          std::span<const NodeRoom> nodes, Time) {
  Rooms rooms = rooms_of(nodes);
  std::vector<Standing> standings(bids.size());
  std::vector<AuctionTask> tasks;
  std::vector<std::size_t> bidder;
  double highest = 0;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (bids[i].running && bids[i].rate) {
      standings[i].rate = *bids[i].rate;
      standings[i].priority = 1;
      continue;
    }
    tasks.push_back(task_of(bids[i], rooms));
    bidder.push_back(i);
    highest = std::max(highest, tasks.back().budget);
  }
  std::vector<std::uint32_t> order = budget_order(tasks);
  const auto comes_first = [&](std::uint32_t number) { return !bids[bidder[number]].last; };
  std::stable_partition(order.begin(), order.end(), comes_first);
  const std::vector<double> auction_budget = budgets_to_beat(tasks, order, comes_first);
  for (const std::uint32_t number : order) {
    const AuctionTask& task = tasks[number];
    const LiveBid& bid = bids[bidder[number]];
    Standing& standing = standings[bidder[number]];
    standing.priority = highest > 0 ? task.budget / highest / 2 : 0;
    standing.share = 0;
    // No auction gave the run nodes: it owes what its bid displaces, and what its nodes ask.
    standing.rate = std::min(task.budget, auction_budget[number]);
    if (bid.running) continue;
    const double asked = floor_ * billing(task.demand) * task.nodes;
    standing.rate = std::max(standing.rate, std::min(task.budget, asked));
    place(task, auction_budget[number], bid, &rooms, &standing);
  }
  return standings;
}

}  // namespace market
