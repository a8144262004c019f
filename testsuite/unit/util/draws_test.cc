// SPDX-License-Identifier: GPL-2.0-or-later
// Draws depend on the seed and on what is asked, and on nothing else.
#include "core/util/draws.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace market {
namespace {

TEST(Draws, TheSameQuestionHasTheSameAnswer) {
  const Draws draws("a seed"), again("a seed");
  EXPECT_EQ(draws.of("contracts", "main", "urgent", 7), again.of("contracts", "main", "urgent", 7));
  EXPECT_EQ(draws.of("contracts", "main", "urgent", 7), draws.of("contracts", "main", "urgent", 7));
}

RC_GTEST_PROP(Draws, TheOrderOfTheQuestionsDoesNotMatter, (std::vector<std::uint16_t> numbers)) {
  const Draws forth("s"), back("s");
  std::map<std::uint16_t, std::uint64_t> answers;
  for (const std::uint16_t number : numbers) answers[number] = forth.of("lot", number);
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number)
    RC_ASSERT(back.of("lot", *number) == answers[*number]);
}

TEST(Draws, AnotherSeedOrAnotherQuestionHasAnotherAnswer) {
  const Draws draws("seed");
  const std::set<std::uint64_t> answers = {
      draws.of("contracts", "ab", "c", 1),    draws.of("contracts", "a", "bc", 1),
      draws.of("contracts", "abc", "", 1),    draws.of("contracts", "ab", "c", 2),
      draws.of("contracts", "ab", "c1"),      draws.of("contracts", "ab", "c", "1", ""),
      draws.of("contractsab", "c", 1),        Draws("Seed").of("contracts", "ab", "c", 1),
      Draws("").of("contracts", "ab", "c", 1)};
  EXPECT_EQ(answers.size(), 9u);
}

// BLAKE2b-128 keyed with BLAKE2b-256 of "42", as Python's hashlib has it, so that a replay
// elsewhere makes the same draws: blake2b(b"9:contracts4:main1:7", digest_size=16,
// key=blake2b(b"42", digest_size=32).digest())
TEST(Draws, AreTheSameEverywhere) {
  EXPECT_EQ(Draws("42").of("contracts", "main", 7), 0xff4d7dc0e5dc9550u);
}

// Of 64 streams with neighbouring numbers each bit is set in some and not in others.
TEST(Draws, NeighboursHaveNothingInCommon) {
  const Draws draws("seed");
  std::uint64_t any = 0, all = ~std::uint64_t{0};
  for (int i = 0; i < 64; ++i) {
    any |= draws.of("lot", i);
    all &= draws.of("lot", i);
  }
  EXPECT_EQ(any, ~std::uint64_t{0});
  EXPECT_EQ(all, 0u);
}

}  // namespace
}  // namespace market
