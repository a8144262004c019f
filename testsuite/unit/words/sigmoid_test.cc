// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/sigmoid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace market {
namespace {

Sigmoid value_of(std::string_view text) {
  const auto value = Sigmoid::parse(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(Sigmoid{});
}

void expect_reading(std::string_view text, std::int64_t drop, std::int64_t zero) {
  const Sigmoid value = value_of(text);
  EXPECT_EQ(value.drop, drop) << text;
  EXPECT_EQ(value.zero, zero) << text;
}

TEST(Sigmoid, ValuesAtTheNamedPoints) {
  const Sigmoid value = value_of("100:60:120");  // minutes
  EXPECT_NEAR(value.value_at(3600), 99.0, 1e-9);
  EXPECT_NEAR(value.value_at(5400), 50.0, 1e-9);
  EXPECT_NEAR(value.value_at(7200), 1.0, 1e-9);
  EXPECT_GT(value.value_at(0), 99.9);
  EXPECT_EQ(value.value_at(1e9), 0.0);
}

TEST(Sigmoid, ReadsTheColonsOfDurations) {
  EXPECT_EQ(value_of("38.90:60:120").max, Money::from_micro(38'900'000));
  expect_reading("40:2:00:00:4:00:00", 7200, 14400);
  expect_reading("40:60:120", 3600, 7200);
  expect_reading("40:60:00:120:00", 3600, 7200);
  expect_reading("40:30:1:00:00", 1800, 3600);
  expect_reading("40:1:00:2:00:00", 60, 7200);
  expect_reading("40:0:1-0", 0, 86400);
  expect_reading("40:1-0:2-12:30", 86400, 217800);
}

TEST(Sigmoid, RefusesTheAmbiguousAndTheWrong) {
  for (const char* text :
       {"40:10:20:30", "", "40", "40:", "40:1", "40:1:", "40:2:1", "40:1:1", "-40:1:2", "nan:1:2",
        "inf:1:2", "1e3:1:2", "40:1:2:3:4:5:6:7", "40:-1:2", "40:1:infinite", "40:a:b", "\xff:1:2",
        "99999999999999:1:2", "40::1:2"}) {
    EXPECT_FALSE(Sigmoid::parse(text)) << text;
  }
  EXPECT_FALSE(Sigmoid::parse("40:" + std::string(100000, '1') + ":2"));
  EXPECT_NE(Sigmoid::parse("40:10:20:30").error().text.find("H:M:S"), std::string::npos);
}

RC_GTEST_PROP(Sigmoid, FallsFromMaxToNothing, ()) {
  const auto drop = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const auto width = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
  const Sigmoid value{Money::from_micro(50'000'000), drop, drop + width};
  const double early = *rc::gen::inRange<int>(0, 3'000'000), later = early + 1;
  RC_ASSERT(value.value_at(early) >= value.value_at(later));
  RC_ASSERT(value.value_at(early) <= 50.0);
  RC_ASSERT(value.value_at(later) >= 0.0);
}

}  // namespace
}  // namespace market
