// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve abacus`: the budget auction (Abacus, section 4).
#include "core/mechanism/abacus.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/solve/abacus_instance.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

/// As many rounds as asked for, but of those beyond the default only what is done in a minute.
abacus::Outcome run_within_limit(const abacus::Auction& auction, abacus::Options options) {
  const std::size_t wanted = options.max_rounds;
  const double limit = kMostAuctionWork / static_cast<double>(auction.jobs() * auction.resources());
  if (limit < static_cast<double>(wanted)) {
    options.max_rounds =
        std::min(wanted, std::max(abacus::Options().max_rounds, static_cast<std::size_t>(limit)));
  }
  abacus::Outcome outcome = abacus::run(auction, options);
  if (!outcome.converged && outcome.rounds < wanted) {
    throw InputError(fmt::format("max_rounds: must be at most {} here, since they do not converge",
                                 outcome.rounds));
  }
  return outcome;
}

}  // namespace

nlohmann::ordered_json abacus(const nlohmann::json& input) {
  const AbacusInstance instance = abacus_instance(input, MinUtility::kIgnored);
  abacus::Auction auction(instance.resources);
  auction.reserve(instance.jobs.size());
  for (const abacus::SloJob& job : instance.jobs) auction.add(job.budget, job.utility);
  std::vector<std::size_t> everybody(instance.jobs.size());
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  nlohmann::ordered_json result;
  add_abacus_outcome(result, instance, everybody, run_within_limit(auction, instance.options));
  return result;
}

}  // namespace market::solving
