// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_draw.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace market::abacus {
namespace {

TEST(AbacusDraw, SameSeedSameTasks) {
  const std::vector<double> shares = {0.1, 0.4, 0.2, 0.3};
  std::mt19937_64 one(7);
  std::mt19937_64 other(7);
  EXPECT_EQ(draw_jobs(shares, 4, one), draw_jobs(shares, 4, other));
}

TEST(AbacusDraw, UniformNumbersAreTheUpper53BitsOfTheGenerator) {
  // The 10000th draw of a default mt19937_64 is fixed by the C++ standard.
  std::mt19937_64 random;
  random.discard(9999);
  EXPECT_EQ(uniform(random),
            (static_cast<double>(9981545732273789042ull >> 11) + 0.5) / 9007199254740992.0);
}

TEST(AbacusDraw, NobodyTwiceAndNobodyWithoutAShare) {
  std::mt19937_64 random(1);
  const std::vector<double> shares = {0.5, 0, 0.25, 0.25};
  const auto drawn = draw_jobs(shares, 10, random);
  EXPECT_EQ(std::set<std::size_t>(drawn.begin(), drawn.end()), (std::set<std::size_t>{0, 2, 3}));
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_TRUE(draw_jobs({}, 3, random).empty());
  EXPECT_TRUE(draw_jobs(shares, 0, random).empty());
}

/// 200000 seeded draws of two out of three: each ordered pair has probability p_a · p_b/(1 − p_a);
/// chi-square with 5 degrees of freedom below 20.5 (99.9 %).
TEST(AbacusDraw, PairsComeWithTheProbabilitiesOfDrawingInTurn) {
  const std::array<double, 3> shares = {0.6, 0.3, 0.1};
  std::array<std::array<int, 3>, 3> seen{};
  std::mt19937_64 random(99);
  constexpr int kDraws = 200000;
  for (int k = 0; k < kDraws; ++k) {
    const auto drawn = draw_jobs(shares, 2, random);
    ++seen[drawn[0]][drawn[1]];
  }
  double chi_square = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      const double expected = kDraws * shares[a] * shares[b] / (1 - shares[a]);
      chi_square += (seen[a][b] - expected) * (seen[a][b] - expected) / expected;
    }
  }
  EXPECT_LT(chi_square, 20.5);
}

}  // namespace
}  // namespace market::abacus
