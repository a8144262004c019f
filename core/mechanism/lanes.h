// SPDX-License-Identifier: GPL-2.0-or-later
// Single-precision numbers worked on four at a time, eight branches to a fork: what the trees over
// nodes compare before they look at a node in double precision.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace market {

/// Four branches of a fork; the compiler works on all four at once.
using Lanes = float __attribute__((vector_size(16)));
/// What comparing Lanes gives: −1 where it holds, else 0.
using Flags = std::int32_t __attribute__((vector_size(16)));

constexpr std::size_t kLanes = 4, kGroups = 2, kBranches = kGroups * kLanes;
constexpr std::size_t kBits = 3;  ///< binary digits of a branch's place in its fork

/// A bit for each branch whose flag is not set.
inline unsigned unset(const Flags (&flags)[kGroups]) {
  const Flags places = (~flags[0] & Flags{1, 2, 4, 8}) | (~flags[1] & Flags{16, 32, 64, 128});
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(places);
  const std::uint64_t both = halves[0] | halves[1];
  return static_cast<unsigned>(both | both >> 32) & 255;
}

/// The largest finite float that is not above `value`.
inline float below(double value) {
  constexpr float most = std::numeric_limits<float>::max();
  if (value >= most) return most;
  const auto nearest = static_cast<float>(value);
  return nearest > value ? std::nextafter(nearest, -most) : nearest;
}

/// The smallest float, or infinity, that is not below `value`.
inline float above(double value) {
  constexpr float most = std::numeric_limits<float>::max();
  if (value > most) return std::numeric_limits<float>::infinity();
  const auto nearest = static_cast<float>(value);
  return nearest < value ? std::nextafter(nearest, most) : nearest;
}

}  // namespace market
