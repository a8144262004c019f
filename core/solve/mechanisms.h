// SPDX-License-Identifier: GPL-2.0-or-later
// The entry of every mechanism that solve() knows. To add one: a file with the function, a line
// here, a line in solve.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace market::solving {

/// Reads an instance, throws InputError (json_fields.h) when it breaks a rule, and returns the
/// result.
using Solver = nlohmann::ordered_json (*)(const nlohmann::json& input);

nlohmann::ordered_json abacus(const nlohmann::json& input);
nlohmann::ordered_json abacus_fit(const nlohmann::json& input);
nlohmann::ordered_json abacus_slo(const nlohmann::json& input);
nlohmann::ordered_json contracts(const nlohmann::json& input);
nlohmann::ordered_json dva(const nlohmann::json& input);
nlohmann::ordered_json era(const nlohmann::json& input);
nlohmann::ordered_json era_predict(const nlohmann::json& input);
nlohmann::ordered_json tycoon_allocate(const nlohmann::json& input);
nlohmann::ordered_json tycoon_bid(const nlohmann::json& input);
nlohmann::ordered_json tycoon_reserve(const nlohmann::json& input);

}  // namespace market::solving
