// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/era.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/predict/lp_predictor.h"
#include "core/predict/spread.h"

namespace market {
namespace {

/// Different prices kept in a forecast; more would only make quotes slower.
constexpr std::size_t kPriceLevels = 128;
constexpr std::int64_t kMostPeriods = 168;

}  // namespace

/// The cycle in periods of whole slots, as many as kMostPeriods allows and such that they fill it.
struct Era::Periods {
  std::int64_t slots_each = 1;
  std::int64_t count = 1;

  explicit Periods(const MarketSettings& config) {
    const std::int64_t slots = std::max<std::int64_t>(1, config.predictor_cycle / config.slot);
    slots_each = (slots + kMostPeriods - 1) / kMostPeriods;
    while (slots % slots_each != 0) ++slots_each;
    count = slots / slots_each;
  }
};

Era::Era(const MarketSettings& config)
    : PostedSlots(config, {config.floor_price, config.cap_price}) {}

PriceList Era::prices(const Request& request, Time now) const {
  PriceList list = PostedSlots::prices(request, now);
  const double rate = config().late_penalty / kSecondsPerHour;
  if (!(rate > 0)) return list;
  const double hours = static_cast<double>(request.duration) / kSecondsPerHour;
  const double most = billing(actual(request.demand.tres)) * hours * config().cap_price;
  const double step = std::exp(rate * static_cast<double>(list.slot));
  double penalty = std::exp(rate * static_cast<double>(list.first_start - now));
  for (double& credits : list.credits) {
    if (credits < std::numeric_limits<double>::infinity())
      credits = std::max(credits, std::min(credits * penalty, most));
    penalty *= step;
  }
  return list;
}

void Era::add_demands(const PastBid& bid, double period, Demands& demands) const {
  const Amounts amounts = actual(bid.tres);
  const double billing_hours =
      billing(amounts) * static_cast<double>(bid.duration) / kSecondsPerHour;
  if (billing_hours <= 0) return;
  const Time end = std::min(std::max(bid.deadline, bid.earliest + bid.duration),
                            bid.earliest + config().horizon);
  for (const auto& [name, amount] : amounts) {
    if (amount <= 0 || is_shared(name)) continue;
    demands[std::string(good_name(name))].push_back(
        {.begin = static_cast<double>(bid.earliest) / period,
         .end = static_cast<double>(end) / period,
         .duration = static_cast<double>(bid.duration) / period,
         .width = amount * bid.weight,
         .price = std::min(bid.value / billing_hours, config().cap_price)});
  }
}

PostedSlots::Forecast Era::forecast_of(const std::string& good, std::vector<PastDemand>& wanted,
                                       const Periods& periods, double cycles) const {
  merge_prices(wanted, kPriceLevels);
  const auto count = static_cast<std::size_t>(periods.count);
  const double capacity = capacity_of(good);
  std::unique_ptr<DemandPredictor> predictor;
  if (config().predictor == "lp" && capacity > 0 &&
      capacity < std::numeric_limits<double>::infinity()) {
    predictor = std::make_unique<LpPredictor>(count, capacity);
  } else {
    predictor = std::make_unique<SpreadPredictor>(count);
  }
  predictor->learn(wanted, cycles);
  Forecast forecast;
  forecast.slots_per_curve = periods.slots_each;
  for (std::size_t i = 0; i < count; ++i) forecast.curves.push_back(predictor->curve(i));
  return forecast;
}

void Era::learn(const std::vector<PastBid>& bids, Time now) {
  const Periods periods(config());
  const auto period = static_cast<double>(periods.slots_each * config().slot);
  Demands demands;
  Time oldest = now;
  for (const PastBid& bid : bids) {
    const bool sellable = bid.duration > 0 && bid.duration <= config().horizon &&
                          bid.earliest <= now + config().horizon;
    if (bid.submitted < now - config().predictor_history || !sellable) continue;
    if (!bid.is_prior) oldest = std::min(oldest, bid.submitted);
    add_demands(bid, period, demands);
  }
  const double cycles =
      static_cast<double>(now - oldest) / (period * static_cast<double>(periods.count));
  std::map<std::string, Forecast, std::less<>> forecasts;
  for (auto& [name, wanted] : demands) {
    forecasts[name] = forecast_of(name, wanted, periods, std::max(1.0, cycles));
  }
  set_forecasts(std::move(forecasts));
}

}  // namespace market
