// SPDX-License-Identifier: GPL-2.0-or-later
// What the instances of `era` and `era-predict` have in common.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/predict/demand_predictor.h"
#include "core/solve/json_fields.h"

namespace market::solving {

/// "I need `width` units for `duration` slots somewhere in [arrival, deadline) and will pay at most
/// `value`."
struct EraRequest {
  std::string id;
  double width = 0;
  std::size_t duration = 0;
  std::size_t arrival = 0;
  std::size_t deadline = 0;
  double value = 0;

  /// Value per unit and slot.
  double unit_value() const { return value / (width * static_cast<double>(duration)); }
};

/// Field "horizon": number of slots.
std::size_t era_horizon(const Fields& input);

/// Field "requests", which may be empty; throws InputError as the specification of `smarket solve
/// era` says.
std::vector<EraRequest> era_requests(const Fields& input, std::size_t horizon);

/// Method "lp" of `smarket solve era-predict`: objective, demand and allocation. Throws InputError
/// when the instance has too many variables.
nlohmann::ordered_json era_predict_lp(double capacity, std::size_t horizon,
                                      const std::vector<EraRequest>& requests);

/// Curves as the field "demand" writes them: per slot a list of [quantity, price].
nlohmann::ordered_json era_demand(const std::vector<DemandCurve>& curves);

}  // namespace market::solving
