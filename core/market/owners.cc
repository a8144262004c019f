// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/market/convert.h"
#include "core/market/site.h"

namespace market {
namespace {

constexpr std::string_view kPaysByAsks = "dva/", kPaysByUse = "tycoon/";
constexpr double kFinest = 1e12;  // the largest weight; others are rounded against it

std::vector<std::int64_t> whole_weights(const std::vector<NodePay>& pays) {
  double largest = 0;
  for (const NodePay& pay : pays) largest = std::max(largest, pay.rate);
  std::vector<std::int64_t> whole;
  for (const NodePay& pay : pays)
    whole.push_back(largest > 0 ? std::llround(std::max(0.0, pay.rate) / largest * kFinest) : 0);
  return whole;
}

// Of a TRES, and of its types where it is one without a type.
double amount_under(const Tres& tres, std::string_view good) {
  double amount = 0;
  for (const auto& [name, count] : tres)
    if (name == good || std::string_view(name).substr(0, name.find(':')) == good)
      amount += static_cast<double>(count);
  return amount;
}

// The rate of a run is the sum of what its nodes get, and each of both is rounded to a micro-credit.
Money most_of(const std::vector<NodePay>& pays, Time elapsed) {
  double rate = 0;
  for (const NodePay& pay : pays) rate += pay.rate;
  return money_of(rate * static_cast<double>(elapsed)) + Money::from_micro(1);
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

// A price that is asked while a job waits for its start or runs is for the next one.
std::vector<NodePay> Owners::asked(const Job& job, const Placement& placement) const {
  const std::vector<Tres> parts = held_parts(job, placement);
  const std::vector<std::uint32_t>& awarded = job.auction->standing.nodes;
  std::vector<NodePay> pays;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t node = placement[i].node;
    const std::string& name = site_.cluster.nodes()[node].name;
    const auto known = std::find(awarded.begin(), awarded.end(), node);
    const auto place = static_cast<std::size_t>(known - awarded.begin());
    const NodeAsk ask = place < std::min(awarded.size(), job.auction->asks.size())
                            ? job.auction->asks[place]
                            : site_.asks.of(settings_, name);
    const double rate = asked_for(exchange_, parts[i], ask) / kSecondsPerHour;
    pays.push_back({name, rate, rate, static_cast<std::uint32_t>(amount_of(parts[i], "cpu"))});
  }
  return pays;
}

std::vector<NodePay> Owners::won(const Job& job, const Placement& placement) const {
  std::vector<NodePay> pays = asked(job, placement);
  const Standing& standing = job.auction->standing;
  for (std::size_t i = 0; i < pays.size(); ++i) {
    const auto at = std::find(standing.nodes.begin(), standing.nodes.end(), placement[i].node);
    const auto place = static_cast<std::size_t>(at - standing.nodes.begin());
    if (place < standing.payments.size()) pays[i].rate = standing.payments[place];
  }
  return pays;
}

double sum_asked(const std::vector<NodePay>& pays) {
  double sum = 0;
  for (const NodePay& pay : pays) sum += pay.asked;
  return sum;
}

bool Owners::on_awarded_nodes(const Job& job, const Placement& placement) const {
  const std::vector<std::uint32_t>& nodes = job.auction->standing.nodes;
  const std::set<std::uint32_t> awarded(nodes.begin(), nodes.end());
  return !placement.empty() && awarded.size() == placement.size() &&
         std::all_of(placement.begin(), placement.end(),
                     [&](const Seat& seat) { return awarded.contains(seat.node); });
}

Placement Owners::placement_at_end(const Job& job, const market_job_t& ended) const {
  const std::vector<Node>& nodes = site_.cluster.nodes();
  Placement placement = placement_of(ended.allocs, ended.alloc_count, nodes);
  if (placement.empty()) placement = job.place.placement;
  std::erase_if(placement, [&](const Seat& seat) { return seat.node >= nodes.size(); });
  return placement;
}

// As they were at the start of the run; of one whose start nobody saw, what its nodes ask now.
std::vector<NodePay> Owners::pays_of(const Job& job, const market_job_t& ended) const {
  if (!job.auction->pays.empty()) return job.auction->pays;
  return asked(job, placement_at_end(job, ended));
}

// In tycoon each node gets the part of what the run pays for a good that it has of that good; of a run
// whose goods are not told apart, by billing units.
std::vector<NodePay> Owners::parts_by_use(const Job& job, const market_job_t& ended,
                                          const Bill& bill) const {
  const Placement placement = placement_at_end(job, ended);
  const std::vector<Tres> held = held_parts(job, placement);
  const auto rest = static_cast<double>(std::max<Time>(0, bill.elapsed - job.run->accrued.seconds));
  std::vector<double> parts(held.size(), 0.0);
  for (const GoodRate& good : job.auction->goods) {
    std::vector<double> amounts;
    double all = 0;
    for (const Tres& tres : held) {
      amounts.push_back(amount_under(tres, good.tres));
      all += amounts.back();
    }
    for (std::size_t i = 0; i < held.size() && all > 0; ++i)
      parts[i] += (good.owes + good.rate * rest) * amounts[i] / all;
  }
  const bool is_told = std::any_of(parts.begin(), parts.end(), [](double p) { return p > 0; });
  std::vector<NodePay> pays;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const double rate = is_told ? parts[i] : exchange_.billing_of(held[i]);
    pays.push_back({site_.cluster.nodes()[placement[i].node].name, rate, 0,
                    static_cast<std::uint32_t>(amount_of(held[i], "cpu"))});
  }
  return pays;
}

// The account for which a node earns; "": the site.
std::string Owners::owner_of(const Job& job, const std::string& node) const {
  const auto owner = settings_.owners.find(node);
  if (owner != settings_.owners.end()) return owner->second.account;
  const auto joined = site_.joined.find(node);
  const bool counts = joined != site_.joined.end() && job.agreed.terms.rule.starts_with(kPaysByUse);
  return counts ? joined->second : std::string();
}

ledger::Payouts Owners::parts_of(const Job& job, const market_job_t& ended,
                                 const Bill& bill) const {
  ledger::Payouts result;
  const Money amount = bill.charged - bill.refunded;
  const bool by_use = job.agreed.terms.rule.starts_with(kPaysByUse);
  const bool has_owners = !settings_.owners.empty() || (by_use && !site_.joined.empty());
  if (!has_owners || !(by_use || job.agreed.terms.rule.starts_with(kPaysByAsks))) return result;
  const std::vector<NodePay> pays = by_use ? parts_by_use(job, ended, bill) : pays_of(job, ended);
  const Money shared = by_use ? amount : std::min(amount, most_of(pays, bill.elapsed));
  std::vector<Money> parts = apportion(shared, whole_weights(pays));
  parts.resize(pays.size());
  std::map<std::string, Money> by_account;
  for (std::size_t i = 0; i < pays.size(); ++i) {
    const std::string account = owner_of(job, pays[i].node);
    if (account.empty()) continue;
    if (!site_.accounts.exists(account)) {
      if (site_.accounts.is_newly_missing(account))
        site_.log(LogLevel::kError,
                  fmt::format("owners: account {} is not in the ledger; what its nodes earn goes "
                              "to the site",
                              account));
      continue;
    }
    by_account[account] += parts[i];
    // Of a run that is free, since its node failed, say, nothing was to be expected, and of what it
    // overran its time limit neither: that was not sold.
    const Time sold = std::min(bill.elapsed, job.agreed.bid.request.duration);
    const double asked = amount > Money() ? pays[i].asked * static_cast<double>(sold) : 0;
    result.nodes.push_back(
        {pays[i].node, account, money_of(asked), parts[i], Time{pays[i].cpus} * bill.elapsed});
  }
  for (const auto& [account, part] : by_account) {
    if (part > Money()) result.payees.push_back({account, part});
  }
  return result;
}

}  // namespace market
