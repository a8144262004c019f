// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/lovra_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace market {
namespace {

constexpr double kStepRounding =
    1e-9;  // steps that are less than this short of whole ones are whole

bool grows(const LovraProblem& problem, std::size_t k) {
  return problem.workload[k] > 0 && problem.prices[k] > 0;
}

double whole(double steps) {
  return std::max(0.0, std::floor(steps + kStepRounding * (1 + steps)));
}

double cost(const LovraProblem& problem, std::span<const double> shares) {
  double sum = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) sum += problem.prices[k] * shares[k];
  return sum;
}

/// Spends what is left on one dimension; false when it pays for no step of any.
bool spend_rest(const LovraProblem& problem, std::span<const double> steps,
                std::span<double> shares) {
  const double left = problem.budget - cost(problem, shares);
  std::size_t best = shares.size();
  double best_share = 0, best_saving = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (!grows(problem, k)) continue;
    const double room = std::max(0.0, problem.available[k] - shares[k]) / steps[k];
    const double paid = std::max(0.0, left) / (problem.prices[k] * steps[k]);
    const double share = shares[k] + whole(std::min(room, paid)) * steps[k];
    const double saving = problem.workload[k] / shares[k] - problem.workload[k] / share;
    if (!(saving > best_saving)) continue;
    best = k;
    best_share = share;
    best_saving = saving;
  }
  if (best == shares.size()) return false;
  shares[best] = best_share;
  return true;
}

}  // namespace

bool lovra_in_steps(const LovraProblem& problem, std::span<const double> steps,
                    std::span<double> shares, LovraShares* result) {
  std::vector<double> available(problem.available.begin(), problem.available.end());
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (problem.demand[k] > available[k]) return false;
    if (problem.prices[k] == 0) available[k] = problem.demand[k];
  }
  LovraProblem priced = problem;
  priced.available = available;
  LovraShares found;
  if (!lovra(priced, shares, &found) || !found.meets_demand) return false;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (!grows(problem, k)) continue;
    shares[k] = problem.demand[k] + whole((shares[k] - problem.demand[k]) / steps[k]) * steps[k];
    if (!(shares[k] > 0)) return false;
  }
  while (spend_rest(priced, steps, shares)) {
  }
  found.payment_unit = cost(problem, shares);
  found.execution_time = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (problem.workload[k] > 0) found.execution_time += problem.workload[k] / shares[k];
  }
  found.payment = found.payment_unit * found.execution_time;
  *result = found;
  return std::isfinite(found.payment);
}

}  // namespace market
