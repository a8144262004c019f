// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/recurrent.h"

#include <gtest/gtest.h>

namespace market {
namespace {

TEST(Recurrent, DeadlineIsProportionalToTheWorkload) {
  const RecurrentTemplate jobs{10, 60};
  EXPECT_EQ(jobs.for_workload(5).deadline, 300);
  EXPECT_EQ(jobs.value_at(5, 300), 10);
  EXPECT_EQ(jobs.value_at(5, 301), 0);
  EXPECT_EQ(jobs.value_at(10, 301), 10);
}

}  // namespace
}  // namespace market
