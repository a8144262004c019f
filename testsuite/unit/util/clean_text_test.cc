// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/clean_text.h"

#include <gtest/gtest.h>

namespace market {
namespace {

TEST(CleanText, TakesTextOfAllLengthsOfUtf8) {
  EXPECT_TRUE(is_clean_text(""));
  EXPECT_TRUE(is_clean_text("Q4, \"first\" grant | =1+1"));
  EXPECT_TRUE(is_clean_text("na\xc3\xafve \xe2\x80\x93 \xf0\x9f\x92\xb0"));
  EXPECT_TRUE(
      is_clean_text("\xef\xbf\xbd \xed\x9f\xbf \xf4\x8f\xbf\xbf"));  // the edges of what is allowed
}

TEST(CleanText, RefusesControlCharacters) {
  for (const char* text : {"a\tb", "a\nb", "a\rb", "a\x1b[31mb", "a\x7f", "a\xc2\x85z"})
    EXPECT_FALSE(is_clean_text(text)) << text;
  EXPECT_FALSE(is_clean_text(std::string_view("a\0b", 3)));
}

TEST(CleanText, RefusesWhatIsNotUtf8) {
  for (const char* text :
       {"bad \xff", "\x80", "\xc3", "\xc3(", "\xe2\x80", "\xf0\x9f\x92", "\xc0\xaf", "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(is_clean_text(text)) << text;
}

}  // namespace
}  // namespace market
