// SPDX-License-Identifier: GPL-2.0-or-later
// Questions to the market inside slurmctld, over Slurm's own authenticated will-run call: no
// daemon, no port of our own.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/util/result.h"

namespace market::client {

/// Sends one query and returns the market's answer, an object with "ok" true. Fails with the
/// market's own reason, or with why it could not be asked.
Result<nlohmann::json> ask_market(const nlohmann::json& query);

/// As ask_market(), but an answer with "ok" false is one too.
Result<nlohmann::json> hear_market(const nlohmann::json& query);

}  // namespace market::client
