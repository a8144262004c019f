// SPDX-License-Identifier: GPL-2.0-or-later
// Settings of Slurm with which promises cannot be kept or told, for smarket check.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/desk/desk.h"
#include "core/market/text.h"

namespace market {
bool Desk::share_nodes(const Partition& a, const Partition& b) const {
  const std::vector<Node>& nodes = site_.cluster.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.partitions.contains(a.name) && node.partitions.contains(b.name);
  });
}

void Desk::add_risks_of(const Partition& sold, std::vector<std::string>& risks) const {
  const MarketSettings& settings = site_.exchange_of(sold.name).settings;
  for (const Partition& other : site_.cluster.partitions()) {
    if (!share_nodes(sold, other)) continue;
    if (site_.cluster.preempts_by_tier() && sold.rules.preemptable &&
        other.rules.priority_tier > sold.rules.priority_tier) {
      risks.push_back(fmt::format(
          "jobs of partition {} (PriorityTier={}) preempt jobs with a bid in {} ({}): give {} "
          "PreemptMode=OFF",
          other.name, other.rules.priority_tier, sold.name, sold.rules.priority_tier, sold.name));
    }
    const bool takes_unbid = !site_.refuses_unbid(other.name);
    if (takes_unbid && (other.max_time == 0 || other.max_time > settings.reservation_lead)) {
      risks.push_back(fmt::format(
          "jobs without a bid may run {} in partition {}, longer than planning.reservation_lead "
          "({}): one that starts before a place in {} has its reservation can sit on it",
          other.max_time == 0 ? "for ever" : time_limit_text(other.max_time), other.name,
          time_limit_text(settings.reservation_lead), sold.name));
    }
  }
  if (sold.rules.forced_share > 1) {
    risks.push_back(fmt::format(
        "OverSubscribe=FORCE:{} in partition {}: Slurm puts several jobs on the cores one paid for",
        sold.rules.forced_share, sold.name));
  }
  if (sold.rules.overrun_s > settings.start_slack) {
    risks.push_back(fmt::format(
        "jobs in partition {} may go on for {} s after their time limit (OverTimeLimit, KillWait), "
        "longer than planning.start_slack ({} s): the next job on their nodes starts late",
        sold.name, sold.rules.overrun_s, settings.start_slack));
  }
}

// Of a market with posted prices and a list of QOS.
void Desk::add_qos_risks(const Exchange& exchange, std::vector<std::string>& risks) const {
  const MarketSettings& settings = exchange.settings;
  if (settings.qos.empty() || !exchange.promises()) return;
  const std::string of = site_.exchanges.size() > 1 ? " of market " + settings.name : "";
  std::vector<std::string> unnamed;
  for (const std::string& name : site_.cluster.qos()) {
    if (!settings.qos.contains(name)) unnamed.push_back(name);
  }
  if (!unnamed.empty()) {
    risks.push_back(fmt::format("market.conf: qos{} does not name {}: prices are multiplied by 1",
                                of, fmt::join(unnamed, ", ")));
  }
  const auto cheaper = std::find_if(settings.qos.begin(), settings.qos.end(),
                                    [](const auto& entry) { return entry.second < 1; });
  if (cheaper != settings.qos.end() && !site_.cluster.qos_enforced()) {
    risks.push_back(
        fmt::format("AccountingStorageEnforce lacks qos: anybody may name QOS {}, whose factor{} "
                    "is {}",
                    cheaper->first, of, short_number(cheaper->second)));
  }
}

std::vector<std::string> Desk::risks() const {
  std::vector<std::string> risks;
  if (site_.cluster.texts_overwritten()) risks.emplace_back(kTextsOverwritten);
  std::set<std::string> refusals;
  for (const auto& exchange : site_.exchanges) {
    if (!exchange->refusal.empty()) refusals.insert("market.conf: " + exchange->refusal);
  }
  risks.insert(risks.end(), refusals.begin(), refusals.end());
  for (const auto& exchange : site_.exchanges) {
    for (const std::string& name : exchange->settings.partitions) {
      if (site_.cluster.find_partition(name) != nullptr) continue;
      const std::string market = exchange->settings.name;
      risks.push_back(fmt::format("market.conf: partition {}{} is not in Slurm", name,
                                  market.empty() ? "" : " of market " + market));
    }
  }
  for (const auto& exchange : site_.exchanges) add_qos_risks(*exchange, risks);
  const auto promises = [this](const Partition& partition) {
    return site_.trades(partition.name) && site_.exchange_of(partition.name).promises();
  };
  const bool any_promises =
      std::any_of(site_.cluster.partitions().begin(), site_.cluster.partitions().end(), promises);
  if (site_.cluster.preempts_by_qos() && any_promises) {
    risks.emplace_back(
        "PreemptType=preempt/qos: a QOS that preempts those of jobs with a bid kills guaranteed "
        "jobs");
  }
  for (const Partition& partition : site_.cluster.partitions()) {
    if (promises(partition)) add_risks_of(partition, risks);
  }
  return risks;
}

// What decides which nodes a job gets, where the market has a say in it.
std::string Desk::nodes_text() const {
  std::string text = site_.cluster.takes_ranks()
                         ? "select/cons_tres_market: the cheapest first"
                         : "in Slurm's own order: SelectType is not select/cons_tres_market, or a "
                           "TopologyPlugin decides";
  const bool awards = std::any_of(site_.exchanges.begin(), site_.exchanges.end(),
                                  [](const auto& exchange) { return exchange->awards_nodes(); });
  if (awards) text += "; those of an award are the job's required nodes";
  return text;
}

}  // namespace market
