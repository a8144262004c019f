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
  if (told.texts_overwritten && !cluster_.texts_overwritten())
    log_(LogLevel::kError, kTextsOverwritten);
  if (cluster_.update(told, now)) move_runs();
  accounts_.trust_associations(told.associations_enforced);
  forget_rooms();
  for (const auto& exchange : exchanges_) exchange->capacity_due = true;
  update_capacity(now);
}

// The nodes of runs have other indices now: the next pass looks where each run is, and what it was
// awarded is forgotten.
void Market::move_runs() {
  for (auto& [id, job] : jobs_) {
    job.standing.nodes.clear();
    job.standing.payments.clear();
    if (job.phase == Phase::kRunning) job.run_end = 0;
  }
}

// On nodes of two markets one price list would undercut the other: neither takes bids.
void Market::find_shared_nodes() {
  for (const auto& exchange : exchanges_) exchange->refusal.clear();
  if (exchanges_.size() == 1) return;
  for (const Node& node : cluster_.nodes()) {
    Exchange* first = nullptr;
    for (const auto& exchange : exchanges_) {
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
  if (!cluster_.is_known()) return;
  bool any_due = false;
  for (const auto& exchange : exchanges_) {
    const Time slot = exchange->settings.slot;
    exchange->capacity_due |=
        now / slot != exchange->capacity_at / slot ||
        (cluster_.others_changed() && now - exchange->capacity_at >= kCapacityEvery);
    any_due |= exchange->capacity_due;
  }
  if (!any_due) return;
  find_shared_nodes();
  sold_tres_.clear();
  std::size_t stocked = 0;
  for (const auto& exchange : exchanges_) {
    const Capacity capacity = cluster_.capacity_under(exchange->settings);
    stocked += !capacity.total.empty();
    for (const auto& [name, amount] : capacity.total) sold_tres_.insert(name);
    exchange->prices.update(capacity, now);
    exchange->capacity_due = false;
    exchange->capacity_at = now;
  }
  stocked_markets_ = stocked;
  (void)cluster_.take_others_changed();
}

void Market::forget_rooms() {
  for (const auto& exchange : exchanges_) exchange->rooms_known = false;
}

}  // namespace market
