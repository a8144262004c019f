// SPDX-License-Identifier: GPL-2.0-or-later
// Learning a job's utility from how its predecessors did.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/util/result.h"
#include "core/valuation/utility.h"

namespace market::abacus {

/// One finished job: its average share of each resource over its life and the utility it reached.
struct Observation {
  std::vector<double> shares;  ///< 0..1 (Abacus, Definition 1); > 0 for log
  double utility = 0;
};

struct Fit {
  std::vector<double> weights;  ///< >= 0; those at the bound are exactly 0
  double rss = 0;               ///< sum of the squared residuals
};

/// argmin over x >= 0 of ||matrix·x − target||², `matrix` stored column after column with
/// target.size() rows: an active-set search on the triangle of one QR decomposition, so that its
/// cost hardly depends on the number of rows. Needs full column rank; fails when the smallest
/// singular value is below 1e-10 times the largest, there are fewer rows than columns, or a value
/// is not finite.
Result<Fit> fit_non_negative(std::span<const double> matrix, std::span<const double> target);

/// Weights of a linear or log utility (Abacus, section 5, equation 2, with the weights >= 0 of
/// section 3; rules of solve.md, abacus-fit). All observations have equally many shares. Fails as
/// fit_non_negative does.
Result<Fit> fit_utility(UtilityKind kind, const std::vector<Observation>& observations);

}  // namespace market::abacus
