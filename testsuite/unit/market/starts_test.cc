// SPDX-License-Identifier: GPL-2.0-or-later
// In which order starts are tried.
#include "core/market/starts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

constexpr Time kFirst = 1'000'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(StartSpans, GivesWhatIsOpenInOrder) {
  std::mt19937_64 random(20261201);
  for (int round = 0; round < 300; ++round) {
    std::vector<bool> is_closed(60);
    StartSpans spans;
    for (std::uint64_t count = random() % 8; count > 0; --count) {
      const auto from = static_cast<Time>(random() % 60),
                 until = from + static_cast<Time>(random() % 12);
      spans.add(from, until);
      for (Time at = from; at < std::min<Time>(until, 60); ++at)
        is_closed[static_cast<std::size_t>(at)] = true;
    }
    const auto begin = static_cast<Time>(random() % 60), end = static_cast<Time>(random() % 61);
    std::vector<Time> open, wanted;
    spans.each_open(begin, end, [&](Time from, Time until) {
      EXPECT_LT(from, until);
      for (Time at = from; at < until; ++at) open.push_back(at);
    });
    for (Time at = begin; at < end; ++at)
      if (!is_closed[static_cast<std::size_t>(at)]) wanted.push_back(at);
    EXPECT_EQ(open, wanted) << round;
  }
}

// Against the definition: of all that are open and wanted the one with the smallest score, of equal ones the first.
TEST(StartTries, GivesTheBestThatIsOpen) {
  std::mt19937_64 random(20261201);
  StartOrder order;
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = random() % 200;
    const bool is_by_price = random() % 4 != 0;
    std::vector<double> credits, scores;
    for (std::size_t k = 0; k < count; ++k) {
      // Many are the same money, and some differ by less than a micro-credit.
      credits.push_back(static_cast<double>(random() % 5) +
                        static_cast<double>(random() % 3) * 3e-7);
      if (random() % 6 == 0) credits.back() = kInfinity;
      const double micro = std::round(credits.back() * 1e6);
      scores.push_back(is_by_price ? (micro > 3.5e6 ? kInfinity : micro)
                                   : static_cast<double>(random() % 9));
    }
    const std::size_t begin = count == 0 ? 0 : random() % count;
    StartTries tries({.credits = credits,
                      .first = kFirst,
                      .slot = 60,
                      .begin = begin,
                      .end = count,
                      .score = [&scores](std::size_t k) { return scores[k]; },
                      .is_by_price = is_by_price},
                     order);
    StartSpans closed;
    const auto start_of = [](std::size_t k) { return kFirst + 60 * static_cast<Time>(k); };
    bool any = false;
    for (std::size_t k = begin; k < count; ++k) any = any || !std::isinf(scores[k]);
    EXPECT_EQ(tries.any(), any);
    for (;;) {
      std::optional<std::size_t> wanted;
      for (std::size_t k = begin; k < count; ++k) {
        if (closed.contains(start_of(k)) || std::isinf(scores[k])) continue;
        if (!wanted || scores[k] < scores[*wanted]) wanted = k;
      }
      const auto next = tries.next(closed);
      ASSERT_EQ(next, wanted) << round;
      if (!next) break;
      closed.add(start_of(*next), start_of(*next) + 1 + static_cast<Time>(random() % 300));
    }
  }
}

}  // namespace
}  // namespace market
