// SPDX-License-Identifier: GPL-2.0-or-later
// Questions to the market inside slurmctld, over Slurm's own authenticated will-run call: no
// daemon, no port of our own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "contrib/smarket/output.h"
#include "core/util/result.h"

namespace market::smarket {

/// Sends one query and returns the market's answer, an object with "ok" true. Fails with the
/// market's own reason, or with why it could not be asked.
Result<nlohmann::json> ask_market(const nlohmann::json& query);

/// Prints an answer: its text for a person, or with --json everything but the text.
int show_answer(const Common& common, const Result<nlohmann::json>& answer);

}  // namespace market::smarket
