// SPDX-License-Identifier: GPL-2.0-or-later
// Distribution of the valuation types seen so far in one job class: multivariate kernel density
// estimate
// ("BIC pricing by replica-surrogate matching", section III-B).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/util/seeded_random.h"

namespace market {

/// Gaussian kernel density with the normal-scale bandwidth matrix H = (4/(d+2))^(2/(d+4))
/// n^(−2/(d+4)) Σ, Σ the sample covariance: the choice that minimises the asymptotic mean
/// integrated squared error when the truth is normal (Wand and Jones, "Kernel Smoothing", 1995,
/// chapter 4; for d = 2 the same as Scott's rule). The paper prints |H|^(−1/2)(x − d) inside the
/// kernel for H^(−1/2)(x − d).
class KernelDensity {
 public:
  /// `samples`: at least one vector of `dimensions` finite numbers, one after another. Where the
  /// samples do not vary (one sample, or all equal in some direction) the kernel is 1 % of their
  /// size wide instead.
  /// `weights`: how much each sample counts, positive; none: all the same. n is then the number of
  /// equal samples that would tell as much, (Σ weight)² ÷ Σ weight². With weights
  /// a draw hardly moves when a sample comes or goes, if they are in the order of their values.
  KernelDensity(std::vector<double> samples, std::size_t dimensions,
                std::vector<double> weights = {});

  std::size_t dimensions() const { return dimensions_; }
  std::size_t samples() const { return samples_.size() / dimensions_; }

  /// Estimated density at `point`; O(n d).
  double density(std::span<const double> point) const;

  /// `count` vectors drawn from the estimate, one after another. Draws that `valid` refuses are
  /// repeated; after 1,000 refusals in a row a sample itself is taken, so that this always ends.
  std::vector<double> draw(std::size_t count, SeededRandom* random,
                           const std::function<bool(std::span<const double>)>& valid = {}) const;

 private:
  std::size_t pick(SeededRandom* random) const;

  bool by_weight_;
  std::vector<double> samples_;
  std::size_t dimensions_;
  std::vector<double> weights_;   ///< sum 1
  std::vector<double> up_to_;     ///< sums of weights; empty: none were given
  std::vector<double> factor_;    ///< lower triangle L of H = L Lᵀ, row after row
  std::vector<double> whitened_;  ///< L⁻¹ applied to each sample
  double log_height_ = 0;         ///< log of one kernel's peak divided by n
};

}  // namespace market
