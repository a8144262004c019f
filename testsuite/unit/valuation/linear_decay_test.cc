// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/linear_decay.h"

#include <gtest/gtest.h>

namespace market {
namespace {

TEST(LinearDecay, FullThenFallingThenNothing) {
  const LinearDecay decay{60, 0.01};
  EXPECT_EQ(decay.utility_at(0), 1);
  EXPECT_EQ(decay.utility_at(60), 1);
  EXPECT_DOUBLE_EQ(decay.utility_at(85), 0.75);
  EXPECT_DOUBLE_EQ(decay.zero_from(), 160);
  EXPECT_NEAR(decay.utility_at(160), 0, 1e-15);
  EXPECT_EQ(decay.utility_at(1e9), 0);
}

TEST(LinearDecay, TaskUtilityWeighsWaitingAgainstRunning) {
  const TaskUtility task{{60, 0.01}, {100, 0.005}, 0.25};
  EXPECT_DOUBLE_EQ(task.utility_at(0, 0), 1);
  EXPECT_DOUBLE_EQ(task.utility_at(110, 200), 0.25 * 0.5 + 0.75 * 0.5);
  EXPECT_DOUBLE_EQ(task.utility_at(1e6, 0), 0.75);
}

}  // namespace
}  // namespace market
