// SPDX-License-Identifier: GPL-2.0-or-later
// The options --workload and --malleable.
#pragma once

#include <string_view>

#include "core/util/result.h"
#include "core/words/malleable.h"

namespace market {

/// Reads `workload`, "cpu:16:00,mem:4:00:00" (CPU-time and GB-time in Slurm's durations), and
/// `range`, "cpu:1-16,mem:4G-32G". What only the workload names stays as the job asks for it. Fails,
/// naming the option, what was typed and what is allowed.
Result<Malleable> parse_malleable(std::string_view workload, std::string_view range);

}  // namespace market
