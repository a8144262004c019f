// SPDX-License-Identifier: GPL-2.0-or-later
// What all requests for changes of the books have in common.
#pragma once

#include <string>

#include "core/desk/json.h"
#include "core/util/result.h"

namespace market {

/// The token under which the asker comes again.
Result<std::string> token_in(const Json& ask);
/// Tells the asker to come again with it.
Json waits();

}  // namespace market
