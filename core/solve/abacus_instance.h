// SPDX-License-Identifier: GPL-2.0-or-later
// What the instances of `abacus` and `abacus-slo` have in common.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/mechanism/abacus.h"
#include "core/mechanism/abacus_slo.h"
#include "core/solve/json_fields.h"

namespace market::solving {

/// Rounds × jobs × resources that are done in about a minute.
constexpr double kMostAuctionWork = 5e9;

struct AbacusInstance {
  abacus::Options options;
  std::size_t resources = 0;
  std::vector<std::string> ids;
  std::vector<abacus::SloJob> jobs;
};

enum class MinUtility { kIgnored, kRequired };

/// Reads the whole input; throws InputError as the specification of `smarket solve abacus` says.
AbacusInstance abacus_instance(const nlohmann::json& json, MinUtility min_utility);

/// Adds "rounds", "converged" and "jobs" to `result`; row k of the outcome is job members[k].
void add_abacus_outcome(nlohmann::ordered_json& result, const AbacusInstance& instance,
                        const std::vector<std::size_t>& members, const abacus::Outcome& outcome);

}  // namespace market::solving
