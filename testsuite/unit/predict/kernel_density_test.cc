// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/kernel_density.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace market {
namespace {

TEST(KernelDensity, EqualsTheClosedFormInOneDimension) {
  // Two samples at ±1: variance 2, h² = (4/3)^(2/5) 2^(−2/5) 2.
  const KernelDensity density({-1, 1}, 1);
  const double h = std::sqrt(std::pow(4.0 / 3, 0.4) * std::pow(2.0, -0.4) * 2);
  const auto normal = [&](double x) {
    return std::exp(-x * x / (2 * h * h)) / (h * std::sqrt(2 * std::numbers::pi));
  };
  for (const double x : {-2.0, 0.0, 0.7}) {
    const double expected = (normal(x + 1) + normal(x - 1)) / 2;
    EXPECT_NEAR(density.density(std::span(&x, 1)), expected, 1e-12);
  }
}

TEST(KernelDensity, WeighsSamples) {
  // Samples 0 and 10 with weights 3 : 1. Mean 2.5, variance (3/4·6.25 + 1/4·56.25)/(1 − 5/8) = 50;
  // as good as n = 1/(9/16 + 1/16) = 1.6 equal samples.
  const KernelDensity density({0, 10}, 1, {6, 2});
  const double h = std::sqrt(std::pow(4.0 / 3, 0.4) * std::pow(1.6, -0.4) * 50);
  const auto normal = [&](double x) {
    return std::exp(-x * x / (2 * h * h)) / (h * std::sqrt(2 * std::numbers::pi));
  };
  for (const double x : {-3.0, 0.0, 6.0}) {
    const double expected = 0.75 * normal(x) + 0.25 * normal(x - 10);
    EXPECT_NEAR(density.density(std::span(&x, 1)), expected, 1e-12);
  }
  SeededRandom random(5);
  double mean = 0;
  for (const double x : density.draw(200'000, &random)) mean += x / 200'000;
  EXPECT_NEAR(mean, 2.5, 0.1);
  const KernelDensity one({0, 10}, 1, {1, 0});  // no spread is known: 1 % of the size
  EXPECT_NEAR(one.draw(1, &random)[0], 0, 1e-6);
}

TEST(KernelDensity, DrawsHaveTheMomentsOfSamplesAndKernel) {
  SeededRandom random(2);
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) {
    const double x = random.normal();
    samples.insert(samples.end(), {10 + x, 5 + 0.5 * x + random.normal()});
  }
  const KernelDensity density(samples, 2);
  const auto drawn = density.draw(200'000, &random);
  double mean = 0, square = 0, cross = 0;
  for (std::size_t i = 0; i < drawn.size(); i += 2) {
    mean += drawn[i] / 200'000;
    square += (drawn[i] - 10) * (drawn[i] - 10) / 200'000;
    cross += (drawn[i] - 10) * (drawn[i + 1] - 5) / 200'000;
  }
  double sample_square = 0, sample_cross = 0, sample_mean = 0;
  for (std::size_t i = 0; i < samples.size(); i += 2) {
    sample_mean += samples[i] / 400;
    sample_square += (samples[i] - 10) * (samples[i] - 10) / 400;
    sample_cross += (samples[i] - 10) * (samples[i + 1] - 5) / 400;
  }
  const double widened = 1 + std::pow(400.0, -1.0 / 3);  // d = 2: H = n^(−1/3) Σ
  EXPECT_NEAR(mean, sample_mean, 0.02);
  EXPECT_NEAR(square, sample_square * widened, 0.03);
  EXPECT_NEAR(cross, sample_cross * widened, 0.03);
}

TEST(KernelDensity, StandsDegenerateSamplesAndRefusals) {
  SeededRandom random(1);
  const KernelDensity one({100, 20, 30}, 3);
  const auto near = one.draw(100, &random);
  for (std::size_t i = 0; i < near.size(); i += 3) EXPECT_NEAR(near[i], 100, 10);
  const auto never = one.draw(3, &random, [](std::span<const double>) { return false; });
  EXPECT_EQ(never, (std::vector<double>{100, 20, 30, 100, 20, 30, 100, 20, 30}));
  const auto positive =
      KernelDensity({1, 0, 5, 0}, 2).draw(500, &random, [](std::span<const double> x) {
        return x[0] > 0;
      });
  for (std::size_t i = 0; i < positive.size(); i += 2) EXPECT_GT(positive[i], 0);
}

}  // namespace
}  // namespace market
