// SPDX-License-Identifier: GPL-2.0-or-later
// In which order starts are tried.
#include "core/market/starts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace market {
namespace {

TEST(StartOrder, IsThatOfAStableSortByScore) {
  std::mt19937_64 random(20261130);
  StartOrder order;
  for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 191U, 192U, 193U, 2000U}) {
    for (const std::uint64_t scores : {1U, 3U, 1'000'000U}) {
      std::vector<std::pair<double, std::uint32_t>> wanted;
      order.clear();
      EXPECT_TRUE(order.empty());
      for (std::uint32_t k = 0; k < count; ++k) {
        wanted.emplace_back(static_cast<double>(random() % scores), 3 * k);
        order.add(wanted.back().first, 3 * k);
      }
      std::stable_sort(wanted.begin(), wanted.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [score, index] : wanted) EXPECT_EQ(order.next(), index);
      EXPECT_EQ(order.next(), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace market
