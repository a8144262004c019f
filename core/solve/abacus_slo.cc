// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve abacus-slo`: the prolific pool (Abacus, section 6).
#include "core/mechanism/abacus_slo.h"

#include <nlohmann/json.hpp>

#include "core/solve/abacus_instance.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

/// One auction is run for each job, so the work grows with the square of their number: this many
/// take some tens of seconds.
constexpr std::size_t kMaxJobs = 10'000;

ordered_json ids_of(const AbacusInstance& instance, const std::vector<std::size_t>& jobs) {
  auto list = ordered_json::array();
  for (std::size_t job : jobs) list.push_back(instance.ids[job]);
  return list;
}

}  // namespace

ordered_json abacus_slo(const nlohmann::json& json) {
  const AbacusInstance instance = abacus_instance(json, MinUtility::kRequired);
  if (instance.jobs.size() > kMaxJobs) throw InputError("jobs: must be at most 10000");
  const abacus::Pools pools =
      abacus::divide_pools(instance.jobs, instance.resources, instance.options, kMostAuctionWork);
  if (!pools.complete) throw InputError("jobs: their auctions take too many rounds");
  ordered_json result;
  ordered_json& order = result["order"] = ordered_json::array();
  for (std::size_t k = 0; k < pools.order.size(); ++k) {
    ordered_json place;
    place["id"] = instance.ids[pools.order[k]];
    place["density"] = pools.density[k];
    order.push_back(std::move(place));
  }
  result["prolific"] = ids_of(instance, pools.prolific);
  result["non_prolific"] = ids_of(instance, pools.others);
  add_abacus_outcome(result, instance, pools.members, pools.outcome);
  return result;
}

}  // namespace market::solving
