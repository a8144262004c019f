// SPDX-License-Identifier: GPL-2.0-or-later
// A day of the self-organizing cloud under one policy, event by event. Who qualifies, shares,
// prices and awards are the mechanism's own (node_index.h, lovra.h, double_vickrey.h); here are the
// clock, the overlay that finds candidates, and the two policies that the paper compares with.
#pragma once

#include <numeric>
#include <queue>
#include <string_view>
#include <utility>

#include "testsuite/papers/double_vickrey_world.h"

namespace market::papers {

/// The two others take a candidate at the node's own price. The project's own random and edf order
/// a queue and choose no nodes, so they cannot stand for them.
enum class Policy {
  kAuction,   ///< DVA: the candidate with the least expected payment, eqs. (12), (20), (21)
  kRandom,    ///< RAN: any candidate
  kEarliest,  ///< EDF: the candidate where the task is done first
};
constexpr std::array kPolicies{Policy::kAuction, Policy::kRandom, Policy::kEarliest};

class CloudRun {
 public:
  CloudRun(const CloudDay& day, Policy policy)
      : day_(day),
        setting_(day.setting()),
        policy_(policy),
        random_(setting_.seed + 1000),
        tasks_(day.tasks()),
        index_(day.nodes()),
        queues_(setting_.discovery == Discovery::kOneMarket ? 1 : setting_.nodes),
        scan_(setting_.nodes) {
    for (const AuctionNode& node : day.nodes()) available_.push_back(node.available);
    reported_ = available_;
    std::iota(scan_.begin(), scan_.end(), 0);
  }

  /// The tasks with what became of them.
  std::vector<CloudTask> run() {
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      add(tasks_[task].submitted, Kind::kArrival, task);
    }
    for (std::size_t node = 0; node < setting_.nodes; ++node) {
      add(random_.uniform(0, setting_.update), Kind::kReport, node);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      handle(event);
    }
    return std::move(tasks_);
  }

 private:
  enum class Kind { kArrival, kRound, kEnd, kReport };
  struct Event {
    double at;
    std::size_t number;  ///< first added, first handled
    Kind kind;
    std::size_t of;  ///< task, scheduler or node
    bool operator<(const Event& other) const {
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };

  void add(double at, Kind kind, std::size_t of) { events_.push({at, ++events_added_, kind, of}); }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::kArrival: {
        const std::size_t scheduler = tasks_[event.of].home % queues_.size();
        if (queues_[scheduler].empty())
          add(now_ + random_.uniform(0, kCycle), Kind::kRound, scheduler);
        queues_[scheduler].push_back(event.of);
        break;
      }
      case Kind::kRound:
        round(event.of);
        break;
      case Kind::kEnd:
        change(tasks_[event.of].award->parts[0], +1);
        break;
      case Kind::kReport:
        reported_[event.of] = available_[event.of];
        if (now_ < kSecondsPerHour * setting_.hours + kContentWait + kPatience)
          add(now_ + setting_.update, Kind::kReport, event.of);
        break;
    }
  }

  /// Algorithm 1, lines 2 to 21, for the queue of one scheduler.
  void round(std::size_t scheduler) {
    const std::vector<std::size_t> queue = std::move(queues_[scheduler]);
    queues_[scheduler].clear();
    std::vector<AuctionTask> bids;
    for (const std::size_t task : queue) bids.push_back(tasks_[task].bid);
    if (policy_ == Policy::kAuction && setting_.discovery == Discovery::kOneMarket) {
      run_auction(bids, setting_.rules, Listing::kAll, &index_, [&](const TaskResult& result) {
        CloudTask& task = tasks_[queue[result.task]];
        if (result.award) place(&task, *result.award, result.candidates);
      });
    } else {
      const auto order = budget_order(bids);
      const auto budgets = auction_budgets(bids, order);
      for (const std::uint32_t at : order) try_to_place(&tasks_[queue[at]], budgets[at]);
    }
    for (const std::size_t task : queue) {
      if (tasks_[task].award) {
        add(tasks_[task].ended(), Kind::kEnd, task);
      } else if (now_ + kCycle <= tasks_[task].submitted + kContentWait + kPatience) {
        queues_[scheduler].push_back(task);
      }
    }
    if (!queues_[scheduler].empty()) add(now_ + kCycle, Kind::kRound, scheduler);
  }

  void try_to_place(CloudTask* task, double auction_budget) {
    const std::vector<NodeOffer> offers = candidates(*task);
    const auto won = policy_ == Policy::kAuction ? choose_by_auction(task, auction_budget, offers)
                                                 : choose_in_order(task, offers);
    if (won) place(task, *won, offers);
  }

  /// QSET, the least expected payment first.
  std::vector<NodeOffer> candidates(const CloudTask& task) {
    const NodeQuery query{task.bid.budget, task.bid.workload, task.bid.demand,
                          setting_.rules.require_demand};
    if (setting_.discovery == Discovery::kOneMarket) return index_.cheapest(query, index_.size());
    std::vector<AuctionNode> found;
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < scan_.size() && found.size() < setting_.candidates; ++i) {
      std::swap(scan_[i], scan_[i + random_.below(scan_.size() - i)]);
      const std::uint32_t node = scan_[i];
      if (day_.reach(task.home, node) < task.bid.demand[kNetwork] ||
          !covers(reported_[node], task.bid.demand)) {
        continue;
      }
      found.push_back({day_.nodes()[node].prices, reported_[node]});
      double& network = found.back().available[kNetwork];
      network = std::min(network, day_.reach(task.home, node));
      numbers.push_back(node);
    }
    auto offers = NodeIndex(found).cheapest(query, found.size());
    for (NodeOffer& offer : offers) offer.node = numbers[offer.node];
    return offers;
  }

  static bool covers(const std::vector<double>& available, const std::vector<double>& wanted) {
    for (std::size_t k = 0; k < kDimensions; ++k) {
      if (available[k] < wanted[k] * (1 - 1e-9)) return false;
    }
    return true;
  }

  /// Line 12: the node itself is asked whether it still has what was planned.
  bool confirmed(CloudTask* task, const AwardedPart& part) const {
    if (covers(available_[part.node], part.shares)) return true;
    ++task->conflicts;
    return false;
  }

  std::optional<Award> choose_by_auction(CloudTask* task, double auction_budget,
                                         std::span<const NodeOffer> offers) const {
    while (auto won = award(task->bid, auction_budget, offers, setting_.rules)) {
      const AwardedPart& part = won->parts[0];
      if (confirmed(task, part)) return won;
      if (setting_.one_try) break;
      const auto chosen = std::find_if(offers.begin(), offers.end(), [&](const NodeOffer& offer) {
        return offer.node == part.node;
      });
      offers = {chosen + 1, offers.end()};
    }
    return std::nullopt;
  }

  std::optional<Award> choose_in_order(CloudTask* task, std::vector<NodeOffer> offers) {
    if (policy_ == Policy::kRandom) {
      for (std::size_t i = 0; i < offers.size(); ++i) {
        std::swap(offers[i], offers[i + random_.below(offers.size() - i)]);
      }
    } else {
      std::stable_sort(offers.begin(), offers.end(), [](const NodeOffer& a, const NodeOffer& b) {
        return a.outcome.execution_time < b.outcome.execution_time;
      });
    }
    for (const NodeOffer& offer : offers) {
      // Without rivals on either side the auction charges the node's own price.
      auto won = award(task->bid, 0, std::span(&offer, 1), setting_.rules);
      if (won && confirmed(task, won->parts[0])) return won;
      if (setting_.one_try) break;
    }
    return std::nullopt;
  }

  void place(CloudTask* task, const Award& won, std::span<const NodeOffer> offers) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const NodeOffer& offer : offers) {
      shortest = std::min(shortest, offer.outcome.execution_time);
    }
    task->started = now_;
    task->award = won;
    task->earliest = won.execution_time <= shortest * (1 + 1e-9);
    task->execution_utility = execution_utility(won.execution_time, shortest, task->tolerable_time);
    change(won.parts[0], -1);
  }

  void change(const AwardedPart& part, double sign) {
    std::vector<double>& available = available_[part.node];
    for (std::size_t k = 0; k < kDimensions; ++k) {
      available[k] = std::max(0.0, available[k] + sign * part.shares[k]);
    }
    index_.set_available(part.node, available);
  }

  const CloudDay& day_;
  const CloudSetting& setting_;
  Policy policy_;
  SeededRandom random_;
  std::vector<CloudTask> tasks_;
  NodeIndex index_;                                        ///< of all nodes as they are
  std::vector<std::vector<double>> available_, reported_;  ///< in truth, and to the overlay
  std::vector<std::vector<std::size_t>> queues_;           ///< of each scheduler
  std::vector<std::uint32_t> scan_;
  std::priority_queue<Event> events_;
  std::size_t events_added_ = 0;
  double now_ = 0;
};

}  // namespace market::papers
