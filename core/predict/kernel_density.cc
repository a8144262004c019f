// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/kernel_density.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

namespace market {
namespace {

constexpr double kSmallestSpread = 0.01;
constexpr double kNoSpread = 1e-12;  // of the weights: one sample has all of it
constexpr int kMostRefusals = 1000;

/// x with L x = point, for the lower triangle L.
void solve_lower(std::span<const double> factor, std::span<const double> point,
                 std::span<double> x) {
  const std::size_t dimensions = point.size();
  for (std::size_t i = 0; i < dimensions; ++i) {
    double rest = point[i];
    for (std::size_t k = 0; k < i; ++k) rest -= factor[i * dimensions + k] * x[k];
    x[i] = rest / factor[i * dimensions + i];
  }
}

/// Weights that sum to 1.
std::vector<double> normalised(std::vector<double> weights, std::size_t count) {
  if (weights.empty()) weights.assign(count, 1.0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// How many samples of equal weight would tell as much.
double equal_samples(std::span<const double> weights) {
  const double squares = std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
  return 1 / squares;
}

/// Sample covariance, row after row; zero for a single sample.
std::vector<double> covariance_of(std::span<const double> samples, std::size_t dimensions,
                                  std::span<const double> weights, std::span<double> mean) {
  const std::size_t count = samples.size() / dimensions;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      mean[i] += weights[s] * samples[s * dimensions + i];
    }
  }
  std::vector<double> covariance(dimensions * dimensions, 0.0);
  const double unbiased = 1 - 1 / equal_samples(weights);
  if (count < 2 || unbiased <= kNoSpread) return covariance;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      const double di = samples[s * dimensions + i] - mean[i];
      for (std::size_t k = 0; k <= i; ++k) {
        covariance[i * dimensions + k] +=
            weights[s] * di * (samples[s * dimensions + k] - mean[k]) / unbiased;
      }
    }
  }
  return covariance;
}

/// Lower Cholesky factor of `matrix` (its lower triangle is read); pivots are kept at least
/// `least`.
std::vector<double> cholesky(std::span<const double> matrix, std::span<const double> least) {
  const std::size_t dimensions = least.size();
  std::vector<double> factor(matrix.size(), 0.0);
  for (std::size_t i = 0; i < dimensions; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double rest = matrix[i * dimensions + k];
      for (std::size_t m = 0; m < k; ++m) {
        rest -= factor[i * dimensions + m] * factor[k * dimensions + m];
      }
      factor[i * dimensions + k] = i == k ? std::sqrt(std::max(rest, least[i] * least[i]))
                                          : rest / factor[k * dimensions + k];
    }
  }
  return factor;
}

}  // namespace

KernelDensity::KernelDensity(std::vector<double> samples, std::size_t dimensions,
                             std::vector<double> weights)
    : by_weight_(!weights.empty()),
      samples_(std::move(samples)),
      dimensions_(dimensions),
      weights_(normalised(std::move(weights), this->samples())) {
  if (by_weight_) std::partial_sum(weights_.begin(), weights_.end(), std::back_inserter(up_to_));
  const double count = equal_samples(weights_);
  const auto d = static_cast<double>(dimensions_);
  std::vector<double> mean(dimensions_, 0.0);
  std::vector<double> bandwidth = covariance_of(samples_, dimensions_, weights_, mean);
  const double scale = std::pow(4 / (d + 2), 2 / (d + 4)) * std::pow(count, -2 / (d + 4));
  std::vector<double> least(dimensions_);
  for (std::size_t i = 0; i < dimensions_; ++i) {
    // A direction counts as one in which the samples do not vary when rounding is all that is left
    // of it.
    const double deviation = std::sqrt(bandwidth[i * dimensions_ + i]);
    const double size = std::max(std::abs(mean[i]), 1e-9);
    least[i] =
        deviation > 1e-9 * size ? 1e-6 * deviation * std::sqrt(scale) : kSmallestSpread * size;
  }
  for (double& entry : bandwidth) entry *= scale;
  factor_ = cholesky(bandwidth, least);

  log_height_ = -d / 2 * std::log(2 * std::numbers::pi);
  for (std::size_t i = 0; i < dimensions_; ++i) {
    log_height_ -= std::log(factor_[i * dimensions_ + i]);
  }
  whitened_.resize(samples_.size());
  for (std::size_t s = 0; s < samples_.size(); s += dimensions_) {
    solve_lower(factor_, std::span(samples_).subspan(s, dimensions_),
                std::span(whitened_).subspan(s, dimensions_));
  }
}

double KernelDensity::density(std::span<const double> point) const {
  std::vector<double> x(dimensions_);
  solve_lower(factor_, point, x);
  double sum = 0;
  for (std::size_t s = 0; s < whitened_.size(); s += dimensions_) {
    double square = 0;
    for (std::size_t i = 0; i < dimensions_; ++i) {
      const double distance = x[i] - whitened_[s + i];
      square += distance * distance;
    }
    sum += weights_[s / dimensions_] * std::exp(-square / 2);
  }
  return sum * std::exp(log_height_);
}

/// A sample, each as likely as its weight.
std::size_t KernelDensity::pick(SeededRandom* random) const {
  if (!by_weight_) return random->below(samples());
  const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), random->uniform());
  return std::min(static_cast<std::size_t>(found - up_to_.begin()), samples() - 1);
}

std::vector<double> KernelDensity::draw(
    std::size_t count, SeededRandom* random,
    const std::function<bool(std::span<const double>)>& valid) const {
  std::vector<double> drawn(count * dimensions_);
  std::vector<double> noise(dimensions_);
  for (std::size_t s = 0; s < count; ++s) {
    const auto point = std::span(drawn).subspan(s * dimensions_, dimensions_);
    for (int refusals = 0;; ++refusals) {
      const std::size_t centre = pick(random) * dimensions_;
      std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(centre), dimensions_,
                  point.begin());
      if (refusals == kMostRefusals) break;
      for (double& z : noise) z = random->normal();
      for (std::size_t i = 0; i < dimensions_; ++i) {
        for (std::size_t k = 0; k <= i; ++k) point[i] += factor_[i * dimensions_ + k] * noise[k];
      }
      if (!valid || valid(point)) break;
    }
  }
  return drawn;
}

}  // namespace market
