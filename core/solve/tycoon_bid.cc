// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve tycoon-bid`: the best response over hosts (Tycoon, section 3.4.1).
#include "core/mechanism/tycoon_bid.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {

nlohmann::ordered_json tycoon_bid(const nlohmann::json& json) {
  const Fields input(json, "", {"budget", "min_margin", "hosts"});
  const double budget = input.number("budget", kNotNegative);
  const double min_margin = input.number_or("min_margin", 0, kNotNegative);
  const auto objects = input.objects("hosts", {"id", "weight", "others"});
  const std::vector<std::string> ids = unique_ids(objects);
  std::vector<tycoon::HostOffer> offers;
  offers.reserve(objects.size());
  for (const Fields& object : objects) {
    offers.push_back(
        {object.number("weight", kNotNegative), object.number("others", kNotNegative)});
  }
  const Result<tycoon::Response> response = tycoon::best_response(budget, min_margin, offers);
  if (!response) throw InputError(response.error().text);
  nlohmann::ordered_json result;
  result["utility"] = response->utility;
  result["margin"] = nullptr;
  if (response->margin) result["margin"] = *response->margin;
  result["unspent"] = response->unspent;
  nlohmann::ordered_json& hosts = result["hosts"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    nlohmann::ordered_json host;
    host["id"] = ids[i];
    host["bid"] = response->hosts[i].bid;
    host["share"] = response->hosts[i].share;
    hosts.push_back(std::move(host));
  }
  return result;
}

}  // namespace market::solving
