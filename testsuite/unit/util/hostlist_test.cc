// SPDX-License-Identifier: GPL-2.0-or-later
// Lists of nodes as Slurm writes them.
#include "core/util/hostlist.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace market {
namespace {

using Names = std::vector<std::string>;

Names expanded(std::string_view text, std::size_t most = 100) {
  const auto names = expand_hostlist(text, most);
  EXPECT_TRUE(names) << text << ": " << (names ? "" : names.error().text);
  return names ? *names : Names{};
}

TEST(Hostlist, SingleNamesAndRanges) {
  EXPECT_EQ(expanded("gpu1"), (Names{"gpu1"}));
  EXPECT_EQ(expanded("b,a,n-2.x"), (Names{"b", "a", "n-2.x"}));
  EXPECT_EQ(expanded("n[1-3,7],gpu1"), (Names{"n1", "n2", "n3", "n7", "gpu1"}));
  EXPECT_EQ(expanded("n[8-11]"), (Names{"n8", "n9", "n10", "n11"}));
}

TEST(Hostlist, ZerosAreKept) {
  EXPECT_EQ(expanded("n[08-10]"), (Names{"n08", "n09", "n10"}));
  EXPECT_EQ(expanded("n[099-101]"), (Names{"n099", "n100", "n101"}));
  EXPECT_EQ(expanded("n[98-100]x,n[001]"), (Names{"n98x", "n99x", "n100x", "n001"}));
}

TEST(Hostlist, OfSeveralBracketsTheLastCountsFastest) {
  EXPECT_EQ(expanded("r[1-2]n[1,3]"), (Names{"r1n1", "r1n3", "r2n1", "r2n3"}));
  EXPECT_EQ(expanded("r[0-1][0-1]"), (Names{"r00", "r01", "r10", "r11"}));
}

TEST(Hostlist, WhatIsNoListIsRefused) {
  for (const char* text :
       {"",       ",",     "a,",    ",a",     "a,,b",          "n[",    "n]",    "n[1",
        "n[]",    "n[1,]", "n[,1]", "n[2-1]", "n[a-b]",        "n[1-]", "n[-1]", "n[1-2-3]",
        "n[[1]]", "n[1]]", "n[ 1]", "a b",    "n[1234567890]", "n[+1]", "a\n"}) {
    const auto names = expand_hostlist(text, 100);
    EXPECT_FALSE(names) << text;
    if (!names) {
      EXPECT_FALSE(names.error().text.empty());
    }
  }
}

TEST(Hostlist, ThereIsABound) {
  EXPECT_EQ(expanded("n[1-100]").size(), 100u);
  EXPECT_EQ(expanded("n[1-10]x[1-10]").size(), 100u);
  for (const char* text : {"n[0-100]", "n[1-999999999]", "n[1-11]x[1-10]", "a,n[1-100]",
                           "n[1-90]x[1-90]y[1-90]", "n[1-60,1-60]"}) {
    EXPECT_FALSE(expand_hostlist(text, 100)) << text;
  }
  EXPECT_FALSE(expand_hostlist(std::string(300, 'a'), 100));
}

// The tail would be written behind each of the names.
TEST(Hostlist, NamesThatGrowTooLongAreRefusedBeforeTheyAreMade) {
  EXPECT_FALSE(expand_hostlist("n[1-65536]" + std::string(1'000'000, 'x'), 65536));
  EXPECT_FALSE(expand_hostlist(fmt::format("{}[9-10]", std::string(254, 'x')), 100));
  EXPECT_TRUE(expand_hostlist(fmt::format("{}[8-9]", std::string(254, 'x')), 100));
}

}  // namespace
}  // namespace market
