// SPDX-License-Identifier: GPL-2.0-or-later
// Credits go to a host of another cluster with a receipt, and come with one (Tycoon, section 3.2).
#pragma once

#include "core/desk/json.h"
#include "core/market/admission.h"
#include "core/market/site.h"
#include "core/mechanism/tycoon_receipt.h"

namespace market {

/// `ask` holds "account", "to" ("CLUSTER:HOST/USER"), "credits" and "token", as change_pots(). The
/// answer to one that is written has the "receipt", signed anew each time; `ask` with "again" is for
/// one that was written before.
Json send_credits(Site& site, const Admission& admission, const Json& ask,
                  const market_submission_t& asker, Time now);

/// A receipt as send_credits() wrote it; fails naming what is missing.
Result<tycoon::Receipt> read_receipt(const Json& ask);
/// Fails unless a cluster that is trusted here wrote it for this user at this host. Whether it was
/// presented before, the books know.
Result<void> check_receipt(const Site& site, const tycoon::Receipt& receipt,
                           const std::string& host, std::string_view user);
/// The cluster that wrote it, in small letters.
std::string cluster_of(const tycoon::Receipt& receipt);

}  // namespace market
