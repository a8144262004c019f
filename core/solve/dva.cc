// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve dva`: one pass of the double-sided Vickrey auction.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/mechanism/double_vickrey.h"
#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

/// Every candidate of every task is listed: this many pairs are looked at, and this many listed, at
/// most.
constexpr double kMostPairs = 1e8;
constexpr std::size_t kMostCandidates = 2'000'000;

/// Vectors of one instance have one length; the first one read sets it.
class SameLength {
 public:
  std::vector<double> read(const Fields& field, std::string_view name) {
    std::vector<double> values = field.numbers(name, kNotNegative);
    if (length_ == 0) length_ = values.size();
    if (values.size() != length_) {
      field.refuse(name, fmt::format("must have {} numbers as the others", length_));
    }
    return values;
  }

 private:
  std::size_t length_ = 0;
};

struct Instance {
  AuctionRules rules;
  std::vector<std::string> task_ids, node_ids;
  std::vector<AuctionTask> tasks;
  std::vector<AuctionNode> nodes;
};

Instance read(const nlohmann::json& json) {
  const Fields input(json, "", {"over_budget", "require_demand", "tasks", "nodes"});
  Instance instance;
  instance.rules.over_budget = input.choice_or("over_budget", "cap", {"cap", "skip"}) == "cap"
                                   ? OverBudget::kCap
                                   : OverBudget::kSkip;
  instance.rules.require_demand = input.flag_or("require_demand", false);
  const auto tasks =
      input.objects("tasks", {"id", "budget", "workload", "demand"}, Empty::kAllowed);
  const auto nodes = input.objects("nodes", {"id", "prices", "available"}, Empty::kAllowed);
  instance.task_ids = unique_ids(tasks);
  instance.node_ids = unique_ids(nodes);
  SameLength length;
  for (const Fields& field : tasks) {
    AuctionTask task;
    task.budget = field.number("budget", kNotNegative);
    task.workload = length.read(field, "workload");
    task.demand = length.read(field, "demand");
    double most = 0;
    for (const double amount : task.workload) most = std::max(most, amount);
    if (!(most > 0)) field.refuse("workload", "must have a number > 0");
    instance.tasks.push_back(std::move(task));
  }
  for (const Fields& field : nodes) {
    AuctionNode node;
    node.prices = length.read(field, "prices");
    node.available = length.read(field, "available");
    instance.nodes.push_back(std::move(node));
  }
  if (static_cast<double>(tasks.size()) * static_cast<double>(nodes.size()) > kMostPairs) {
    input.refuse("tasks", fmt::format("tasks times nodes must be at most {}", kMostPairs));
  }
  return instance;
}

ordered_json candidate(const NodeOffer& offer, const Instance& instance) {
  ordered_json result;
  result["node"] = instance.node_ids[offer.node];
  result["allocation"] = offer.shares;
  result["expected_payment_unit"] = offer.outcome.payment_unit;
  result["execution_time"] = offer.outcome.execution_time;
  result["expected_payment"] = offer.outcome.payment;
  result["meets_demand"] = offer.outcome.meets_demand;
  return result;
}

ordered_json task_result(const TaskResult& outcome, const Instance& instance) {
  ordered_json result;
  result["id"] = instance.task_ids[outcome.task];
  result["auction_budget"] = outcome.auction_budget;
  result["candidates"] = ordered_json::array();
  for (const NodeOffer& offer : outcome.candidates) {
    result["candidates"].push_back(candidate(offer, instance));
  }
  for (const char* name :
       {"node", "auction_payment_unit", "real_payment_unit", "execution_time", "total_payment"}) {
    result[name] = nullptr;
  }
  if (!outcome.award) return result;
  result["node"] = instance.node_ids[outcome.award->parts[0].node];
  result["auction_payment_unit"] = outcome.award->auction_payment_unit;
  result["real_payment_unit"] = outcome.award->real_payment_unit;
  result["execution_time"] = outcome.award->execution_time;
  result["total_payment"] = outcome.award->total_payment;
  return result;
}

}  // namespace

ordered_json dva(const nlohmann::json& json) {
  const Instance instance = read(json);
  NodeIndex nodes(instance.nodes);
  ordered_json tasks = ordered_json::array();
  std::size_t candidates = 0;
  run_auction(
      instance.tasks, instance.rules, Listing::kAll, &nodes, [&](const TaskResult& outcome) {
        candidates += outcome.candidates.size();
        if (candidates > kMostCandidates) {
          throw InputError(
              fmt::format("tasks: they have more than {} candidates in all", kMostCandidates));
        }
        tasks.push_back(task_result(outcome, instance));
      });
  ordered_json left = ordered_json::array();
  for (std::uint32_t node = 0; node < instance.nodes.size(); ++node) {
    left.push_back({{"id", instance.node_ids[node]}, {"available", nodes.available(node)}});
  }
  ordered_json result;
  result["tasks"] = std::move(tasks);
  result["nodes"] = std::move(left);
  return result;
}

}  // namespace market::solving
