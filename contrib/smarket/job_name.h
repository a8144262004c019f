// SPDX-License-Identifier: GPL-2.0-or-later
// A job as a person names it.
#pragma once

#include <string>

#include "core/util/result.h"

namespace market::smarket {

/// "1234" or "12_3" as it is; fails with what is allowed.
Result<std::string> job_name_of(const std::string& text);

}  // namespace market::smarket
