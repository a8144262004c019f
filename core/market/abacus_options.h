// SPDX-License-Identifier: GPL-2.0-or-later
// What a bid in abacus may say more than others: --utility, --array-budget, and with service levels --deadline.
#pragma once

#include "core/market/offer.h"
#include "core/market/site.h"

namespace market {

/// Puts what the submission says of them into the draft, whose request and account are known. Fails with
/// one line that names the option where another mechanism takes the bid, where it cannot be read, or
/// where it names what is not for sale.
Result<void> take_abacus_options(const Site& site, const market_submission_t& submission,
                                 Draft& draft);

}  // namespace market
