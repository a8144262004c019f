// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/double_vickrey.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace market {
namespace {

/// Eq. (12) is tested with this slack, relative to the budget.
constexpr double kBudgetSlack = 1e-9;

/// The award of candidates[first, first + m), before the budget is looked at.
Award award_at(const AuctionTask& task, const BudgetToBeat& auction_budget,
               std::span<const NodeOffer> candidates, std::size_t first) {
  Award result;
  const std::size_t next = first + task.nodes;
  const double share = 1.0 / task.nodes;
  for (std::size_t k = first; k < next; ++k) {
    const NodeOffer& offer = candidates[k];
    AwardedPart part;
    part.node = offer.node;
    part.shares = offer.shares;
    part.expected_payment_unit = offer.outcome.payment_unit;
    part.execution_time = offer.outcome.execution_time;
    part.auction_payment_unit = next < candidates.size()
                                    ? candidates[next].outcome.payment / part.execution_time
                                    : part.expected_payment_unit;
    part.real_payment_unit = std::max(auction_budget(offer) * share, part.auction_payment_unit);
    result.parts.push_back(std::move(part));
  }
  return result;
}

double sum_of(const Award& award, double AwardedPart::*what) {
  return std::accumulate(award.parts.begin(), award.parts.end(), 0.0,
                         [what](double sum, const AwardedPart& part) { return sum + part.*what; });
}

void cut_to(double budget, Award* award) {
  const double real = sum_of(*award, &AwardedPart::real_payment_unit);
  if (real <= budget) return;
  if (award->parts.size() == 1) {
    award->parts.front().real_payment_unit = budget;
    return;
  }
  const double expected = sum_of(*award, &AwardedPart::expected_payment_unit);
  const double kept = real > expected ? std::max(0.0, budget - expected) / (real - expected) : 0;
  for (AwardedPart& part : award->parts) {
    const double above = part.real_payment_unit - part.expected_payment_unit;
    part.real_payment_unit = part.expected_payment_unit + kept * above;
  }
}

Award settled(Award result) {
  for (const AwardedPart& part : result.parts) {
    result.auction_payment_unit += part.auction_payment_unit;
    result.real_payment_unit += part.real_payment_unit;
    result.execution_time = std::max(result.execution_time, part.execution_time);
    result.total_payment += part.real_payment_unit * part.execution_time;
  }
  return result;
}

/// Candidates and award of one task. Asks for no more candidates than the award can depend on.
TaskResult handle(const AuctionTask& task, double auction_budget, const AuctionRules& rules,
                  Listing listing, const NodeIndex& nodes) {
  std::vector<double> part_workload(task.workload);
  for (double& amount : part_workload) amount /= task.nodes;
  const NodeQuery query{task.budget / task.nodes, part_workload, task.demand, rules.require_demand};
  std::size_t wanted = listing == Listing::kAll ? nodes.size() : task.nodes + std::size_t{1};
  TaskResult result;
  result.auction_budget = auction_budget;
  while (true) {
    result.candidates = nodes.cheapest(query, wanted);
    result.award = award(task, auction_budget, result.candidates, rules);
    // A window that ends with the list was judged without its successor unless the list is
    // complete.
    const bool complete = result.candidates.size() < wanted || wanted >= nodes.size();
    const bool judged =
        result.award && result.award->parts.back().node != result.candidates.back().node;
    if (complete || judged) return result;
    wanted = std::min(2 * wanted, nodes.size());
  }
}

}  // namespace

std::vector<std::uint32_t> budget_order(std::span<const AuctionTask> tasks) {
  std::vector<std::uint32_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tasks[a].budget > tasks[b].budget;
  });
  return order;
}

std::vector<double> auction_budgets(std::span<const AuctionTask> tasks,
                                    std::span<const std::uint32_t> order) {
  std::vector<double> budgets(tasks.size(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double own = tasks[order[i]].budget;
    if (i > 0 && tasks[order[i - 1]].budget == own) {
      budgets[order[i]] = own;
    } else if (i + 1 < order.size()) {
      budgets[order[i]] = tasks[order[i + 1]].budget;
    }
  }
  return budgets;
}

std::optional<Award> award(const AuctionTask& task, const BudgetToBeat& auction_budget,
                           std::span<const NodeOffer> candidates, const AuctionRules& rules) {
  const double most = task.budget * (1 + kBudgetSlack);
  for (std::size_t first = 0; first + task.nodes <= candidates.size(); ++first) {
    Award result = award_at(task, auction_budget, candidates, first);
    if (sum_of(result, &AwardedPart::expected_payment_unit) > most) continue;
    const bool is_over = sum_of(result, &AwardedPart::real_payment_unit) > most;
    if (is_over && rules.over_budget == OverBudget::kSkip) continue;
    if (rules.over_budget == OverBudget::kCap) cut_to(task.budget, &result);
    return settled(std::move(result));
  }
  return std::nullopt;
}

std::optional<Award> award(const AuctionTask& task, double auction_budget,
                           std::span<const NodeOffer> candidates, const AuctionRules& rules) {
  return award(
      task, [auction_budget](const NodeOffer&) { return auction_budget; }, candidates, rules);
}

void run_auction(std::span<const AuctionTask> tasks, const AuctionRules& rules, Listing listing,
                 NodeIndex* nodes, const std::function<void(TaskResult)>& on_result) {
  const std::vector<std::uint32_t> order = budget_order(tasks);
  const std::vector<double> budgets = auction_budgets(tasks, order);
  for (const std::uint32_t task : order) {
    TaskResult result = handle(tasks[task], budgets[task], rules, listing, *nodes);
    result.task = task;
    if (result.award) {
      for (const AwardedPart& part : result.award->parts) nodes->take(part.node, part.shares);
    }
    on_result(std::move(result));
  }
}

double payment_to_budget(const Award& award, const AuctionTask& task) {
  return award.real_payment_unit * award.execution_time / task.budget;
}

std::vector<double> income_to_expectation(std::span<const Award> awards, std::size_t nodes) {
  std::vector<double> income(nodes, 0.0), expected(nodes, 0.0);
  for (const Award& award : awards) {
    for (const AwardedPart& part : award.parts) {
      income[part.node] += part.real_payment_unit * part.execution_time;
      expected[part.node] += part.expected_payment_unit * part.execution_time;
    }
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    income[node] = expected[node] > 0 ? income[node] / expected[node] : 1;
  }
  return income;
}

double fairness(std::span<const double> values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

}  // namespace market
