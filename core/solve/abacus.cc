// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve abacus`: the budget auction (Abacus, section 4).
#include "core/mechanism/abacus.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/solve/abacus_instance.h"
#include "core/solve/mechanisms.h"

namespace market::solving {

nlohmann::ordered_json abacus(const nlohmann::json& input) {
  const AbacusInstance instance = abacus_instance(input, MinUtility::kIgnored);
  abacus::Auction auction(instance.resources);
  auction.reserve(instance.jobs.size());
  for (const abacus::SloJob& job : instance.jobs) auction.add(job.budget, job.utility);
  std::vector<std::size_t> everybody(instance.jobs.size());
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  nlohmann::ordered_json result;
  add_abacus_outcome(result, instance, everybody, abacus::run(auction, instance.options));
  return result;
}

}  // namespace market::solving
