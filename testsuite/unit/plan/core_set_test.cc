// SPDX-License-Identifier: GPL-2.0-or-later
// Sets of cores of any size.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/plan/node.h"

namespace market {
namespace {

// Of a set with cores beyond the second word all words are kept in one place.
TEST(CoreSet, GrowsAcrossItsInlineWords) {
  CoreSet set;
  std::vector<bool> plain(300);
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto core = static_cast<std::uint32_t>(random() % (i < 50 ? 100 : 300));
    set.insert(core);
    plain[core] = true;
    for (std::uint32_t at = 0; at < 300; ++at) ASSERT_EQ(set.contains(at), plain[at]) << at;
    ASSERT_EQ(set.count(),
              static_cast<std::uint32_t>(std::count(plain.begin(), plain.end(), true)));
    ASSERT_NE(set.words().back(), 0U);
    ASSERT_EQ(CoreSet::from_words(set.words().data(), set.words().size()), set);
  }
  CoreSet other = CoreSet::first(3);
  other.insert(set);
  set.insert(CoreSet::first(3));
  EXPECT_EQ(other, set);
  set.clear();
  EXPECT_EQ(set, CoreSet());
  EXPECT_TRUE(other.overlaps(CoreSet::first(1)));
  EXPECT_FALSE(set.overlaps(other));
  EXPECT_EQ(CoreSet::first(128).words().size(), 2U);
  EXPECT_EQ(CoreSet::first(129).count(), 129U);
  EXPECT_EQ(CoreSet::first(0), CoreSet());
}

}  // namespace
}  // namespace market
