// SPDX-License-Identifier: GPL-2.0-or-later
// Showing what the market answered.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "contrib/client/ask.h"
#include "contrib/smarket/output.h"

namespace market::smarket {

using client::ask_market;

/// Prints an answer: its text for a person, or with --json everything but the text.
int show_answer(const Common& common, const Result<nlohmann::json>& answer);

}  // namespace market::smarket
