// SPDX-License-Identifier: GPL-2.0-or-later
// What of a job's options the market is asked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "contrib/smarket/verbs.h"
#include "core/util/result.h"

namespace market::smarket {

/// The question for a quote. Fails with the option that is wrong.
Result<nlohmann::json> quote_query(const QuoteArguments& arguments);
/// A time as it was typed, as an instant; "" of "". Times are read here, in the user's zone, as sbatch
/// does.
Result<std::string> instant_of(std::string_view option, std::string_view text);

}  // namespace market::smarket
