// SPDX-License-Identifier: GPL-2.0-or-later
// Users fund pots at hosts, change how fast they are spent, close and see them.
#pragma once

#include <nlohmann/json.hpp>

#include "core/market/admission.h"
#include "core/market/site.h"

namespace market {

/// `ask` holds "action" ("fund", "interval", "close"), "hosts" (comma list), and of "credits",
/// "interval", "tres", "account", "user" what the action needs, and "token", a text that the asker
/// made up: as post_ask().
nlohmann::ordered_json change_pots(Site& site, const Admission& admission,
                                   const nlohmann::ordered_json& ask,
                                   const market_submission_t& asker, Time now);

/// A row for each pot of the asker, and of the accounts that the asker manages.
nlohmann::ordered_json show_pots(Site& site, const Admission& admission,
                                 const nlohmann::ordered_json& ask,
                                 const market_submission_t& asker);

/// What the host of pots tells everybody: capacity, spent rate, price, number of pots, by good.
nlohmann::ordered_json goods_of(const Site& site, PotExchange& exchange,
                                const std::string& partition);

}  // namespace market
