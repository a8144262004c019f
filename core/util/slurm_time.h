// SPDX-License-Identifier: GPL-2.0-or-later
// Times and durations as Slurm's tools read and print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/util/result.h"

namespace market {

/// Slurm's durations: "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S", in seconds. Fails on anything
/// else.
Result<std::int64_t> parse_duration(std::string_view text);

/// sbatch's time formats for --begin and --deadline: "HH:MM[:SS] [AM|PM]", "MMDDYY", "MM/DD[/YY]",
/// "YYYY-MM-DD[THH:MM[:SS]]", "now[+count[seconds|minutes|hours|days|weeks]]", "today", "tomorrow",
/// "midnight", "noon", "fika", "teatime", "uts…". A time of day that has passed means tomorrow.
/// Local zone of the process. Fails on anything else.
Result<std::int64_t> parse_time(std::string_view text, std::int64_t now);

/// "[D-]HH:MM:SS", as sacct prints Elapsed.
std::string format_duration(std::int64_t seconds);

/// "YYYY-MM-DDTHH:MM:SS" in the local zone.
std::string format_time(std::int64_t time);

/// "YYYY-MM-DDTHH:MM:SS+HH:MM", in the local zone with its offset (RFC 3339), for programs.
std::string format_time_with_offset(std::int64_t time);

/// For a person: "15:40" today, "tomorrow 02:00", else "2026-11-30T07:30"; seconds shown only when
/// they are not 0.
std::string format_time_short(std::int64_t time, std::int64_t now);

}  // namespace market
