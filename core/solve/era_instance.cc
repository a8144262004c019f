// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/solve/era_instance.h"

#include <nlohmann/json.hpp>

namespace market::solving {
namespace {

/// Slots are kept one by one; more of them would only exhaust the memory.
constexpr std::int64_t kMaxHorizon = 10'000'000;

}  // namespace

std::size_t era_horizon(const Fields& input) {
  return static_cast<std::size_t>(input.integer("horizon", 1, kMaxHorizon));
}

std::vector<EraRequest> era_requests(const Fields& input, std::size_t horizon) {
  const auto objects = input.objects(
      "requests", {"id", "width", "duration", "arrival", "deadline", "value"}, Empty::kAllowed);
  std::vector<std::string> ids = unique_ids(objects);
  std::vector<EraRequest> requests;
  requests.reserve(objects.size());
  for (const Fields& object : objects) {
    EraRequest& request = requests.emplace_back();
    request.id = std::move(ids[requests.size() - 1]);
    request.width = static_cast<double>(object.integer("width", 1));
    request.duration = static_cast<std::size_t>(object.integer("duration", 1));
    request.arrival = static_cast<std::size_t>(object.integer("arrival", 0));
    request.deadline = static_cast<std::size_t>(object.integer("deadline", 0));
    if (request.deadline > horizon) object.refuse("deadline", "must not be after the horizon");
    if (request.deadline <= request.arrival) object.refuse("deadline", "must be after the arrival");
    request.value = object.number("value", kNotNegative);
  }
  return requests;
}

nlohmann::ordered_json era_demand(const std::vector<DemandCurve>& curves) {
  auto slots = nlohmann::ordered_json::array();
  for (const DemandCurve& curve : curves) {
    auto steps = nlohmann::ordered_json::array();
    for (const DemandStep& step : curve) {
      auto pair = nlohmann::ordered_json::array();
      pair.push_back(step.quantity);
      pair.push_back(step.price);
      steps.push_back(std::move(pair));
    }
    slots.push_back(std::move(steps));
  }
  return slots;
}

}  // namespace market::solving
