// SPDX-License-Identifier: GPL-2.0-or-later
// The core's log: one callback. The plugins forward it to Slurm's log, the tools to stderr.
#pragma once

#include <functional>
#include <string>

namespace market {

enum class LogLevel { kError, kInfo, kDebug };

/// Must be callable from any thread and must not call back into the market.
using Log = std::function<void(LogLevel, const std::string&)>;

}  // namespace market
