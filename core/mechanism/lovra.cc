// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/lovra.h"

#include <cmath>
#include <cstddef>

namespace market {
namespace {

/// Settles the dimensions that compete for no budget; the others are marked open by −√(l b) in
/// `shares`. Returns the budget left, negative when the node does not qualify.
double settle_fixed(const LovraProblem& problem, std::span<double> shares) {
  double left = problem.budget;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (problem.demand[k] > problem.available[k]) return -1;
    if (problem.workload[k] == 0) {
      shares[k] = problem.demand[k];
      left -= problem.prices[k] * problem.demand[k];
    } else if (problem.prices[k] == 0) {
      shares[k] = problem.available[k];
    } else {
      shares[k] = -std::sqrt(problem.workload[k] * problem.prices[k]);
    }
  }
  return left;
}

/// Eq. (27) on the open dimensions, fixing those above what is available, until none is.
void share_budget(const LovraProblem& problem, double budget, std::span<double> shares) {
  for (bool clipped = true; clipped;) {
    clipped = false;
    double roots = 0;
    for (const double share : shares) roots -= share < 0 ? share : 0;
    if (roots == 0) return;
    const double scale = budget / roots;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (shares[k] >= 0 || -shares[k] / problem.prices[k] * scale <= problem.available[k])
        continue;
      shares[k] = problem.available[k];
      budget -= problem.prices[k] * problem.available[k];
      clipped = true;
    }
    if (clipped) continue;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (shares[k] < 0) shares[k] = -shares[k] / problem.prices[k] * scale;
    }
  }
}

}  // namespace

bool lovra(const LovraProblem& problem, std::span<double> shares, LovraShares* result) {
  const double budget = settle_fixed(problem, shares);
  if (budget < 0) return false;
  share_budget(problem, budget, shares);
  LovraShares found;
  found.meets_demand = true;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    found.payment_unit += problem.prices[k] * shares[k];
    if (shares[k] < problem.demand[k] * (1 - 1e-9)) found.meets_demand = false;
    if (problem.workload[k] == 0) continue;
    if (!(shares[k] > 0)) return false;
    found.execution_time += problem.workload[k] / shares[k];
  }
  found.payment = found.payment_unit * found.execution_time;
  if (std::isnan(found.payment)) return false;
  *result = found;
  return true;
}

}  // namespace market
