// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/site.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/market/lane_search.h"
#include "core/market/search.h"
#include "core/plan/place_search.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr int kMaxSteps = 400;  // starts tried for the earliest place
constexpr Time kCapacityEvery =
    10;  // seconds; jobs without bids come and go faster than prices need to follow

}  // namespace

Site::Site(std::string name, Log to, std::function<void()> wake_books, Role role)
    : cluster_name(std::move(name)),
      log(std::move(to)),
      observes(role == Role::kObserves),
      accounts(cluster_name, log, std::move(wake_books), role == Role::kObserves) {
  const MarketSettings defaults;
  exchanges.push_back(std::move(*make_exchange(*this, defaults, {}, {}, 0, 0)));
}

// "era/1", or of several markets "batch: era/1, condo: dva/1".
std::string Site::rules_text() const {
  if (exchanges.size() == 1) return std::string(exchanges.front()->rule());
  std::string text;
  for (const auto& exchange : exchanges) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", exchange->settings.name,
                        exchange->rule());
  }
  return text;
}

std::string Site::settings_in_force(Time now) const {
  if (!has_config) return "no settings are in force";
  return fmt::format("the settings read {} stay in force",
                     format_time_short(health.config_read, now));
}

bool Site::trades(std::string_view partition) const {
  return std::any_of(exchanges.begin(), exchanges.end(), [partition](const auto& exchange) {
    return exchange->settings.trades(partition);
  });
}

Exchange& Site::exchange_of(std::string_view partition) const {
  const auto found = std::find_if(
      exchanges.begin(), exchanges.end(),
      [partition](const auto& exchange) { return exchange->settings.trades(partition); });
  return found == exchanges.end() ? *exchanges.front() : **found;
}

Result<Demand> Site::demand_for(const SizeOptions& size, const std::string& partition) const {
  return cluster.demand_for(size, partition, exchange_of(partition).settings);
}

void Site::set_lien(Job& job, Money amount) {
  accounts.set_lien(job, amount, billing_of(job.agreed.bid.request));
}

// On nodes of two markets one price list would undercut the other: neither takes bids.
void Site::find_shared_nodes() {
  for (const auto& exchange : exchanges) exchange->refusal.clear();
  if (exchanges.size() == 1) return;
  for (const Node& node : cluster.nodes()) {
    Exchange* first = nullptr;
    for (const auto& exchange : exchanges) {
      const bool is_other_role = exchange->settings.observes() != observes;
      if (is_other_role || !sells(exchange->settings, node)) continue;
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

void Site::update_capacity(Time now) {
  if (!cluster.is_known()) return;
  bool is_due = false, changed = cluster.others_changed();
  for (const auto& exchange : exchanges) {
    const Time slot = exchange->settings.slot;
    changed |= exchange->capacity_due;
    is_due |= exchange->capacity_due || now / slot != exchange->capacity_at / slot ||
              (cluster.others_changed() && now - exchange->capacity_at >= kCapacityEvery);
  }
  if (!is_due) return;
  if (changed) take_stock();
  for (const auto& exchange : exchanges) {
    exchange->update(exchange->stock, now);
    exchange->capacity_due = false;
    exchange->capacity_at = now;
  }
  (void)cluster.take_others_changed();
}

void Site::take_stock() {
  find_shared_nodes();
  Cluster::Places places;
  for (const Job& job : jobs.awake()) {  // a place never rests
    const bool is_place = job.agreed.reserved && job.phase == Phase::kConfirmed;
    if (is_place) places[reservation_name(job)] = job.agreed.bid.request.demand.tres;
  }
  cluster.set_places(std::move(places));
  stocked_markets = 0;
  for (const auto& exchange : exchanges) {
    exchange->stock = cluster.capacity_under(exchange->settings);
    stocked_markets += !exchange->stock.total.empty();
    exchange->sold_tres.clear();
    for (const auto& [name, amount] : exchange->stock.total) exchange->sold_tres.insert(name);
  }
}

void Site::forget_rooms() {
  for (const auto& exchange : exchanges) exchange->forget_rooms(false);
}

bool Site::refuses_unbid(std::string_view partitions) const {
  while (true) {
    const std::size_t comma = partitions.find(',');
    const std::string_view name = partitions.substr(0, comma);
    if (trades(name)) {
      const MarketSettings& settings = exchange_of(name).settings;
      if (settings.unbid == UnbidJobs::kRefuse && !settings.observes()) return true;
    }
    if (comma == std::string_view::npos) return false;
    partitions.remove_prefix(comma + 1);
  }
}

StartSpans Site::closed_by_sisters(const Job& job) const {
  return jobs.closed_starts(job, exchange_of(job).settings.start_slack);
}

namespace {

// `at(start, end)` finds a place, or nothing, with `places`.
template <class At>
std::optional<Choice> first_place(const Bookings& bookings, PlaceSearch& places, Time from,
                                  Time until, Time length, const StartSpans* closed, At at) {
  Time start = from;
  for (int step = 0; step < kMaxSteps && start <= until; ++step) {
    if (const Time open = closed == nullptr ? 0 : closed->end_of(start); open != 0) {
      start = open;
      continue;
    }
    const Time end = start + length;
    auto placement = at(start, end);
    if (placement) return Choice{start, Money(), std::move(*placement)};
    const Time next = next_try(bookings, places, start, end, step);
    if (next == start) break;
    start = next;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Choice> Site::earliest_place(const Request& request, Time from, Time until,
                                           const std::string& ignore,
                                           const StartSpans* closed) const {
  const Time length = request.duration + exchange_of(request).settings.start_slack;
  PlaceSearch places(cluster.plan(), request.demand.shape, request.partition, ignore);
  return first_place(cluster.bookings(), places, from, until, length, closed,
                     [&](Time start, Time end) { return places.at(start, end); });
}

std::optional<Choice> Site::earliest_place(const Job& job, Time from, Time until,
                                           const StartSpans* closed) const {
  const Request& request = job.agreed.bid.request;
  const ArrayBlock* block = block_of(job);
  if (block == nullptr) return earliest_place(request, from, until, booking_key(job), closed);
  const Time length = place_length(job, exchange_of(job).settings.start_slack);
  LaneSearch lanes(cluster.plan(), request.demand.shape, request.partition, booking_key(job));
  return first_place(cluster.bookings(), lanes.places(), from, until, length, closed,
                     [&](Time start, Time end) { return lanes.at(block->lanes, start, end); });
}

Time Site::window_end(const Request& request, Time deadline, Time now) const {
  const MarketSettings& settings = exchange_of(request).settings;
  const Time horizon = now + settings.horizon;
  return (deadline == 0 ? horizon : std::min(deadline, horizon)) - settings.start_slack;
}

}  // namespace market
