// SPDX-License-Identifier: GPL-2.0-or-later
// Questions to the market that it cannot answer at once, since the books must be read or written.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/util/result.h"

namespace market::client {

/// Asks until the ledger's thread has looked: first with the question, which gives a ticket, then
/// with that.
Result<nlohmann::json> ask_books(const nlohmann::json& question);

/// Sends a request for a change of the books, under its token or one that is made up here and added to
/// it, until the ledger has answered; the same token changes nothing twice.
Result<nlohmann::json> change_books(nlohmann::json request);

}  // namespace market::client
