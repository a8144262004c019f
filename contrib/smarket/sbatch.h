// SPDX-License-Identifier: GPL-2.0-or-later
// sbatch, run for a bid whose price and place are kept already.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/util/result.h"

namespace market::smarket {

/// Runs "sbatch --parsable" with these words; the number of the job. What sbatch says on stderr is the
/// error; in the variables of the environment no other bid is left.
Result<std::uint32_t> run_sbatch(const std::vector<std::string>& words);

}  // namespace market::smarket
