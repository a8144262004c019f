// SPDX-License-Identifier: GPL-2.0-or-later
// Why a job waits.
#pragma once

#include <string>

#include "core/market/site.h"

namespace market {

/// One sentence that says what would change it; `code` becomes one word for programs.
std::string explain(const Site& site, const Job& job, Time now, std::string& code);

/// What squeue shows of a job that the market holds: one of four codes; null for others.
const char* reason_of(const Site& site, const Job& job);

}  // namespace market
