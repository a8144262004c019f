// SPDX-License-Identifier: GPL-2.0-or-later
// The façade's double-sided Vickrey auction written down directly: every task looks at every node.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "core/mechanism/dva_auction.h"
#include "core/util/seeded_random.h"

namespace market {

/// What stands in a queue before a cluster.
struct DvaWorld {
  Config config;
  std::deque<Bid> bids;
  std::vector<LiveBid> live;
  std::vector<NodeRoom> nodes;

  Bid& add_bid(double budget, Time limit, Tres tres, std::uint32_t min_nodes = 1) {
    Bid& bid = bids.emplace_back();
    bid.request.demand.tres = std::move(tres);
    bid.request.demand.shape.min_nodes = min_nodes;
    bid.request.duration = limit;
    live.push_back({bids.size(), &bid, 0, budget, false, 0, {}});
    return bid;
  }
};

/// Nodes of 64 CPUs, every eighth with 4 GPUs, all or in part taken; owners ask different prices
/// for some. Bids for some CPUs and their memory, some for GPUs, some for several nodes.
inline DvaWorld random_dva_world(std::size_t bids, std::size_t nodes, double taken,
                                 SeededRandom* random) {
  DvaWorld world;
  world.config.floor_price = 0.01;
  world.config.weights = {{"cpu", 1}, {"mem", 0.25}, {"gres/gpu", 20}};
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeRoom& node = world.nodes.emplace_back();
    node.name = "n" + std::to_string(i);
    node.total = {{"cpu", 64}, {"mem", 256 * 1024}};
    if (i % 8 == 0) node.total["gres/gpu"] = 4;
    node.free = node.total;
    if (random->uniform() < taken) {
      const auto cpus = static_cast<std::int64_t>(random->below(4) == 0 ? random->below(65) : 64);
      node.free["cpu"] -= cpus;
      node.free["mem"] -= cpus * 2048;
    }
    if (random->below(4) == 0) node.ask = 0.005 * static_cast<double>(random->below(5));
  }
  for (std::size_t i = 0; i < bids; ++i) {
    const auto parts = random->below(8) == 0 ? 1 + random->below(16) : 1;
    const auto cpus = static_cast<std::int64_t>(parts * (1 + random->below(64)));
    Tres tres = {{"cpu", cpus}, {"mem", cpus * static_cast<std::int64_t>(random->below(6) * 1024)}};
    if (random->below(6) == 0) tres["gres/gpu"] = static_cast<std::int64_t>(1 + random->below(4));
    const Time limit = 60 * static_cast<Time>(1 + random->below(1440));
    world.add_bid(random->uniform(0.5, 8) * 0.01 * static_cast<double>(cpus * limit) / 3600, limit,
                  std::move(tres), static_cast<std::uint32_t>(parts));
    world.live.back().running = random->below(10) == 0;
    if (world.live.back().running && random->below(2) == 0) world.live.back().rate = 0.001;
  }
  return world;
}

/// The definition: by falling budget per second, each task takes the first nodes by ask and number
/// where its demand is free, within its budget, and pays as Algorithm 1 says.
class PlainDva {
 public:
  explicit PlainDva(const DvaWorld& world) : world_(world) {}

  std::vector<Standing> auction() {
    largest_.resize(world_.config.weights.size());
    for (const NodeRoom& node : world_.nodes) {
      free_.push_back(amounts(node.free));
      for (std::size_t j = 0; j < largest_.size(); ++j) {
        largest_[j] = std::max(largest_[j], amounts(node.total)[j]);
      }
    }
    for (std::uint32_t node = 0; node < free_.size(); ++node) by_ask_.push_back(node);
    std::stable_sort(by_ask_.begin(), by_ask_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ask(a) < ask(b); });
    std::vector<Standing> standings(world_.live.size());
    std::vector<std::size_t> bidders;
    std::vector<AuctionTask> tasks;
    for (std::size_t i = 0; i < standings.size(); ++i) {
      const LiveBid& bid = world_.live[i];
      standings[i].rate = bid.rate.value_or(0);
      standings[i].priority = 1;
      if (bid.running && bid.rate) continue;
      bidders.push_back(i);
      tasks.push_back(task(bid));
    }
    const std::vector<std::uint32_t> order = budget_order(tasks);
    const std::vector<double> budgets = auction_budgets(tasks, order);
    for (const std::uint32_t t : order) {
      Standing& standing = standings[bidders[t]];
      const bool runs = world_.live[bidders[t]].running;
      const double asked = runs ? 0 : floor() * units(tasks[t].demand) * tasks[t].nodes;
      standing.rate = std::min(tasks[t].budget, std::max(budgets[t], asked));
      standing.priority = tasks[t].budget / tasks[order[0]].budget / 2;
      if (!world_.live[bidders[t]].running) place(tasks[t], budgets[t], bidders[t], &standing);
    }
    return standings;
  }

 private:
  double floor() const { return world_.config.floor_price / 3600; }

  double ask(std::uint32_t node) const {
    const auto& owners = world_.nodes[node].ask;
    return owners ? *owners / 3600 : floor();
  }

  std::vector<double> amounts(const Tres& tres) const {
    std::vector<double> values;
    for (const TresWeight& weight : world_.config.weights) {
      values.push_back(amount_of(tres, weight.tres));
    }
    return values;
  }

  double units(const std::vector<double>& values) const {
    double sum = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const TresWeight& weight = world_.config.weights[j];
      sum += values[j] * (weight.weight / (weight.tres == "mem" ? 1024 : 1));
    }
    return sum;
  }

  AuctionTask task(const LiveBid& bid) const {
    AuctionTask task;
    task.budget = bid.budget / seconds_left(bid);
    task.demand = task.workload = amounts(bid.bid->request.demand.tres);
    double parts = bid.bid->request.demand.shape.min_nodes;
    for (std::size_t j = 0; j < task.demand.size(); ++j) {
      if (largest_[j] > 0) parts = std::max(parts, std::ceil(task.demand[j] / largest_[j]));
    }
    task.nodes = static_cast<std::uint32_t>(parts);
    for (double& amount : task.demand) amount /= task.nodes;
    return task;
  }

  void place(const AuctionTask& task, double auction_budget, std::size_t bidder,
             Standing* standing) {
    const double seconds = seconds_left(world_.live[bidder]);
    std::vector<NodeOffer> offers;
    for (const std::uint32_t node : by_ask_) {
      const double unit = units(task.demand) * ask(node);
      bool fits = unit <= task.budget / task.nodes * (1 + 1e-9);
      for (std::size_t j = 0; j < task.demand.size(); ++j) {
        fits = fits && task.demand[j] <= free_[node][j] + 1e-9;
      }
      if (fits) offers.push_back({node, {unit, seconds, unit * seconds, true}, task.demand});
    }
    const auto won = award(task, auction_budget, offers, {OverBudget::kCap, true});
    if (!won) return;
    standing->rate = won->real_payment_unit;
    standing->priority += 0.5;
    standing->share = 1;
    for (const AwardedPart& part : won->parts) {
      standing->nodes.push_back(part.node);
      standing->payments.push_back(part.real_payment_unit);
      for (std::size_t j = 0; j < part.shares.size(); ++j) free_[part.node][j] -= part.shares[j];
    }
  }

  const DvaWorld& world_;
  std::vector<double> largest_;
  std::vector<std::uint32_t> by_ask_;
  std::vector<std::vector<double>> free_;
};

}  // namespace market
