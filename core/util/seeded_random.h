// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers that are the same everywhere for the same seed: the standard fixes its engines but
// not its distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace market {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Uniform in 0 .. bound − 1; requires bound >= 1.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t unfair = engine_.max() - engine_.max() % bound;
    std::uint64_t drawn = engine_();
    while (drawn >= unfair) drawn = engine_();
    return drawn % bound;
  }

  /// Standard normal (Marsaglia's polar method).
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = uniform(-1, 1);
      y = uniform(-1, 1);
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = y * factor;
    has_spare_ = true;
    return x * factor;
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace market
