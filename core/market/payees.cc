// SPDX-License-Identifier: GPL-2.0-or-later
// Who gets what of a run's charge: the owners of the nodes it ran on, in dva.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/market/convert.h"
#include "core/market/market.h"

namespace market {
namespace {

constexpr std::string_view kPaysOwners = "dva/";
constexpr double kFinest = 1e12;  // the largest weight; others are rounded against it

std::vector<std::int64_t> whole_weights(const std::vector<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  std::vector<std::int64_t> whole;
  for (const double weight : weights) {
    whole.push_back(largest > 0 ? std::llround(std::max(0.0, weight) / largest * kFinest) : 1);
  }
  return whole;
}

}  // namespace

// What each node's owner won, when it ran just where it was awarded; else by what was asked for the
// part of each node that it held, so that each still gets what it asked when the total allows.
std::vector<double> Market::node_weights(const Job& job, const Placement& placement) const {
  std::map<std::uint32_t, double> awarded;
  for (std::size_t i = 0; i < std::min(job.standing.nodes.size(), job.standing.payments.size());
       ++i) {
    awarded[job.standing.nodes[i]] += job.standing.payments[i];
  }
  const bool as_awarded = awarded.size() == placement.size() &&
                          std::all_of(placement.begin(), placement.end(), [&](const Seat& seat) {
                            return awarded.contains(seat.node);
                          });
  std::vector<double> weights, held;
  for (const Seat& seat : placement) {
    if (as_awarded) {
      weights.push_back(awarded[seat.node]);
      continue;
    }
    const Node& node = bookings_.plan().nodes()[seat.node];
    Tres part{{"cpu", std::int64_t{seat.cores.count()} * node.threads_per_core},
              {"mem", static_cast<std::int64_t>(seat.mem_mb)}};
    for (const auto& [name, count] : seat.gres) part["gres/" + name] = count;
    const auto owner = config_.owners.find(node.name);
    held.push_back(billing_of(part));
    weights.push_back(held.back() *
                      (owner != config_.owners.end() ? owner->second.ask : config_.floor_price));
  }
  const bool free =
      std::all_of(weights.begin(), weights.end(), [](double weight) { return weight <= 0; });
  return free && !held.empty() ? held : weights;
}

// The parts of `amount` that owners get, one for each account; what is missing to it is the site's.
std::vector<ledger::Payee> Market::payees_of(const Job& job, const market_job_t& ended,
                                             Money amount) {
  std::vector<ledger::Payee> payees;
  if (config_.owners.empty() || amount <= Money() || !job.terms.rule.starts_with(kPaysOwners)) {
    return payees;
  }
  const std::vector<Node>& nodes = bookings_.plan().nodes();
  Placement placement = placement_of(ended.allocs, ended.alloc_count, nodes);
  if (placement.empty()) placement = job.placement;
  std::erase_if(placement, [&](const Seat& seat) { return seat.node >= nodes.size(); });
  if (placement.empty()) return payees;
  const std::vector<Money> parts = apportion(amount, whole_weights(node_weights(job, placement)));
  std::map<std::string, Money> by_account;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto owner = config_.owners.find(nodes[placement[i].node].name);
    if (owner != config_.owners.end()) by_account[owner->second.account] += parts[i];
  }
  for (const auto& [account, part] : by_account) {
    if (funds_.find(account) != nullptr) {
      if (part > Money()) payees.push_back({account, part});
    } else if (missing_owners_.insert(account).second) {
      log_(LogLevel::kError, fmt::format("market.conf: owners: account {} is not in the ledger; "
                                         "what its nodes earn goes to the site",
                                         account));
    }
  }
  return payees;
}

}  // namespace market
