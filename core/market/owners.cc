// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/market/convert.h"
#include "core/market/site.h"

namespace market {
namespace {

constexpr std::string_view kPaysOwners = "dva/";
constexpr double kHour = 3600;
constexpr double kRounding = 1e-9;
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

// What the run holds of each node. Slurm tells cores and memory; what else the job bought, and its
// memory where Slurm does not count that, is spread evenly.
std::vector<Tres> Owners::held_parts(const Job& job, const Placement& placement) const {
  std::vector<Tres> parts;
  for (const Seat& seat : placement) {
    const Node& node = site_.cluster.nodes()[seat.node];
    Tres& part = parts.emplace_back();
    part["cpu"] = std::int64_t{seat.cores.count()} * node.threads_per_core;
    part["mem"] = static_cast<std::int64_t>(seat.mem_mb);
    for (const auto& [name, count] : seat.gres) part["gres/" + name] = count;
  }
  for (const auto& [name, bought] : job.agreed.bid.request.demand.tres) {
    std::int64_t held = 0;
    for (Tres& part : parts) held += part[name];
    if (name == "cpu" || (name == "mem" && held > 0)) continue;
    const auto count = static_cast<std::int64_t>(parts.size());
    const std::int64_t more = std::max<std::int64_t>(0, bought - held);
    for (std::int64_t i = 0; i < count; ++i)
      parts[static_cast<std::size_t>(i)][name] += more / count + (i < more % count ? 1 : 0);
  }
  return parts;
}

// What the owner of each node asks for what the run holds of it, credits per second; the site asks
// its floor price.
std::vector<double> Owners::asked_rates(const Job& job, const Placement& placement) const {
  const std::vector<Tres> parts = held_parts(job, placement);
  std::vector<double> rates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto owner = settings_.owners.find(site_.cluster.nodes()[placement[i].node].name);
    const double ask = owner != settings_.owners.end() ? owner->second.ask : settings_.floor_price;
    rates.push_back(ask * exchange_.billing_of(parts[i]) / kHour);
  }
  return rates;
}

bool Owners::on_awarded_nodes(const Job& job, const Placement& placement) const {
  const std::vector<std::uint32_t>& nodes = job.auction.standing.nodes;
  const std::set<std::uint32_t> awarded(nodes.begin(), nodes.end());
  return !placement.empty() && awarded.size() == placement.size() &&
         std::all_of(placement.begin(), placement.end(),
                     [&](const Seat& seat) { return awarded.contains(seat.node); });
}

// What each node's owner won, where the run is where it was awarded and that meets each ask; else
// what is asked for the part of each node that the run holds.
std::vector<double> Owners::node_weights(const Job& job, const Placement& placement) const {
  std::vector<double> asked = asked_rates(job, placement);
  if (job.auction.awarded && on_awarded_nodes(job, placement) &&
      job.auction.standing.payments.size() == job.auction.standing.nodes.size()) {
    std::map<std::uint32_t, double> won;
    for (std::size_t i = 0; i < job.auction.standing.nodes.size(); ++i)
      won[job.auction.standing.nodes[i]] += job.auction.standing.payments[i];
    std::vector<double> weights;
    bool met = true;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      weights.push_back(won[placement[i].node]);
      met = met && asked[i] <= weights[i] * (1 + kRounding);
    }
    if (met) return weights;
  }
  const bool free = std::all_of(asked.begin(), asked.end(), [](double ask) { return ask <= 0; });
  if (!free) return asked;
  std::vector<double> held;
  for (const Tres& part : held_parts(job, placement)) held.push_back(exchange_.billing_of(part));
  return held;
}

// The parts of the charge that owners get, one for each account; what is missing to it is the
// site's. Off its award no owner gets more of a run than it asks: it did not win it.
std::vector<ledger::Payee> Owners::payees_of(const Job& job, const market_job_t& ended,
                                             const Bill& bill) const {
  std::vector<ledger::Payee> payees;
  const Money amount = bill.charged - bill.refunded;
  const auto& owners = settings_.owners;
  if (owners.empty() || amount <= Money() || !job.agreed.terms.rule.starts_with(kPaysOwners)) {
    return payees;
  }
  const std::vector<Node>& nodes = site_.cluster.nodes();
  Placement placement = placement_of(ended.allocs, ended.alloc_count, nodes);
  if (placement.empty()) placement = job.place.placement;
  std::erase_if(placement, [&](const Seat& seat) { return seat.node >= nodes.size(); });
  if (placement.empty()) return payees;
  std::vector<Money> parts = apportion(amount, whole_weights(node_weights(job, placement)));
  const std::vector<double> asked = asked_rates(job, placement);
  std::map<std::string, Money> by_account;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto owner = owners.find(nodes[placement[i].node].name);
    if (owner == owners.end()) continue;
    const auto most = Money::from_credits(asked[i] * static_cast<double>(bill.elapsed));
    if (!job.auction.awarded && most) parts[i] = std::min(parts[i], *most);
    by_account[owner->second.account] += parts[i];
  }
  for (const auto& [account, part] : by_account) {
    if (site_.accounts.exists(account)) {
      if (part > Money()) payees.push_back({account, part});
    } else if (site_.accounts.is_newly_missing(account)) {
      site_.log(LogLevel::kError,
                fmt::format("market.conf: owners: account {} is not in the ledger; "
                            "what its nodes earn goes to the site",
                            account));
    }
  }
  return payees;
}

}  // namespace market
