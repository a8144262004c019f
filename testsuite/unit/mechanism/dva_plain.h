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
    live.push_back({bids.size(), &bid, 0, budget, false, 0, {}, {}});
    return bid;
  }
};

/// Nodes of 64 CPUs, every eighth with 4 GPUs, all or in part taken; owners ask different prices
/// for some, of these some another one for GPUs or memory. Bids for some CPUs and their memory, some for GPUs, some for several nodes.
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
    if (random->below(4) != 0) continue;
    node.ask = NodeAsk{0.005 * static_cast<double>(random->below(5))};
    if (random->below(4) == 0) node.ask->tres["gres/gpu"] = 0.1 * random->uniform();
    if (random->below(4) == 0) node.ask->tres["mem"] = 0.004;
  }
  for (std::size_t i = 0; i < bids; ++i) {
    const auto parts = random->below(8) == 0 ? 1 + random->below(16) : 1;
    const auto cpus = static_cast<std::int64_t>(parts * (1 + random->below(64)));
    Tres tres = {{"cpu", cpus}, {"mem", cpus * static_cast<std::int64_t>(random->below(6) * 1024)}};
    if (random->below(6) == 0) tres["gres/gpu"] = static_cast<std::int64_t>(1 + random->below(4));
    const Time limit = 60 * static_cast<Time>(1 + random->below(1440));
    world
        .add_bid(random->uniform(0.5, 8) * 0.01 * static_cast<double>(cpus * limit) / 3600, limit,
                 std::move(tres), static_cast<std::uint32_t>(parts))
        .account = std::string(1, static_cast<char>('a' + random->below(4)));
    world.live.back().running = random->below(10) == 0;
    if (world.live.back().running && random->below(2) == 0) world.live.back().rate = 0.001;
  }
  return world;
}

/// The definition: by falling budget per second, each task takes the first nodes by what they ask
/// for its demand and by number where that is free, within its budget, and pays as Algorithm 1 says,
/// but AB is over the bids of other accounts that come after it and lose just that node by it.
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
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint32_t t = order[k];
      Standing& standing = standings[bidders[t]];
      const bool runs = world_.live[bidders[t]].running;
      const auto is_rival = [&](std::size_t other) {
        return !world_.live[other].running &&
               world_.live[other].bid->account != world_.live[bidders[t]].bid->account;
      };
      if (runs) {
        for (std::size_t later = k + 1; later < order.size() && standing.rate == 0; ++later) {
          if (is_rival(bidders[order[later]])) standing.rate = tasks[order[later]].budget;
        }
      } else {
        standing.rate =
            std::min(tasks[t].budget, floor() * units(tasks[t].demand) * tasks[t].nodes);
      }
      standing.priority = tasks[t].budget / tasks[order[0]].budget / 2;
      if (runs) continue;
      const auto auction_budget = [&](const NodeOffer& offer) {
        for (std::size_t later = k + 1; later < order.size(); ++later) {
          if (!is_rival(bidders[order[later]])) continue;
          const AuctionTask& wants = tasks[order[later]];
          const bool could = fits(wants.demand, free_[offer.node]) &&
                             asked(offer.node, wants.demand) <= wants.budget * (1 + 1e-9);
          std::vector<double> left = free_[offer.node];
          for (std::size_t j = 0; j < left.size(); ++j) left[j] -= tasks[t].demand[j];
          if (could && !fits(wants.demand, left)) return wants.budget;
        }
        return 0.0;
      };
      place(tasks[t], auction_budget, bidders[t], &standing);
    }
    return standings;
  }

 private:
  double floor() const { return world_.config.floor_price / 3600; }

  static bool fits(const std::vector<double>& demand, const std::vector<double>& room) {
    for (std::size_t j = 0; j < demand.size(); ++j) {
      if (demand[j] > room[j] + 1e-9) return false;
    }
    return true;
  }

  /// Credits per second.
  double asked(std::uint32_t node, const std::vector<double>& demand) const {
    const auto& owner = world_.nodes[node].ask;
    if (!owner) return units(demand) * floor();
    if (owner->tres.empty()) return units(demand) * (owner->price / 3600);
    double sum = 0;
    for (std::size_t j = 0; j < demand.size(); ++j) {
      const TresWeight& weight = world_.config.weights[j];
      const double per_unit = weight.tres == "mem" ? 1024 : 1;
      const auto own = owner->tres.find(weight.tres);
      const double price = own == owner->tres.end() ? owner->price * (weight.weight / per_unit)
                                                    : own->second / per_unit;
      sum += demand[j] * (price / 3600);
    }
    return sum;
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

  void place(const AuctionTask& task, const BudgetToBeat& auction_budget, std::size_t bidder,
             Standing* standing) {
    const double seconds = seconds_left(world_.live[bidder]);
    std::vector<NodeOffer> offers;
    std::vector<std::uint32_t> by_price = by_ask_;
    std::stable_sort(by_price.begin(), by_price.end(), [&](std::uint32_t a, std::uint32_t b) {
      return asked(a, task.demand) < asked(b, task.demand);
    });
    for (const std::uint32_t node : by_price) {
      const double unit = asked(node, task.demand);
      if (unit <= task.budget * (1 + 1e-9) && fits(task.demand, free_[node]))
        offers.push_back({node, {unit, seconds, unit * seconds, true}, task.demand});
    }
    const auto won = award(task, auction_budget, offers, {OverBudget::kCap, true});
    if (!won) return;
    standing->rate = won->real_payment_unit;
    standing->priority += 0.5;
    standing->share = 1;
    for (const AwardedPart& part : won->parts) {
      standing->nodes.push_back(part.node);
      standing->payments.push_back(std::min(part.real_payment_unit, part.auction_payment_unit));
      for (std::size_t j = 0; j < part.shares.size(); ++j) free_[part.node][j] -= part.shares[j];
    }
  }

  const DvaWorld& world_;
  std::vector<double> largest_;
  std::vector<std::uint32_t> by_ask_;  // all of them, by number
  std::vector<std::vector<double>> free_;
};

}  // namespace market
