// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/era.h"

#include <algorithm>

#include "core/predict/spread.h"

namespace market {
namespace {

constexpr double kSecondsPerHour = 3600;
/// Different prices kept in a forecast; more would only make quotes slower.
constexpr std::size_t kPriceLevels = 128;
constexpr std::int64_t kMostPeriods = 168;

/// The cycle in periods of whole slots, as many as kMostPeriods allows and such that they fill it.
struct Periods {
  std::int64_t slots_each = 1;
  std::int64_t count = 1;

  explicit Periods(const Config& config) {
    const std::int64_t slots = std::max<std::int64_t>(1, config.predictor_cycle / config.slot);
    slots_each = (slots + kMostPeriods - 1) / kMostPeriods;
    while (slots % slots_each != 0) ++slots_each;
    count = slots / slots_each;
  }
};

}  // namespace

Era::Era(const Config& config) : PostedSlots(config, {config.floor_price, config.cap_price}) {}

void Era::learn(const std::vector<PastBid>& bids, Time now) {
  const Periods periods(config());
  const auto period = static_cast<double>(periods.slots_each * config().slot);
  std::map<std::string, std::vector<PastDemand>, std::less<>> demands;
  Time oldest = now;
  for (const PastBid& bid : bids) {
    const double billing_hours =
        billing(bid.tres) * static_cast<double>(bid.duration) / kSecondsPerHour;
    if (bid.submitted < now - config().predictor_history || billing_hours <= 0) continue;
    oldest = std::min(oldest, bid.submitted);
    const Time end = std::max(bid.deadline, bid.earliest + bid.duration);
    for (const auto& [name, amount] : bid.tres) {
      if (amount <= 0) continue;
      demands[std::string(good_name(name))].push_back(
          {.begin = static_cast<double>(bid.earliest) / period,
           .end = static_cast<double>(end) / period,
           .duration = static_cast<double>(bid.duration) / period,
           .width = static_cast<double>(amount),
           .price = bid.value / billing_hours});
    }
  }
  const double cycles =
      static_cast<double>(now - oldest) / (period * static_cast<double>(periods.count));
  std::map<std::string, Forecast, std::less<>> forecasts;
  for (auto& [name, wanted] : demands) {
    merge_prices(wanted, kPriceLevels);
    SpreadPredictor predictor(static_cast<std::size_t>(periods.count));
    predictor.learn(wanted, std::max(1.0, cycles));
    Forecast& forecast = forecasts[name];
    forecast.slots_per_curve = periods.slots_each;
    for (std::int64_t i = 0; i < periods.count; ++i) {
      forecast.curves.push_back(predictor.curve(static_cast<std::size_t>(i)));
    }
  }
  set_forecasts(std::move(forecasts));
}

}  // namespace market
