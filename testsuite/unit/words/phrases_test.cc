// SPDX-License-Identifier: GPL-2.0-or-later
// Money, counts and spans as a person reads them: no noise, and never a rounding that makes a
// sentence untrue.
#include "core/words/phrases.h"

#include <gtest/gtest.h>

#include <random>

namespace market {
namespace {

TEST(Phrases, MoneyIsRoundedTheWayItsSentenceNeeds) {
  struct Row {
    std::int64_t micro;
    const char *nearest, *enough, *there_is;
  };
  for (const Row& row :
       {Row{0, "0.00", "0.00", "0.00"}, Row{38'900'000, "38.90", "38.90", "38.90"},
        Row{33'333'334, "33.33", "33.34", "33.33"}, Row{33'335'000, "33.34", "33.34", "33.33"},
        Row{999'999'999'999, "1000000.00", "1000000.00", "999999.99"},
        Row{1'000'001, "1.00", "1.01", "1.00"}, Row{123'456, "0.12", "0.13", "0.12"},
        Row{99'999, "0.10", "0.10", "0.099"}, Row{3'450, "0.0035", "0.0035", "0.0034"},
        Row{1, "0.000001", "0.000001", "0.000001"}, Row{12, "0.000012", "0.000012", "0.000012"},
        Row{-1'234'567, "-1.23", "-1.23", "-1.24"},
        Row{-1, "-0.000001", "-0.000001", "-0.000001"}}) {
    const Money money = Money::from_micro(row.micro);
    EXPECT_EQ(amount_text(money), row.nearest) << row.micro;
    EXPECT_EQ(enough_text(money), row.enough) << row.micro;
    EXPECT_EQ(there_is_text(money), row.there_is) << row.micro;
  }
}

// What is said to be enough is enough, and what is said to be there is there; both can be typed.
TEST(Phrases, WhatIsSaidHolds) {
  std::mt19937_64 random(20261129);
  for (int i = 0; i < 10000; ++i) {
    const Money money =
        Money::from_micro(static_cast<std::int64_t>(random() >> (1 + random() % 62)));
    const auto enough = Money::parse(enough_text(money)),
               there = Money::parse(there_is_text(money));
    if (money.micro() > Money::kMaxMicro - Money::kMicroPerCredit) continue;
    ASSERT_TRUE(enough && there) << money.to_string();
    EXPECT_GE(*enough, money);
    EXPECT_LE(*there, money);
    // Off by less than a cent, and by less than a tenth.
    EXPECT_LT(enough->micro() - money.micro(),
              std::min<std::int64_t>(10'000, money.micro() / 10 + 1));
  }
}

TEST(Phrases, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(counted(0, "CPU"), "0 CPUs");
  EXPECT_EQ(counted(1, "CPU"), "1 CPU");
  EXPECT_EQ(counted(2, "CPU"), "2 CPUs");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(3, "entry", "entries"), "3 entries");
}

TEST(Phrases, SpansAreInTheLargestUnitThatFits) {
  struct Row {
    Time seconds;
    const char* text;
  };
  for (const Row& row : {Row{7 * 86400, "7 days"}, Row{86400, "1 day"}, Row{36 * 3600, "36 hours"},
                         Row{3600, "1 hour"}, Row{5400, "90 minutes"}, Row{60, "1 minute"},
                         Row{3601, "1:00:01"}, Row{90061, "25:01:01"}, Row{0, "0:00:00"}}) {
    EXPECT_EQ(span_text(row.seconds), row.text);
  }
}

TEST(Phrases, RatesAreNumbersWithoutNoise) {
  EXPECT_EQ(number_text(0.1 + 0.2), "0.30");
  EXPECT_EQ(number_text(720), "720.00");
  EXPECT_EQ(number_text(0.00345678), "0.0035");
  EXPECT_EQ(number_text(1e300), "1e+300");
}

TEST(Phrases, Ordinals) {
  for (const auto& [number, text] : {std::pair{1u, "1st"},
                                     {2u, "2nd"},
                                     {3u, "3rd"},
                                     {4u, "4th"},
                                     {11u, "11th"},
                                     {12u, "12th"},
                                     {13u, "13th"},
                                     {21u, "21st"},
                                     {102u, "102nd"},
                                     {111u, "111th"}})
    EXPECT_EQ(ordinal(number), text);
}

}  // namespace
}  // namespace market
