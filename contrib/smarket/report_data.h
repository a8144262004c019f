// SPDX-License-Identifier: GPL-2.0-or-later
// What the page of --report shows, as JSON of bounded size.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "contrib/smarket/simulation.h"

namespace market::smarket {

/// The jobs that the page's plan shows: those with the most core-seconds, in the order of their
/// submission. At most 2,000, and less of many mechanisms.
std::vector<sim::JobIndex> choose_shown(const Scenario& scenario);

nlohmann::json report_data(const Scenario& scenario, const std::vector<Simulated>& runs);

/// The whole page around `data`. Empty where this build has no library of charts.
std::string report_page(const nlohmann::json& data);
bool has_report_page();

}  // namespace market::smarket
