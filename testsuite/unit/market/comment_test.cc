// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in comments: where the site takes them and where not, beside another bid and alone.
#include "core/market/comment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace market {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Comment, ABidNeedsLeaveAndStandsAlone) {
  const CommentAnswer taken = judge_comment("x; market: budget=5", false, true);
  EXPECT_EQ(taken.verdict, MARKET_ACCEPTED);
  EXPECT_EQ(taken.bid.budget, "5");
  EXPECT_EQ(taken.bid.rest, "x");
  EXPECT_EQ(taken.text, "");
  const CommentAnswer second = judge_comment("x; market: budget=5", true, true);
  EXPECT_EQ(second.verdict, MARKET_REJECTED);
  EXPECT_THAT(second.text,
              StartsWith("market: --comment: 'market: budget=5': the job has another"));
  for (const bool has_bid : {true, false}) {
    const CommentAnswer unwanted = judge_comment("market: value=5:1:2", has_bid, false);
    EXPECT_EQ(unwanted.verdict, MARKET_REJECTED);
    EXPECT_THAT(unwanted.text, HasSubstr("this site takes no bids from comments"));
  }
}

TEST(Comment, ASlipIsRefusedEverywhere) {
  for (const bool has_bid : {true, false}) {
    for (const bool allowed : {true, false}) {
      const CommentAnswer slip = judge_comment("market: budgte=5", has_bid, allowed);
      EXPECT_EQ(slip.verdict, MARKET_REJECTED);
      EXPECT_THAT(slip.text, StartsWith("market: --comment: 'market: budgte=5': a bid "));
      EXPECT_EQ(slip.text.find("market: budget=") != std::string::npos, allowed);
    }
  }
}

TEST(Comment, WhatLooksLikeABidIsToldToWhoHasNone) {
  const CommentAnswer warned = judge_comment("budget=5", false, false);
  EXPECT_EQ(warned.verdict, MARKET_NO_BID);
  EXPECT_THAT(warned.text, StartsWith("market: --comment: 'budget=5' is no bid"));
  EXPECT_EQ(judge_comment("budget=5", true, false).text, "");
  EXPECT_EQ(judge_comment("project 5", false, true).text, "");
}

TEST(Comment, WhatUsersTypeIsSaidCleanAndShort) {
  const CommentAnswer odd =
      judge_comment("market budget=5\x1b[31m\n" + std::string(5000, 'x'), false, true);
  EXPECT_EQ(odd.verdict, MARKET_REJECTED);
  EXPECT_EQ(odd.text.find_first_of("\x1b\n"), std::string::npos);
  EXPECT_LT(odd.text.size(), 300u);
}

}  // namespace
}  // namespace market
