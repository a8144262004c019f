// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/money.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace market {
namespace {

Money micro(std::int64_t value) {
  return Money::from_micro(value);
}

TEST(Money, ParsesDecimalCredits) {
  EXPECT_EQ(Money::parse("40")->micro(), 40'000'000);
  EXPECT_EQ(Money::parse("38.90")->micro(), 38'900'000);
  EXPECT_EQ(Money::parse(".5")->micro(), 500'000);
  EXPECT_EQ(Money::parse("0.000001")->micro(), 1);
  EXPECT_EQ(Money::parse("5.")->micro(), 5'000'000);
  EXPECT_EQ(Money::parse("9000000000000")->micro(), Money::kMaxMicro);
}

TEST(Money, RefusesEverythingElse) {
  for (const char* text :
       {"", ".", "-1", "+1", "1e3", "nan", "inf", "1.0000001", "0x10", " 1", "1 ", "1,5", "1..2",
        "9000000000000.000001", "99999999999999999999999999", "\xff\xfe", "1\n"}) {
    EXPECT_FALSE(Money::parse(text).has_value()) << text;
  }
}

TEST(Money, PrintsTwoToSixDecimals) {
  EXPECT_EQ(micro(38'900'000).to_string(), "38.90");
  EXPECT_EQ(micro(1).to_string(), "0.000001");
  EXPECT_EQ(micro(-3'000'000).to_string(), "-3.00");
  EXPECT_EQ(micro(-1).to_string(), "-0.000001");
  EXPECT_EQ(micro(0).to_string(), "0.00");
  EXPECT_EQ(micro(1'234'500).to_string(), "1.2345");
}

TEST(Money, RoundsCreditsToTheNearestMicroCredit) {
  EXPECT_EQ(Money::from_credits(0.1 + 0.2)->micro(), 300'000);
  EXPECT_EQ(Money::from_credits(-0.0000015)->micro(), -2);
  EXPECT_FALSE(Money::from_credits(std::nan("")).has_value());
  EXPECT_FALSE(Money::from_credits(std::numeric_limits<double>::infinity()).has_value());
  EXPECT_FALSE(Money::from_credits(1e13).has_value());
}

// The library's own rounding is the reference, also half-way between two and just beside that.
RC_GTEST_PROP(Money, RoundsAsTheLibraryDoes, ()) {
  const int bits = *rc::gen::inRange(0, 62);
  const double whole =
      static_cast<double>(*rc::gen::inRange<std::int64_t>(0, (std::int64_t{1} << bits) + 1));
  const double half = whole + 0.5;
  const double near = *rc::gen::element(whole, half, std::nextafter(half, 0.0),
                                        std::nextafter(half, 1e19), std::nextafter(whole, 0.0));
  const double credits = *rc::gen::element(1.0, -1.0) * near / 1e6;
  RC_ASSERT(Money::from_credits(credits)->micro() == std::llround(credits * 1e6));
}

TEST(Money, RefusesWhatIsJustTooLarge) {
  EXPECT_EQ(Money::from_credits(9e12)->micro(), Money::kMaxMicro);
  EXPECT_EQ(Money::from_credits(-9e12)->micro(), -Money::kMaxMicro);
  EXPECT_FALSE(Money::from_credits(std::nextafter(9e12, 1e13)).has_value());
  EXPECT_FALSE(Money::from_credits(std::nextafter(-9e12, -1e13)).has_value());
}

TEST(Money, ScalesInWideArithmetic) {
  EXPECT_EQ(micro(600'000).scaled(35 * 60, 3600).micro(), 350'000);  // 0.6/h for 35 minutes
  EXPECT_EQ(micro(1).scaled(1, 2).micro(), 1);                       // ties away from zero
  EXPECT_EQ(micro(-1).scaled(1, 2).micro(), -1);
  EXPECT_EQ(micro(Money::kMaxMicro).scaled(3, 3).micro(), Money::kMaxMicro);
}

TEST(Money, SaturatesInsteadOfWrapping) {
  EXPECT_EQ((micro(Money::kMaxMicro) + micro(Money::kMaxMicro)).micro(), Money::kMaxMicro);
  EXPECT_EQ((micro(-Money::kMaxMicro) - micro(1)).micro(), -Money::kMaxMicro);
}

RC_GTEST_PROP(Money, ReadsBackWhatItPrints, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(0, Money::kMaxMicro);
  RC_ASSERT(Money::parse(micro(value).to_string())->micro() == value);
}

}  // namespace
}  // namespace market
