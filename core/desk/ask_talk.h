// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes ask a price, and see what their nodes bring.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/ledger/ledger.h"
#include "core/market/admission.h"
#include "core/market/site.h"

namespace market {

/// `ask` holds "nodes", "price", "tres" and "token", a text that the asker made up: the request is
/// queued for the books, and who asked comes again with the same token while the answer "waits".
nlohmann::ordered_json post_ask(Site& site, const Admission& admission,
                                const nlohmann::ordered_json& ask, const market_submission_t& asker,
                                Time now);

/// A row for each node with an owner; of those whose account the asker may not see only what it
/// asks.
nlohmann::ordered_json owners_answer(const Site& site, const ledger::EarningsQuestion& question,
                                     const ledger::EarningsPage& page);

}  // namespace market
