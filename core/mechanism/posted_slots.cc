// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/posted_slots.h"

#include <algorithm>
#include <cmath>

#include "core/mechanism/billing.h"

namespace market {
namespace {

constexpr double kNeverShort = std::numeric_limits<double>::infinity();

std::int64_t floor_divide(Time time, Time by) {
  return time >= 0 ? time / by : -((by - 1 - time) / by);
}

std::int64_t slots_of(const MarketSettings& config) {
  return config.horizon / config.slot + 2;
}

bool is_virtual(std::string_view tres) {
  return tres.starts_with("virtual/");
}

}  // namespace

PostedSlots::PostedSlots(const MarketSettings& config, const PriceBounds& bounds)
    : config_(config), bounds_(bounds), econ_(0, slots_of(config), config.slot) {
  make_good("");
  for (const ResourceAmount& resource : config_.virtual_resources) {
    const std::size_t good = make_good(resource.tres);
    goods_[good].capacity = resource.amount;
    price_good(good);
  }
}

Amounts PostedSlots::actual(const Tres& tres) const {
  if (config_.configurations.empty()) return {tres.begin(), tres.end()};
  Tres named;
  for (const auto& [name, amount] : tres) named[std::string(good_name(name))] += amount;
  return actual_amounts(named, config_.configurations);
}

double PostedSlots::billing(const Amounts& actual) const {
  return billing_units(config_, actual);
}

std::string_view PostedSlots::good_name(std::string_view tres) const {
  const std::size_t good = find_good(tres);
  return good == 0 ? tres : std::string_view(goods_[good].name);
}

double PostedSlots::capacity_of(std::string_view good) const {
  const auto known = good_of_.find(good);
  return known == good_of_.end() ? kNeverShort : goods_[known->second].capacity;
}

/// 0 for a TRES that nobody counts.
std::size_t PostedSlots::find_good(std::string_view tres) const {
  if (is_shared(tres)) return 0;
  const auto known = good_of_.find(tres);
  if (known != good_of_.end()) return known->second;
  if (!tres.starts_with("gres/") || tres.find(':') != std::string_view::npos) return 0;
  const std::string prefix = std::string(tres) + ":";
  std::size_t only = 0;
  for (std::size_t good = 1; good < goods_.size(); ++good) {
    if (!goods_[good].name.starts_with(prefix)) continue;
    if (only != 0) return 0;
    only = good;
  }
  return only;
}

std::size_t PostedSlots::make_good(const std::string& name) {
  const std::size_t good = goods_.size();
  goods_.push_back({name, kNeverShort, {}});
  good_of_[name] = good;
  PriceCurves never_short;
  never_short.add({}, kNeverShort, 0, bounds_);
  return econ_.add_good(std::move(never_short), 1);
}

/// Makes the price curves of a good anew from its capacity and its forecast.
void PostedSlots::price_good(std::size_t good) {
  const auto seconds = static_cast<double>(config_.slot);
  const double capacity = goods_[good].capacity * seconds;
  const auto forecast = forecasts_.find(goods_[good].name);
  const bool has_demand =
      forecast != forecasts_.end() && !forecast->second.curves.empty() && capacity != kNeverShort;
  PriceCurves curves;
  if (!has_demand) {
    curves.add({}, capacity, 0, bounds_);
    econ_.set_curves(good, std::move(curves), 1);
    return;
  }
  for (DemandCurve curve : forecast->second.curves) {
    for (DemandStep& step : curve) step.quantity *= seconds;
    curves.add(curve, capacity, 0, bounds_);
  }
  econ_.set_curves(good, std::move(curves), forecast->second.slots_per_curve);
}

void PostedSlots::set_forecasts(std::map<std::string, Forecast, std::less<>> forecasts) {
  forecasts_ = std::move(forecasts);
  for (std::size_t good = 1; good < goods_.size(); ++good) price_good(good);
}

void PostedSlots::update(const Capacity& capacity, Time now) {
  const std::int64_t before = econ_.first();
  econ_.advance(floor_divide(now, config_.slot));
  const auto gone =
      static_cast<std::size_t>(std::min(econ_.first() - before, econ_.end() - econ_.first()));
  for (Good& good : goods_) {
    good.busy.erase(good.busy.begin(),
                    good.busy.begin() + static_cast<long>(std::min(gone, good.busy.size())));
  }
  set_capacity(capacity.total);
  set_busy(capacity.busy);
}

void PostedSlots::set_capacity(const Tres& total) {
  for (const auto& [name, amount] : total) {
    if (is_shared(name)) continue;
    const auto known = good_of_.find(name);
    const std::size_t good = known == good_of_.end() ? make_good(name) : known->second;
    const double units = for_sale(config_, static_cast<double>(amount));
    if (goods_[good].capacity == units) continue;
    goods_[good].capacity = units;
    price_good(good);
  }
  // What was for sale and is no longer named has gone with its nodes.
  for (std::size_t good = 1; good < goods_.size(); ++good) {
    if (goods_[good].capacity == kNeverShort || goods_[good].capacity == 0 ||
        total.contains(goods_[good].name) || is_virtual(goods_[good].name))
      continue;
    goods_[good].capacity = 0;
    price_good(good);
  }
}

/// Slots until the last one of which somebody holds or held something.
std::size_t PostedSlots::busy_slots(const std::vector<Capacity::Busy>& busy) const {
  const Time begin = econ_.first() * config_.slot;
  std::size_t count = 0;
  for (const Good& good : goods_) count = std::max(count, good.busy.size());
  for (const Capacity::Busy& holder : busy) {
    if (holder.until <= begin) continue;
    count =
        std::max(count, static_cast<std::size_t>((holder.until - begin - 1) / config_.slot) + 1);
  }
  return std::min(count, static_cast<std::size_t>(econ_.end() - econ_.first()));
}

/// What others begin or stop to hold of a good: units from a slot on, and unit-seconds that they hold
/// more or less of that slot alone.
struct PostedSlots::Changes {
  std::vector<double> units, part;

  void add(std::size_t slots, Time slot, Time time, double change) {
    const auto at = static_cast<std::size_t>(time / slot);
    if (at >= slots) return;
    units.resize(slots);
    part.resize(slots);
    units[at] += change;
    part[at] -= change * static_cast<double>(time % slot);
  }
};

/// Of each good, in the first `slots` slots. Who holds something now holds it from the beginning of
/// the present slot, so that nothing of it is sold twice.
std::vector<PostedSlots::Changes> PostedSlots::changes_of(const std::vector<Capacity::Busy>& busy,
                                                          std::size_t slots) const {
  const Time begin = econ_.first() * config_.slot;
  std::vector<Changes> changes(goods_.size());
  for (const Capacity::Busy& holder : busy) {
    const Time from = std::max<Time>(holder.from - begin, 0), until = holder.until - begin;
    if (until <= from) continue;
    for (const auto& [name, units] : actual(holder.tres)) {
      Changes& change = changes[find_good(name)];
      change.add(slots, config_.slot, from, units);
      change.add(slots, config_.slot, until, -units);
    }
  }
  return changes;
}

void PostedSlots::set_busy(const std::vector<Capacity::Busy>& busy) {
  const std::size_t slots = busy_slots(busy);
  if (slots == 0) return;
  const auto seconds = static_cast<double>(config_.slot);
  const std::vector<Changes> changes = changes_of(busy, slots);
  for (std::size_t good = 1; good < goods_.size(); ++good) {
    std::vector<double>& old = goods_[good].busy;
    const Changes& change = changes[good];
    if (old.empty() && change.units.empty()) continue;
    old.resize(slots);
    double units = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      double held = 0;
      if (!change.units.empty()) {
        units += change.units[slot];
        held = units * seconds + change.part[slot];
      }
      if (held != old[slot]) {
        econ_.add(good, econ_.first() + static_cast<std::int64_t>(slot), held - old[slot]);
        old[slot] = held;
      }
    }
    while (!old.empty() && old.back() == 0) old.pop_back();
  }
}

std::vector<BasicEcon::Part> PostedSlots::parts(const Tres& tres) const {
  std::vector<BasicEcon::Part> parts;
  for (const auto& [name, amount] : actual(tres)) {
    const BasicEcon::Part part{.good = find_good(name),
                               .width = amount,
                               .factor = weight_per_unit(config_, name) / kSecondsPerHour};
    // What is neither short nor paid for changes nothing.
    if (amount > 0 && (part.good != 0 || part.factor > 0)) parts.push_back(part);
  }
  return parts;
}

/// From now on `tres` is counted under the good that it is found under now, so that a release finds
/// it again.
void PostedSlots::remember_good(const std::string& tres) {
  if (is_shared(tres) || good_of_.contains(tres)) return;
  const std::size_t good = find_good(tres);
  if (good == 0) {
    make_good(tres);
  } else {
    good_of_[tres] = good;
  }
}

/// The parts that are counted.
std::vector<BasicEcon::Part> PostedSlots::sold_parts(const Tres& tres) {
  for (const auto& [name, amount] : tres) {
    if (amount > 0) remember_good(name);
  }
  for (const auto& [name, amount] : actual(tres)) {
    if (amount > 0) remember_good(name);
  }
  std::vector<BasicEcon::Part> sold = parts(tres);
  std::erase_if(sold, [](const BasicEcon::Part& part) { return part.good == 0; });
  return sold;
}

BasicEcon::Span PostedSlots::span(Time start, Time end) const {
  BasicEcon::Span span{.slot = floor_divide(start, config_.slot)};
  Time left = end - start;
  const Time phase = start - span.slot * config_.slot;
  if (phase > 0) {
    const Time lead = std::min(config_.slot - phase, left);
    span.lead = lead;
    left -= lead;
  }
  span.full = left / config_.slot;
  span.tail = left % config_.slot;
  return span;
}

PriceList PostedSlots::prices(const Request& request, Time now) const {
  PriceList list;
  list.slot = config_.slot;
  list.first_start = std::max({request.earliest, now, econ_.first() * config_.slot});
  if (request.duration <= 0) return list;
  const Time for_sale_until = econ_.first() * config_.slot + config_.horizon;
  const Time last_start =
      std::min(request.deadline, std::max(for_sale_until, now + config_.horizon)) -
      request.duration;
  if (last_start < list.first_start) return list;
  const BasicEcon::Span held = span(list.first_start, list.first_start + request.duration);
  const std::int64_t starts = std::min((last_start - list.first_start) / config_.slot + 1,
                                       econ_.end() - held.slot - held.slots() + 1);
  const auto combine = config_.billing_rule == BillingRule::kSum ? BasicEcon::Combine::kSum
                                                                 : BasicEcon::Combine::kMax;
  list.credits = econ_.totals(parts(request.demand.tres), held, starts, combine);
  return list;
}

/// With the lowest price of a unit in each second.
std::optional<double> PostedSlots::least_price(const Request& request) const {
  double sum = 0, most = 0;
  for (const BasicEcon::Part& part : parts(request.demand.tres)) {
    sum += part.width * part.factor;
    most = std::max(most, part.width * part.factor);
  }
  const double second = config_.billing_rule == BillingRule::kSum ? sum : most;
  return second * bounds_.floor * static_cast<double>(request.duration);
}

/// No bid is longer than the horizon; of a run that somebody made longer no more than twice the
/// horizon counts, and nothing that starts later than that, whatever the time limit says.
Time PostedSlots::sold_until(const Request& request, Time start) const {
  return start + std::min(request.duration, 2 * config_.horizon);
}

void PostedSlots::promise(const Request& request, Time start) {
  change(request, start, sold_until(request, start), +1);
}

void PostedSlots::release(const Request& request, Time start, Time from) {
  change(request, std::max(start, from), sold_until(request, start), -1);
}

void PostedSlots::change(const Request& request, Time start, Time end, double sign) {
  start = std::max(start, econ_.first() * config_.slot);
  end = std::min(end, econ_.first() * config_.slot + 4 * config_.horizon);
  if (start >= end) return;
  econ_.extend(floor_divide(end - 1, config_.slot) + 1);
  econ_.add(sold_parts(request.demand.tres), span(start, end), sign);
}

}  // namespace market
