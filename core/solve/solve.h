// SPDX-License-Identifier: GPL-2.0-or-later
// One mechanism, one JSON in, one JSON out: what `smarket solve` does. No database, no Slurm, no
// randomness.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"

namespace market {

/// Solves one instance of `mechanism` given as JSON text; the result is one JSON object. Fails with
/// one line that names the field ("jobs[0].budget: must be > 0") when the mechanism is unknown, the
/// text is not JSON, or a rule is broken.
Result<std::string> solve(std::string_view mechanism, std::string_view json_text);

/// Names that solve() knows.
std::vector<std::string_view> solve_mechanisms();

}  // namespace market
