// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/utility_wish.h"

#include <gtest/gtest.h>

namespace market {
namespace {

using Weights = std::map<std::string, double, std::less<>>;

TEST(UtilityWish, ReadsWeightsOfTres) {
  const auto linear = parse_utility("cpu:3,mem:2");
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->weights, (Weights{{"cpu", 3}, {"mem", 2}}));
  EXPECT_FALSE(linear->is_log);
  const auto log = parse_utility("gres/gpu:a100:0.5,cpu:0,log");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->weights, (Weights{{"cpu", 0}, {"gres/gpu:a100", 0.5}}));
  EXPECT_TRUE(log->is_log);
}

TEST(UtilityWish, SaysWhatIsAllowed) {
  for (const char* text : {"", "cpu", "cpu:", "cpu:0", "log", "log,cpu:3", "cpu:3,log,log",
                           "cpu:3,", "cpu:-1", "cpu:1e3", "cpu:nan", "cpu:inf", "cores:3",
                           "gres/:2", "cpu:3,cpu:2", "cpu:3, mem:2", "cpu:3\n"}) {
    const auto refused = parse_utility(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().text.find("such as cpu:3,mem:2"), std::string::npos);
    EXPECT_EQ(refused.error().text.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(parse_utility(std::string(300, '1')));
}

}  // namespace
}  // namespace market
