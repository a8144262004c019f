// SPDX-License-Identifier: GPL-2.0-or-later
// The setting of the evaluation of "Ex-post efficient resource allocation for self-organizing
// cloud" (section 4, Tables 1 and 2): nodes in LANs that are schedulers and suppliers at once, and
// a day of their tasks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/mechanism/double_vickrey.h"
#include "core/util/seeded_random.h"

namespace market::papers {

/// CPU (GHz), disk I/O (Mbit/s), network (Mbit/s), disk (GB), memory (MB); a task works on the
/// first three and holds the other two.
constexpr std::size_t kDimensions = 5, kWorked = 3, kNetwork = 2;
using Amounts = std::array<double, kDimensions>;

constexpr double kCycle = 20;           ///< seconds between two rounds of a scheduler
constexpr double kContentWait = 60;     ///< t_0 of eq. (5)
constexpr double kPatience = 600;       ///< 1/k_0; a task that is not placed after both has failed
constexpr double kUtilityWeight = 0.5;  ///< lambda_ij of eq. (4)

/// What a node's price of a resource brings 1 to 10 credits per second for. The paper says "b·r",
/// and r is known only when a task has been placed. The first is the default because it gives the
/// incomes of Fig. 11; the second does not.
enum class PricedBy {
  kCapacity,  ///< all that the node has
  kDemand,    ///< what tasks demand on average
};

/// Who knows what.
enum class Discovery {
  kOverlay,    ///< a scheduler for each node, which sees some nodes as they were a while ago
  kOneMarket,  ///< one scheduler sees all nodes as they are, and there is no WAN
};

struct CloudSetting {
  std::size_t nodes = 200;
  std::size_t lan = 50;  ///< nodes in a LAN
  double demand = 0.5;   ///< the paper's lambda
  double hours = 24;
  double between = 3000;  ///< mean seconds between two tasks of one node
  Discovery discovery = Discovery::kOverlay;
  std::size_t candidates = 10;  ///< nodes that the overlay finds at most
  double update = 60;           ///< seconds between two reports of a node to the overlay
  bool one_try = false;         ///< a conflict costs the round, other candidates are not asked
  PricedBy priced_by = PricedBy::kCapacity;
  AuctionRules rules;
  std::uint64_t seed = 1;
};

struct CloudTask {
  std::size_t home = 0;  ///< the node whose scheduler gets it
  double submitted = 0;
  AuctionTask bid;
  double tolerable_time = 0;  ///< Σ l/e, eq. (7)
  double average_time = 0;    ///< Σ l/c on a node of mean capacity

  double started = 0;
  std::optional<Award> award;  ///< none: not placed, failed
  double execution_utility = 0;
  bool earliest = false;      ///< no candidate would have been done sooner
  std::size_t conflicts = 0;  ///< chosen nodes that had been taken by others meanwhile

  double ended() const { return started + award->execution_time; }
  bool placed_by(double time) const { return award && started <= time; }
  bool ended_by(double time) const { return award && ended() <= time; }
  /// Eq. (5).
  double scheduling_utility() const {
    if (!award) return 0;
    return std::clamp(1 - (started - submitted - kContentWait) / kPatience, 0.0, 1.0);
  }
  /// Eq. (4).
  double utility() const {
    return kUtilityWeight * scheduling_utility() + (1 - kUtilityWeight) * execution_utility;
  }
};

/// Eq. (6) with t_1 = `shortest` (Definition 1) and t_1 + 1/k_1 = `tolerable` (eq. 7).
inline double execution_utility(double time, double shortest, double tolerable) {
  if (time <= shortest * (1 + 1e-9)) return 1;
  return time < tolerable ? (tolerable - time) / (tolerable - shortest) : 0;
}

/// Nodes and tasks; the same for every policy.
class CloudDay {
 public:
  explicit CloudDay(const CloudSetting& setting) : setting_(setting), random_(setting.seed) {
    for (std::size_t i = 0; i < setting_.nodes; ++i) add_node();
    wan_.resize(lans() * lans());
    for (std::size_t i = 0; i < lans(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        wan_[i * lans() + j] = wan_[j * lans() + i] = random_.uniform(0.2, 2);
      }
    }
    for (std::size_t home = 0; home < setting_.nodes; ++home) {
      double at = 0;
      while ((at -= setting_.between * std::log(1 - random_.uniform())) <
             kSecondsPerHour * setting_.hours) {
        add_task(home, at);
      }
    }
    std::sort(tasks_.begin(), tasks_.end(),
              [](const CloudTask& a, const CloudTask& b) { return a.submitted < b.submitted; });
  }

  const CloudSetting& setting() const { return setting_; }
  const std::vector<AuctionNode>& nodes() const { return nodes_; }
  const std::vector<CloudTask>& tasks() const { return tasks_; }  ///< by time of arrival

  /// The most that a task of node `from` can use of the network of node `to`, Mbit/s.
  double reach(std::size_t from, std::size_t to) const {
    const std::size_t a = from / setting_.lan, b = to / setting_.lan;
    const bool near = a == b || setting_.discovery == Discovery::kOneMarket;
    return near ? std::numeric_limits<double>::infinity() : wan_[a * lans() + b];
  }

 private:
  static constexpr Amounts kLeastDemand{1, 20, 0.1, 20, 512}, kMostDemand{25.6, 80, 10, 240, 4096};
  static constexpr Amounts kMeanCapacity{3.75 * 2.15, 50, 7.5, 110, 1920};

  std::size_t lans() const { return (setting_.nodes + setting_.lan - 1) / setting_.lan; }

  double any(const std::array<double, 4>& values) { return values[random_.below(4)]; }

  /// Table 1; the network is the caller's.
  Amounts draw_capacity(double network) {
    const double processors = any({1, 2, 4, 8});
    return {processors * any({1, 2, 2.4, 3.2}), any({20, 40, 60, 80}), network,
            any({20, 60, 120, 240}), any({512, 1024, 2048, 4096})};
  }

  void add_node() {
    AuctionNode node;
    const Amounts capacity = draw_capacity(random_.uniform(5, 10));
    for (std::size_t k = 0; k < kDimensions; ++k) {
      const double mean_demand = setting_.demand * (kLeastDemand[k] + kMostDemand[k]) / 2;
      const bool by_capacity = setting_.priced_by == PricedBy::kCapacity;
      node.available.push_back(capacity[k]);
      node.prices.push_back(random_.uniform(1, 10) / (by_capacity ? capacity[k] : mean_demand));
    }
    nodes_.push_back(std::move(node));
  }

  /// Table 2. A workload is lambda times a capacity of Table 1 (the network that of a WAN) for 200
  /// to 1800 s. The budget is 1 to 1.4 times what the demand costs at the user's own prices.
  void add_task(std::size_t home, double at) {
    CloudTask task;
    task.home = home;
    task.submitted = at;
    const Amounts work = draw_capacity(random_.uniform(0.2, 2));
    for (std::size_t k = 0; k < kDimensions; ++k) {
      task.bid.demand.push_back(setting_.demand * random_.uniform(kLeastDemand[k], kMostDemand[k]));
      const double seconds = random_.uniform(200, 1800);
      task.bid.workload.push_back(k < kWorked ? setting_.demand * work[k] * seconds : 0);
      task.bid.budget += random_.uniform(1, 10);
      task.tolerable_time += task.bid.workload[k] / task.bid.demand[k];
      task.average_time += task.bid.workload[k] / kMeanCapacity[k];
    }
    task.bid.budget *= random_.uniform(1, 1.4);
    tasks_.push_back(std::move(task));
  }

  CloudSetting setting_;
  SeededRandom random_;
  std::vector<AuctionNode> nodes_;
  std::vector<double> wan_;  ///< Mbit/s for each pair of LANs
  std::vector<CloudTask> tasks_;
};

}  // namespace market::papers
