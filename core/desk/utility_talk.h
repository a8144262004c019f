// SPDX-License-Identifier: GPL-2.0-or-later
// Users see what was learned of their jobs' utilities, and have it forgotten.
#pragma once

#include <nlohmann/json.hpp>

#include "core/market/site.h"

namespace market {

/// A row for each name of the asker's jobs, of an operator for everybody's; `ask` may hold a "name".
nlohmann::ordered_json show_utilities(const Site& site, const nlohmann::ordered_json& ask,
                                      const market_submission_t& asker);

/// Forgets the runs of the asker's jobs of a "name". Runs that go on will count again.
nlohmann::ordered_json forget_utility(Site& site, const nlohmann::ordered_json& ask,
                                      const market_submission_t& asker);

}  // namespace market
