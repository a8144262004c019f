// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve era`: reservations at demand-driven prices (ERA, Algorithm 1).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/mechanism/basic_econ.h"
#include "core/solve/era_instance.h"
#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

DemandCurve curve_at(const json& value, const std::string& path) {
  if (!value.is_array()) throw InputError(path + ": must be a list of [quantity, price]");
  DemandCurve curve;
  for (const json& pair : value) {
    const std::string place = path + "[" + std::to_string(curve.size()) + "]";
    if (!pair.is_array() || pair.size() != 2)
      throw InputError(place + ": must be [quantity, price]");
    const DemandStep step{number_at(pair[0], place + "[0]", kPositive),
                          number_at(pair[1], place + "[1]", kNotNegative)};
    if (!curve.empty() && step.price > curve.back().price)
      throw InputError(place + "[1]: prices must not increase");
    curve.push_back(step);
  }
  return curve;
}

std::vector<DemandCurve> demand_of(const Fields& input, std::size_t horizon) {
  if (!input.has("demand")) return std::vector<DemandCurve>(horizon);
  const json& slots = input.list("demand");
  if (slots.size() != horizon)
    input.refuse("demand", "must have one curve for every slot of the horizon");
  std::vector<DemandCurve> demand;
  demand.reserve(horizon);
  for (const json& slot : slots)
    demand.push_back(curve_at(slot, "demand[" + std::to_string(demand.size()) + "]"));
  return demand;
}

std::vector<double> promised_of(const Fields& input, std::size_t horizon) {
  if (!input.has("promised")) return std::vector<double>(horizon);
  std::vector<double> promised = input.numbers("promised", kNotNegative);
  if (promised.size() != horizon)
    input.refuse("promised", "must have one number for every slot of the horizon");
  return promised;
}

ordered_json or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

/// A total of doubles may not overflow, whatever start is taken.
void refuse_overflow(const Fields& input, const std::vector<DemandCurve>& demand,
                     const std::vector<EraRequest>& requests) {
  constexpr double kLargestTotal = 1e300;
  double highest = 0;
  for (const DemandCurve& curve : demand) {
    if (!curve.empty()) highest = std::max(highest, curve.front().price);
  }
  for (const EraRequest& request : requests) {
    if (highest * request.width * static_cast<double>(request.duration) > kLargestTotal)
      input.refuse("demand", "prices times what is requested are too large");
  }
}

/// Quotes one request and, when its value reaches the quote, promises it.
ordered_json decide(BasicEcon& econ, const EraRequest& request) {
  const BasicEcon::Part parts[] = {{.good = 0, .width = request.width}};
  BasicEcon::Span span{.slot = static_cast<std::int64_t>(request.arrival),
                       .full = static_cast<std::int64_t>(request.duration)};
  const auto starts = static_cast<std::int64_t>(request.deadline - request.arrival) - span.full + 1;
  const std::vector<double> totals = econ.totals(parts, span, starts, BasicEcon::Combine::kSum);
  const auto cheapest = std::min_element(totals.begin(), totals.end());
  double quote = std::numeric_limits<double>::infinity();
  if (cheapest != totals.end() && std::isfinite(*cheapest)) {
    span.slot += cheapest - totals.begin();
    quote = econ.total(parts, span, BasicEcon::Combine::kSum);
  }
  const bool accepted = std::isfinite(quote) && request.value >= quote;
  if (accepted) econ.add(parts, span, +1);

  ordered_json decision;
  decision["id"] = request.id;
  decision["accepted"] = accepted;
  decision["price"] = accepted ? ordered_json(quote) : ordered_json(nullptr);
  decision["start"] = accepted ? ordered_json(span.slot) : ordered_json(nullptr);
  decision["quote"] = or_null(quote);
  return decision;
}

}  // namespace

ordered_json era(const json& instance) {
  const Fields input(instance, "", {"capacity", "horizon", "demand", "promised", "requests"});
  const double capacity = input.number("capacity", kPositive);
  const std::size_t horizon = era_horizon(input);
  const std::vector<DemandCurve> demand = demand_of(input, horizon);
  const std::vector<double> promised = promised_of(input, horizon);
  const std::vector<EraRequest> requests = era_requests(input, horizon);
  refuse_overflow(input, demand, requests);

  PriceCurves curves;
  for (std::size_t slot = 0; slot < horizon; ++slot)
    curves.add(demand[slot], capacity, promised[slot], {});
  BasicEcon econ(0, static_cast<std::int64_t>(horizon), 1);
  econ.add_good(std::move(curves), 1);

  ordered_json result;
  result["decisions"] = ordered_json::array();
  for (const EraRequest& request : requests) result["decisions"].push_back(decide(econ, request));
  result["promised"] = ordered_json::array();
  for (std::size_t slot = 0; slot < horizon; ++slot) {
    result["promised"].push_back(promised[slot] +
                                 econ.promised(0, static_cast<std::int64_t>(slot)));
  }
  return result;
}

}  // namespace market::solving
