// SPDX-License-Identifier: GPL-2.0-or-later
// What a job gains from its shares of the resources: linear, log, or any sum of concave functions.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace market {

/// One term g of a utility, for one resource: non-decreasing and concave in the share, 0..1,
/// differentiable inside.
struct ConcaveTerm {
  std::function<double(double share)> value;  ///< g(s)
  /// s·g'(s), the limit where g' itself is infinite (log: the weight, also at s = 0).
  std::function<double(double share)> pull;
};

enum class UtilityKind : unsigned char { kLinear, kLog, kConcave };

/// Utility of a job as the sum over resources of one function of its share each (Abacus, section
/// 3).
class Utility {
 public:
  /// Σ w_j s_j. Weights finite and >= 0.
  static Utility linear(std::vector<double> weights);
  /// Σ w_j ln s_j; terms with weight 0 are 0. Weights finite and >= 0.
  static Utility log(std::vector<double> weights);
  /// Σ_j Σ_k g_jk(s_j): for each resource a list of terms, which may be empty.
  static Utility concave(std::vector<std::vector<ConcaveTerm>> terms);

  UtilityKind kind() const { return kind_; }
  std::size_t resources() const { return weights_.size(); }
  /// Weights of linear and log; for concave 1 where the resource adds anything, else 0.
  std::span<const double> weights() const { return weights_; }

  /// Value for one share per resource; −infinity for a log term without a share.
  double value(std::span<const double> shares) const;
  /// s·∂u/∂s of one resource at share s.
  double pull(std::size_t resource, double share) const;
  /// The most that any shares can give.
  double largest() const;
  /// The smallest x so that a share x of every resource gives `utility`: 0 when even nothing does,
  /// above 1 or infinite when even everything does not. Needs a positive weight
  /// (solve.md, abacus-slo, rule 1; bisection to the last bit for concave terms).
  double equal_share_for(double utility) const;

 private:
  Utility(UtilityKind kind, std::vector<double> weights);

  UtilityKind kind_;
  std::vector<double> weights_;
  std::vector<std::vector<ConcaveTerm>> terms_;
};

}  // namespace market
