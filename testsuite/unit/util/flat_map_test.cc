// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/flat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace market {
namespace {

using Amounts = FlatMap<int>;

TEST(FlatMap, IsInTheOrderOfTheNames) {
  Amounts amounts{{"node", 1}, {"cpu", 4}};
  amounts["mem"] = 7;
  EXPECT_THAT(amounts, testing::ElementsAre(testing::Pair("cpu", 4), testing::Pair("mem", 7),
                                            testing::Pair("node", 1)));
}

TEST(FlatMap, KeepsTheFirstOfAName) {
  Amounts amounts{{"cpu", 4}, {"cpu", 5}};
  EXPECT_FALSE(amounts.emplace("cpu", 6).second);
  EXPECT_EQ(amounts.at("cpu"), 4);
  EXPECT_EQ(amounts.size(), 1u);
}

TEST(FlatMap, KnowsNoOtherNames) {
  const Amounts amounts{{"gres/gpu", 2}};
  EXPECT_FALSE(amounts.contains("gres/gp"));
  EXPECT_FALSE(amounts.contains("gres/gpu:a100"));
  EXPECT_EQ(amounts.find(""), amounts.end());
  EXPECT_THROW((void)amounts.at("cpu"), std::out_of_range);
}

// The same random steps on a std::map, from a fixed seed.
TEST(FlatMap, DoesAsAStdMap) {
  std::mt19937 random(17);
  Amounts flat;
  std::map<std::string, int> plain;
  for (int step = 0; step < 3000; ++step) {
    const std::string name(1 + random() % 2, static_cast<char>('a' + random() % 6));
    const int value = static_cast<int>(random() % 5);
    switch (random() % 4) {
      case 0:
        flat[name] += value;
        plain[name] += value;
        break;
      case 1:
        EXPECT_EQ(flat.emplace(name, value).second, plain.emplace(name, value).second);
        break;
      case 2:
        EXPECT_EQ(flat.erase(name), plain.erase(name));
        break;
      default:
        const auto is_value = [value](const auto& entry) { return entry.second == value; };
        EXPECT_EQ(erase_if(flat, is_value), std::erase_if(plain, is_value));
    }
    ASSERT_EQ((std::map<std::string, int>(flat.begin(), flat.end())), plain);
    ASSERT_EQ(flat.size(), plain.size());
    ASSERT_TRUE(std::is_sorted(flat.begin(), flat.end()));
  }
}

}  // namespace
}  // namespace market
