// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/utility.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace market {

namespace {

/// A share small enough for a concave function to show all the slope it has.
constexpr double kTinyShare = 1e-9;

}  // namespace

Utility::Utility(UtilityKind kind, std::vector<double> weights)
    : kind_(kind), weights_(std::move(weights)) {}

Utility Utility::linear(std::vector<double> weights) {
  return Utility(UtilityKind::kLinear, std::move(weights));
}

Utility Utility::log(std::vector<double> weights) {
  return Utility(UtilityKind::kLog, std::move(weights));
}

Utility Utility::concave(std::vector<std::vector<ConcaveTerm>> terms) {
  Utility utility(UtilityKind::kConcave, std::vector<double>(terms.size(), 0.0));
  utility.terms_ = std::move(terms);
  for (std::size_t j = 0; j < utility.weights_.size(); ++j) {
    utility.weights_[j] = utility.pull(j, kTinyShare) > 0 ? 1.0 : 0.0;
  }
  return utility;
}

double Utility::value(std::span<const double> shares) const {
  double sum = 0;
  for (std::size_t j = 0; j < weights_.size(); ++j) {
    if (kind_ == UtilityKind::kLinear) {
      sum += weights_[j] * shares[j];
    } else if (kind_ == UtilityKind::kLog) {
      if (weights_[j] > 0) sum += weights_[j] * std::log(shares[j]);
    } else {
      for (const ConcaveTerm& term : terms_[j]) sum += term.value(shares[j]);
    }
  }
  return sum;
}

double Utility::pull(std::size_t resource, double share) const {
  if (kind_ == UtilityKind::kLinear) return weights_[resource] * share;
  if (kind_ == UtilityKind::kLog) return weights_[resource];
  double sum = 0;
  for (const ConcaveTerm& term : terms_[resource]) sum += term.pull(share);
  return sum;
}

double Utility::largest() const {
  return value(std::vector<double>(weights_.size(), 1.0));
}

double Utility::equal_share_for(double utility) const {
  const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  if (kind_ == UtilityKind::kLinear) return std::max(0.0, utility / total);
  if (kind_ == UtilityKind::kLog) return std::exp(utility / total);
  std::vector<double> shares(weights_.size(), 0.0);
  if (value(shares) >= utility) return 0;
  if (largest() < utility) return std::numeric_limits<double>::infinity();
  double low = 0;
  double high = 1;
  for (double middle = 0.5; middle > low && middle < high; middle = low + (high - low) / 2) {
    std::fill(shares.begin(), shares.end(), middle);
    (value(shares) >= utility ? high : low) = middle;
  }
  return high;
}

}  // namespace market
