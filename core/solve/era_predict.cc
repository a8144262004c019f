// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve era-predict`: demand curves from past requests (ERA, section 3.2).
#include <nlohmann/json.hpp>

#include "core/predict/spread.h"
#include "core/solve/era_instance.h"
#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

ordered_json spread(double /*capacity*/, std::size_t horizon,
                    const std::vector<EraRequest>& requests) {
  std::vector<PastDemand> demands;
  demands.reserve(requests.size());
  for (const EraRequest& request : requests) {
    demands.push_back({.begin = static_cast<double>(request.arrival),
                       .end = static_cast<double>(request.deadline),
                       .duration = static_cast<double>(request.duration),
                       .width = request.width,
                       .price = request.unit_value()});
  }
  SpreadPredictor predictor(horizon);
  predictor.learn(demands, 1);
  std::vector<DemandCurve> curves;
  for (std::size_t slot = 0; slot < horizon; ++slot) curves.push_back(predictor.curve(slot));
  ordered_json result;
  result["demand"] = era_demand(curves);
  return result;
}

struct Method {
  std::string_view name;
  ordered_json (*predict)(double capacity, std::size_t horizon,
                          const std::vector<EraRequest>& requests);
};

/// Every method of prediction that an instance may ask for.
constexpr Method kMethods[] = {
    {"spread", &spread},
    {"lp", &era_predict_lp},
};

const Method& method_of(const Fields& input) {
  const std::string name = input.text("method");
  std::string names;
  for (const Method& method : kMethods) {
    if (method.name == name) return method;
    names += (names.empty() ? "\"" : ", \"") + std::string(method.name) + "\"";
  }
  input.refuse("method", "must be one of " + names);
}

}  // namespace

ordered_json era_predict(const nlohmann::json& json) {
  const Fields input(json, "", {"method", "capacity", "horizon", "requests"});
  const Method& method = method_of(input);
  const double capacity = input.number("capacity", kPositive);
  const std::size_t horizon = era_horizon(input);
  return method.predict(capacity, horizon, era_requests(input, horizon));
}

}  // namespace market::solving
