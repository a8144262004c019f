// SPDX-License-Identifier: GPL-2.0-or-later
// Showing what the market answered.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "contrib/client/ask.h"
#include "contrib/smarket/output.h"

namespace market::smarket {

using client::ask_market;

/// Prints an answer whose "text" is a sentence for a person; with --json everything else.
int show_answer(const Common& common, const Result<nlohmann::json>& answer);
/// Prints what a job would cost, in each of the partitions that were named.
int show_quotes(const Common& common, const Result<nlohmann::json>& answer);
/// Prints a price that is held.
int show_held(const Common& common, const Result<nlohmann::json>& answer);
/// Prints a menu, and writes a picture of it into the file `svg`, unless that is "".
int show_menu(const Common& common, const Result<nlohmann::json>& answer, const std::string& svg);
/// Prints the prices of each of the partitions that were named.
int show_prices(const Common& common, const Result<nlohmann::json>& answer);

}  // namespace market::smarket
