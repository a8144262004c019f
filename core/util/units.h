// SPDX-License-Identifier: GPL-2.0-or-later
// Spans of time in seconds, as Slurm counts them. Prices are for an hour.
#pragma once

#include <cstdint>

namespace market {

inline constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
// For rates: what is asked for an hour, times seconds, by this.
inline constexpr double kSecondsPerHour = 3600;

}  // namespace market
