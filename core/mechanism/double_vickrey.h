// SPDX-License-Identifier: GPL-2.0-or-later
// Double-sided Vickrey auction: users bid budgets, owners ask prices ("Ex-post efficient resource
// allocation for self-organizing cloud", Algorithm 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/mechanism/node_index.h"

namespace market {

/// One user's task. With several nodes it runs as that many equal parts, each with its share of the
/// workload and of the budget and the whole `demand`, on different nodes at the same time.
struct AuctionTask {
  double budget = 0;             ///< B >= 0, credits per second
  std::vector<double> workload;  ///< l >= 0, at least one > 0; amount × seconds
  std::vector<double> demand;    ///< e >= 0, per node
  std::uint32_t nodes = 1;       ///< at least 1
};

struct AuctionRules {
  OverBudget over_budget = OverBudget::kCap;
  bool require_demand = false;  ///< candidates must meet eq. (2)
};

/// One part of a placed task.
struct AwardedPart {
  std::uint32_t node = 0;
  std::vector<double> shares;        ///< r*
  double expected_payment_unit = 0;  ///< EPU
  double auction_payment_unit = 0;   ///< APU
  double real_payment_unit = 0;      ///< RPU
  double execution_time = 0;
};

struct Award {
  std::vector<AwardedPart> parts;   ///< their expected payments together are within the budget
  double auction_payment_unit = 0;  ///< sum over the parts, credits per second
  double real_payment_unit = 0;     ///< sum over the parts, at most the budget
  double execution_time = 0;        ///< of the slowest part, seconds
  double total_payment = 0;         ///< sum over the parts of RPU × time (eq. 11)
};

struct TaskResult {
  std::uint32_t task = 0;
  double auction_budget =
      0;  ///< AB: the highest budget <= B among the other tasks, 0 if there is none
  std::vector<NodeOffer>
      candidates;  ///< in order of expected payment: all, or the first that were needed
  std::optional<Award> award;
};

/// How many candidates each task's result lists.
enum class Listing { kAll, kNeeded };

/// Order in which tasks are handled: budget descending, ties by number.
std::vector<std::uint32_t> budget_order(std::span<const AuctionTask> tasks);

/// AB of each task, by task number; `order` as budget_order() gives it.
std::vector<double> auction_budgets(std::span<const AuctionTask> tasks,
                                    std::span<const std::uint32_t> order);

/// AB as one node sees it, credits per second.
using BudgetToBeat = std::function<double(const NodeOffer&)>;

/// Lines 10–19 of Algorithm 1 on candidates in order of expected payment. A task of m nodes takes m
/// neighbours in that order whose EPU are together within B; each part pays by the first candidate
/// behind them (for m = 1, eq. 20), APU = EP_next / time, or APU = EPU when there is none; RPU =
/// max(AB/m, APU) for each part. What they come to above B is treated by `rules`; when it is cut,
/// each part gives up the same share of what it gets above its EPU.
std::optional<Award> award(const AuctionTask& task, const BudgetToBeat& auction_budget,
                           std::span<const NodeOffer> candidates, const AuctionRules& rules);

/// The same with one AB for all nodes, as in the paper.
std::optional<Award> award(const AuctionTask& task, double auction_budget,
                           std::span<const NodeOffer> candidates, const AuctionRules& rules);

/// One pass of Algorithm 1: every task once, by falling budget; `nodes` loses what is placed.
/// `on_result` gets each task's outcome in the order in which they are handled.
void run_auction(std::span<const AuctionTask> tasks, const AuctionRules& rules, Listing listing,
                 NodeIndex* nodes, const std::function<void(TaskResult)>& on_result);

/// Payment-to-budget ratio RPU·t/B of eq. (35); it has the unit of time. The ratio without it is
/// RPU/B <= 1.
double payment_to_budget(const Award& award, const AuctionTask& task);

/// Income-to-expectation ratio of eq. (36) for each node: income over what its own prices would
/// have brought; 1 where nothing was placed.
std::vector<double> income_to_expectation(std::span<const Award> awards, std::size_t nodes);

/// Jain's fairness index (eq. 34): (Σ x)²/(n Σ x²), between 1/n and 1; 1 for no or only zero
/// values.
double fairness(std::span<const double> values);

}  // namespace market
