// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/utility.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace market {
namespace {

TEST(Utility, LinearAndLogValues) {
  const std::vector<double> shares = {0.5, 0.25};
  EXPECT_DOUBLE_EQ(Utility::linear({3, 2}).value(shares), 2);
  EXPECT_DOUBLE_EQ(Utility::log({1, 2}).value(shares), std::log(0.5) + 2 * std::log(0.25));
  EXPECT_DOUBLE_EQ(Utility::log({1, 0}).value(std::vector<double>{0.5, 0}), std::log(0.5));
  EXPECT_EQ(Utility::log({1, 1}).value(std::vector<double>{0, 1}),
            -std::numeric_limits<double>::infinity());
}

TEST(Utility, PullIsShareTimesSlope) {
  constexpr double kStep = 1e-6;
  const ConcaveTerm root{[](double s) { return std::sqrt(s); },
                         [](double s) { return 0.5 * std::sqrt(s); }};
  for (const Utility& utility :
       {Utility::linear({3}), Utility::log({3}), Utility::concave({{root, root}})}) {
    const double share = 0.3;
    const std::vector<double> less = {share - kStep};
    const std::vector<double> more = {share + kStep};
    const double slope = (utility.value(more) - utility.value(less)) / (2 * kStep);
    EXPECT_NEAR(utility.pull(0, share), share * slope, 1e-8);
  }
}

TEST(Utility, EqualShareNeeded) {
  EXPECT_DOUBLE_EQ(Utility::linear({1, 3}).equal_share_for(1), 0.25);
  EXPECT_EQ(Utility::linear({1, 3}).equal_share_for(-1), 0);
  EXPECT_DOUBLE_EQ(Utility::log({1, 1}).equal_share_for(-2), std::exp(-1));
  const ConcaveTerm root{[](double s) { return std::sqrt(s); },
                         [](double s) { return 0.5 * std::sqrt(s); }};
  const Utility concave = Utility::concave({{root}, {root}});
  EXPECT_NEAR(concave.equal_share_for(1), 0.25, 1e-15);
  EXPECT_EQ(concave.equal_share_for(0), 0);
  EXPECT_EQ(concave.equal_share_for(3), std::numeric_limits<double>::infinity());
}

TEST(Utility, ConcaveWeightsTellWhatIsWanted) {
  const ConcaveTerm root{[](double s) { return std::sqrt(s); },
                         [](double s) { return 0.5 * std::sqrt(s); }};
  const ConcaveTerm constant{[](double) { return 7.0; }, [](double) { return 0.0; }};
  const Utility utility = Utility::concave({{root}, {}, {constant}});
  EXPECT_EQ(utility.weights()[0], 1);
  EXPECT_EQ(utility.weights()[1], 0);
  EXPECT_EQ(utility.weights()[2], 0);
}

}  // namespace
}  // namespace market
