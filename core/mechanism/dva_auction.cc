// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_auction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace market {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kHour = 3600;
constexpr double kMegabytesPerWeight = 1024;  // weights of memory are for a GB

}  // namespace

DvaAuction::DvaAuction(const Config& config) : floor_(config.floor_price / kHour) {
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

void DvaAuction::rank_by_ask(std::span<const NodeRoom> nodes) {
  asks_.clear();
  for (const NodeRoom& node : nodes) asks_.push_back(node.ask ? *node.ask / kHour : floor_);
  by_ask_.resize(nodes.size());
  std::iota(by_ask_.begin(), by_ask_.end(), 0u);
  std::stable_sort(by_ask_.begin(), by_ask_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return asks_[a] < asks_[b]; });
}

// As many parts as the job needs nodes, each with its part of what is asked for.
AuctionTask DvaAuction::task_of(const LiveBid& bid,
                                const std::vector<std::vector<double>>& largest) const {
  const double seconds = seconds_left(bid);
  AuctionTask task;
  task.budget = bid.budget / seconds;
  task.demand = amounts(bid.bid->request.demand.tres);
  double parts = std::max<std::uint32_t>(1, bid.bid->request.demand.shape.min_nodes);
  for (std::size_t j = 0; j < goods_.size(); ++j) {
    double most = 0;
    for (const auto& node : largest) most = std::max(most, node[j]);
    if (most > 0) parts = std::max(parts, std::ceil(task.demand[j] / most));
  }
  task.nodes = static_cast<std::uint32_t>(std::min(parts, 1e6));
  task.workload = task.demand;
  for (double& amount : task.workload) amount *= seconds;
  for (double& amount : task.demand) amount /= task.nodes;
  return task;
}

std::vector<NodeOffer> DvaAuction::candidates(const AuctionTask& task, double seconds,
                                              const std::vector<std::vector<double>>& free) const {
  std::vector<NodeOffer> offers;
  const double units = billing(task.demand);
  for (const std::uint32_t node : by_ask_) {
    const double unit = units * asks_[node];
    if (offers.size() > task.nodes || unit > task.budget / task.nodes * (1 + kRounding)) break;
    bool fits = true;
    for (std::size_t j = 0; j < goods_.size(); ++j) {
      fits = fits && task.demand[j] <= free[node][j] + kRounding;
    }
    if (!fits) continue;
    offers.push_back({node, {unit, seconds, unit * seconds, true}, task.demand});
  }
  return offers;  // in order of expected payment, ties by number
}

std::vector<Standing> DvaAuction::auction(std::span<const LiveBid> bids,
                                          std::span<const NodeRoom> nodes, Time) {
  std::vector<std::vector<double>> free, largest;
  for (const NodeRoom& node : nodes) {
    free.push_back(amounts(node.free));
    largest.push_back(amounts(node.total));
  }
  rank_by_ask(nodes);
  std::vector<Standing> standings(bids.size());
  std::vector<AuctionTask> tasks;
  std::vector<std::size_t> bidder;
  double highest = 0;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (bids[i].running && bids[i].rate > 0) {
      standings[i].rate = bids[i].rate;
      standings[i].priority = 1;
      continue;
    }
    tasks.push_back(task_of(bids[i], largest));
    bidder.push_back(i);
    highest = std::max(highest, tasks.back().budget);
  }
  const std::vector<std::uint32_t> order = budget_order(tasks);
  const std::vector<double> auction_budget = auction_budgets(tasks, order);
  const AuctionRules rules{OverBudget::kCap, true};
  for (const std::uint32_t number : order) {
    const AuctionTask& task = tasks[number];
    const LiveBid& bid = bids[bidder[number]];
    Standing& standing = standings[bidder[number]];
    standing.rate = std::min(task.budget, floor_ * billing(task.demand) * task.nodes);
    standing.priority = highest > 0 ? task.budget / highest / 2 : 0;
    standing.share = 0;
    if (bid.running) continue;  // its rate was forgotten: it pays what the site asks
    const auto won =
        award(task, auction_budget[number], candidates(task, seconds_left(bid), free), rules);
    if (!won) continue;
    standing.rate = won->real_payment_unit;
    standing.priority += 0.5;
    standing.share = 1;
    for (const AwardedPart& part : won->parts) {
      standing.nodes.push_back(part.node);
      standing.payments.push_back(part.real_payment_unit);
      for (std::size_t j = 0; j < goods_.size(); ++j) free[part.node][j] -= task.demand[j];
    }
  }
  return standings;
}

}  // namespace market
