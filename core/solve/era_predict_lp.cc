// SPDX-License-Identifier: GPL-2.0-or-later
// Method "lp" of `smarket solve era-predict`: demand from the best allocation of past requests.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/predict/allocation_lp.h"
#include "core/solve/era_instance.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

/// Most variables (slots in all windows together); exact search over more would take minutes.
constexpr std::size_t kMostVariables = 200'000;

/// Quantities up to this are left out of the demand.
constexpr double kNoQuantity = 1e-9;

/// Per slot what each price gets, prices decreasing.
std::vector<DemandCurve> allocated_demand(const SlotAllocation& allocation,
                                          const std::vector<SlotRequest>& requests,
                                          std::size_t horizon) {
  std::vector<std::map<double, double, std::greater<>>> demand(horizon);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto units = allocation.units(i);
    for (std::size_t k = 0; k < units.size(); ++k) {
      if (units[k] > 0) demand[requests[i].arrival + k][requests[i].price] += units[k];
    }
  }
  std::vector<DemandCurve> curves(horizon);
  for (std::size_t slot = 0; slot < horizon; ++slot) {
    for (const auto& [price, quantity] : demand[slot]) {
      if (quantity > kNoQuantity) curves[slot].push_back({quantity, price});
    }
  }
  return curves;
}

}  // namespace

ordered_json era_predict_lp(double capacity, std::size_t horizon,
                            const std::vector<EraRequest>& past) {
  std::vector<SlotRequest> requests;
  requests.reserve(past.size());
  std::size_t variables = 0;
  double widths = 0;
  for (const EraRequest& request : past) {
    requests.push_back({request.arrival, request.deadline, request.width,
                        request.width * static_cast<double>(request.duration),
                        request.unit_value()});
    variables += request.deadline - request.arrival;
    widths += request.width;
    if (variables > kMostVariables) {
      throw InputError(fmt::format(
          "requests: their windows must have at most {} slots in all with method \"lp\"",
          kMostVariables));
    }
  }
  // More than all could use makes no difference but to what counts as nothing.
  const SlotAllocation allocation =
      best_allocation(requests, std::vector<double>(horizon, std::min(capacity, widths)));
  ordered_json result;
  result["objective"] = allocation.objective(requests);
  result["demand"] = era_demand(allocated_demand(allocation, requests, horizon));
  result["allocation"] = ordered_json::array();
  for (std::size_t i = 0; i < past.size(); ++i) {
    const auto units = allocation.units(i);
    result["allocation"].push_back(
        {{"id", past[i].id}, {"units", std::vector<double>(units.begin(), units.end())}});
  }
  return result;
}

}  // namespace market::solving
