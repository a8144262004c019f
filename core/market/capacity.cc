// SPDX-License-Identifier: GPL-2.0-or-later
// What the cluster is to the markets: the nodes of each, and what of them is for sale.
#include <fmt/format.h>

#include "core/market/market.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr Time kCapacityEvery =
    10;  // seconds; jobs without bids come and go faster than prices need to follow

}  // namespace

void Market::update_cluster(const market_cluster_t& told, Time now) {
  if (told.texts_overwritten && !site_.cluster.texts_overwritten())
    site_.log(LogLevel::kError, kTextsOverwritten);
  if (site_.cluster.update(told, now)) move_runs();
  site_.accounts.trust_associations(told.associations_enforced);
  site_.forget_rooms();
  for (const auto& exchange : site_.exchanges) exchange->capacity_due = true;
  update_capacity(now);
}

// The nodes of runs have other indices now: the next pass looks where each run is, and what it was
// awarded is forgotten.
void Market::move_runs() {
  for (auto& [id, job] : site_.jobs.all()) {
    job.standing.nodes.clear();
    job.standing.payments.clear();
    if (job.phase == Phase::kRunning) job.run_end = 0;
  }
}

// On nodes of two markets one price list would undercut the other: neither takes bids.
void Market::find_shared_nodes() {
  for (const auto& exchange : site_.exchanges) exchange->refusal.clear();
  if (site_.exchanges.size() == 1) return;
  for (const Node& node : site_.cluster.nodes()) {
    Exchange* first = nullptr;
    for (const auto& exchange : site_.exchanges) {
      if (!sells(exchange->settings, node)) continue;
      if (first == nullptr) {
        first = exchange.get();
        continue;
      }
      const std::string why = fmt::format("node {} is in markets {} and {}", node.name,
                                          first->settings.name, exchange->settings.name);
      for (Exchange* each : {first, exchange.get()}) {
        if (each->refusal.empty()) each->refusal = why;
      }
    }
  }
}

void Market::update_capacity(Time now) {
  if (!site_.cluster.is_known()) return;
  bool any_due = false;
  for (const auto& exchange : site_.exchanges) {
    const Time slot = exchange->settings.slot;
    exchange->capacity_due |=
        now / slot != exchange->capacity_at / slot ||
        (site_.cluster.others_changed() && now - exchange->capacity_at >= kCapacityEvery);
    any_due |= exchange->capacity_due;
  }
  if (!any_due) return;
  find_shared_nodes();
  site_.sold_tres.clear();
  std::size_t stocked = 0;
  for (const auto& exchange : site_.exchanges) {
    const Capacity capacity = site_.cluster.capacity_under(exchange->settings);
    stocked += !capacity.total.empty();
    for (const auto& [name, amount] : capacity.total) site_.sold_tres.insert(name);
    exchange->prices.update(capacity, now);
    exchange->capacity_due = false;
    exchange->capacity_at = now;
  }
  stocked_markets_ = stocked;
  (void)site_.cluster.take_others_changed();
}

void Site::forget_rooms() {
  for (const auto& exchange : exchanges) exchange->rooms_known = false;
}

}  // namespace market
