// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve abacus-fit`: utility weights from past jobs (Abacus, section 5).
#include "core/mechanism/abacus_fit.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {

nlohmann::ordered_json abacus_fit(const nlohmann::json& json) {
  const Fields input(json, "", {"utility", "observations"});
  const bool is_log = input.choice("utility", {"linear", "log"}) == "log";
  const Range shares_allowed{.low = 0, .high = 1, .low_open = is_log};
  std::vector<abacus::Observation> observations;
  for (const Fields& object : input.objects("observations", {"shares", "utility"})) {
    abacus::Observation observation{object.numbers("shares", shares_allowed),
                                    object.number("utility")};
    if (!observations.empty() && observation.shares.size() != observations.front().shares.size()) {
      object.refuse("shares", "must be as many as those of the first observation");
    }
    observations.push_back(std::move(observation));
  }
  const Result<abacus::Fit> fit =
      abacus::fit_utility(is_log ? UtilityKind::kLog : UtilityKind::kLinear, observations);
  if (!fit) input.refuse("observations", fit.error().text);
  nlohmann::ordered_json result;
  result["weights"] = fit->weights;
  result["rss"] = fit->rss;
  return result;
}

}  // namespace market::solving
