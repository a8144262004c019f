// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/hard_deadline.h"

#include <gtest/gtest.h>

namespace market {
namespace {

TEST(HardDeadline, AllUpToTheDeadlineNothingAfter) {
  const HardDeadline value{40, 3600};
  EXPECT_EQ(value.value_at(0), 40);
  EXPECT_EQ(value.value_at(3600), 40);
  EXPECT_EQ(value.value_at(3600.001), 0);
}

}  // namespace
}  // namespace market
