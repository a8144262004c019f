// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>

namespace market::abacus {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRankTolerance = 1e-10;
/// Slopes of the residual below this part of ||column||·||target|| are rounding.
constexpr double kSlopeTolerance = 1e-13;
constexpr Index kSmallMatrix = 32;

bool full_rank(const MatrixXd& triangle) {
  VectorXd singular;
  if (triangle.cols() <= kSmallMatrix) {
    singular = Eigen::JacobiSVD<MatrixXd>(triangle).singularValues();
  } else {
    singular = Eigen::BDCSVD<MatrixXd>(triangle).singularValues();
  }
  return singular(singular.size() - 1) >= kRankTolerance * singular(0) && singular(0) > 0;
}

/// Least squares over the columns in `free`, zeros elsewhere.
VectorXd solve_free(const MatrixXd& triangle, const VectorXd& target,
                    const std::vector<Index>& free) {
  VectorXd solution = VectorXd::Zero(triangle.cols());
  if (free.empty()) return solution;
  const MatrixXd columns = triangle(Eigen::all, free);
  solution(free) = columns.householderQr().solve(target);
  return solution;
}

std::vector<Index> free_columns(const std::vector<bool>& is_free) {
  std::vector<Index> free;
  for (std::size_t j = 0; j < is_free.size(); ++j) {
    if (is_free[j]) free.push_back(static_cast<Index>(j));
  }
  return free;
}

/// Lawson and Hanson's active-set search. Ends because every outer step lowers the residual and no
/// set of free columns can come back; the bound on the steps is for rounding only.
class ActiveSet {
 public:
  ActiveSet(const MatrixXd& triangle, const VectorXd& target)
      : triangle_(triangle),
        target_(target),
        is_free_(static_cast<std::size_t>(triangle.cols()), false),
        is_barred_(static_cast<std::size_t>(triangle.cols()), false),
        least_slope_(kSlopeTolerance * target.norm() * triangle.colwise().norm().transpose()),
        weights_(VectorXd::Zero(triangle.cols())) {}

  VectorXd solve() {
    if (take_unconstrained()) return weights_;
    const Index most_steps = 3 * triangle_.cols() + 30;
    for (Index step = 0; step < most_steps; ++step) {
      const Index column = best_column();
      if (column < 0) break;
      is_free_[static_cast<std::size_t>(column)] = true;
      settle(column);
    }
    return weights_;
  }

 private:
  /// The common case: plain least squares has no negative weight.
  bool take_unconstrained() {
    const VectorXd solution = triangle_.triangularView<Eigen::Upper>().solve(target_);
    if ((solution.array() < 0).any()) return false;
    weights_ = solution;
    return true;
  }

  Index best_column() const {
    const VectorXd gradient = triangle_.transpose() * (target_ - triangle_ * weights_);
    Index best = -1;
    for (Index j = 0; j < gradient.size(); ++j) {
      const auto column = static_cast<std::size_t>(j);
      if (is_free_[column] || is_barred_[column] || gradient(j) <= least_slope_(j)) continue;
      if (best < 0 || gradient(j) > gradient(best)) best = j;
    }
    return best;
  }

  /// Moves to the least squares of the free columns, fixing those at 0 that would turn negative.
  /// A column that turns negative just when it is freed, which only rounding can do, is barred.
  void settle(Index entered) {
    while (true) {
      const std::vector<Index> free = free_columns(is_free_);
      const VectorXd solution = solve_free(triangle_, target_, free);
      double step = 1;
      for (Index j : free) {
        if (solution(j) > 0) continue;
        if (j == entered && weights_(j) == 0) {
          is_free_[static_cast<std::size_t>(j)] = false;
          is_barred_[static_cast<std::size_t>(j)] = true;
          return;
        }
        step = std::min(step, weights_(j) / (weights_(j) - solution(j)));
      }
      if (step >= 1) {
        weights_ = solution;
        return;
      }
      fix_at_zero(free, solution, step);
    }
  }

  void fix_at_zero(const std::vector<Index>& free, const VectorXd& solution, double step) {
    Index smallest = free.front();
    for (Index j : free) {
      weights_(j) += step * (solution(j) - weights_(j));
      if (solution(j) <= 0 && (solution(smallest) > 0 || weights_(j) < weights_(smallest))) {
        smallest = j;
      }
    }
    for (Index j : free) {
      if (solution(j) > 0 || weights_(j) > weights_(smallest)) continue;
      weights_(j) = 0;
      is_free_[static_cast<std::size_t>(j)] = false;
    }
  }

  const MatrixXd& triangle_;
  const VectorXd& target_;
  std::vector<bool> is_free_;
  std::vector<bool> is_barred_;
  VectorXd least_slope_;
  VectorXd weights_;
};

}  // namespace

Result<Fit> fit_non_negative(std::span<const double> matrix, std::span<const double> target) {
  const Index rows = static_cast<Index>(target.size());
  const Index columns = rows > 0 ? static_cast<Index>(matrix.size()) / rows : 0;
  if (columns == 0 || rows < columns) {
    return fail("fewer rows (" + std::to_string(rows) + ") than columns (" +
                std::to_string(columns) + ")");
  }
  const Eigen::Map<const MatrixXd> all(matrix.data(), rows, columns);
  const Eigen::Map<const VectorXd> wanted(target.data(), rows);
  if (!all.allFinite() || !wanted.allFinite()) return fail("values must be finite");
  const Eigen::HouseholderQR<MatrixXd> decomposition(all);
  const MatrixXd triangle =
      decomposition.matrixQR().topRows(columns).triangularView<Eigen::Upper>();
  if (!full_rank(triangle)) return fail("shares do not tell the resources apart (rank too small)");
  // A power of two keeps squares of the target within the range of doubles and changes no digit.
  const double largest = wanted.cwiseAbs().maxCoeff();
  const double scale = largest > 0 ? std::ldexp(1, std::min(-std::ilogb(largest), 1000)) : 1;
  VectorXd rotated = wanted * scale;
  rotated.applyOnTheLeft(decomposition.householderQ().adjoint());
  const VectorXd head = rotated.head(columns);
  const VectorXd scaled_weights = ActiveSet(triangle, head).solve();
  const VectorXd weights = scaled_weights / scale;
  Fit fit;
  fit.weights.assign(weights.begin(), weights.end());
  fit.rss = (wanted * scale - all * scaled_weights).squaredNorm() / scale / scale;
  return fit;
}

Result<Fit> fit_utility(UtilityKind kind, const std::vector<Observation>& observations) {
  if (observations.empty()) return fail("no observations");
  const std::size_t rows = observations.size();
  const std::size_t columns = observations.front().shares.size();
  std::vector<double> matrix(rows * columns);
  std::vector<double> target(rows);
  for (std::size_t l = 0; l < rows; ++l) {
    target[l] = observations[l].utility;
    for (std::size_t j = 0; j < columns; ++j) {
      const double share = observations[l].shares[j];
      matrix[j * rows + l] = kind == UtilityKind::kLog ? std::log(share) : share;
    }
  }
  return fit_non_negative(matrix, target);
}

}  // namespace market::abacus
