// SPDX-License-Identifier: GPL-2.0-or-later
// Questions about the books: one's own ticket alone brings the answer, once, and nobody can pile
// them up.
#include "core/desk/inquiries.h"

#include <gtest/gtest.h>

namespace market {
namespace {

constexpr Time kNow = 1'800'000'000;
using Stage = Inquiries::Stage;

ledger::RunsQuestion of_uid(std::uint32_t uid) {
  ledger::RunsQuestion question;
  question.viewer.uid = uid;
  return question;
}

TEST(Inquiries, AreAnsweredOnceToWhoAsked) {
  Inquiries inquiries;
  const auto ticket = inquiries.ask(7, of_uid(7), kNow);
  ASSERT_TRUE(ticket.has_value());
  EXPECT_TRUE(inquiries.any_waits());
  std::string text;
  EXPECT_EQ(inquiries.collect(7, *ticket, text), Stage::kWaits);
  const auto taken = inquiries.take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].ticket, *ticket);
  EXPECT_EQ(std::get<ledger::RunsQuestion>(taken[0].question).viewer.uid, 7U);
  EXPECT_FALSE(inquiries.any_waits());
  EXPECT_TRUE(inquiries.take().empty());
  inquiries.answer(*ticket, "found");
  EXPECT_EQ(inquiries.collect(8, *ticket, text), Stage::kUnknown);
  EXPECT_EQ(text, "");
  EXPECT_EQ(inquiries.collect(7, *ticket + 1, text), Stage::kUnknown);
  EXPECT_EQ(inquiries.collect(7, *ticket, text), Stage::kAnswered);
  EXPECT_EQ(text, "found");
  EXPECT_EQ(inquiries.collect(7, *ticket, text), Stage::kUnknown);
}

TEST(Inquiries, OfOneUserAreFewAndLeaveTheOthersTheirs) {
  Inquiries inquiries;
  for (std::size_t i = 0; i < Inquiries::kOfAUser; ++i)
    EXPECT_TRUE(inquiries.ask(7, of_uid(7), kNow).has_value());
  EXPECT_FALSE(inquiries.ask(7, of_uid(7), kNow).has_value());
  EXPECT_TRUE(inquiries.ask(8, of_uid(8), kNow).has_value());
}

TEST(Inquiries, OfAllTogetherAreBoundedAndSoIsARound) {
  Inquiries inquiries;
  std::size_t open = 0;
  for (std::uint32_t uid = 1; uid <= 100; ++uid)
    open += inquiries.ask(uid, of_uid(uid), kNow).has_value();
  EXPECT_EQ(open, Inquiries::kInAll);
  const auto first = inquiries.take(), second = inquiries.take();
  ASSERT_EQ(first.size(), Inquiries::kInARound);
  EXPECT_LT(first.back().ticket, second.front().ticket);
}

// Who asks and never comes back blocks nobody for long, and its late answer is nobody's.
TEST(Inquiries, AreForgottenWhenNobodyComesForThem) {
  Inquiries inquiries;
  const auto lost = inquiries.ask(7, of_uid(7), kNow);
  inquiries.ask(7, of_uid(7), kNow);
  EXPECT_FALSE(inquiries.ask(7, of_uid(7), kNow + Inquiries::kKept).has_value());
  EXPECT_TRUE(inquiries.ask(7, of_uid(7), kNow + Inquiries::kKept + 1).has_value());
  inquiries.answer(*lost, "late");
  std::string text;
  EXPECT_EQ(inquiries.collect(7, *lost, text), Stage::kUnknown);
  // A clock that was set back keeps nobody out either.
  EXPECT_TRUE(inquiries.ask(7, of_uid(7), kNow).has_value());
}

}  // namespace
}  // namespace market
