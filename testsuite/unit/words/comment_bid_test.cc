// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in comments: what is one, what is a slip, what only looks like one, and what is left.
#include "core/words/comment_bid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/words/misspelt.h"

namespace market {
namespace {

using Kind = CommentBid::Kind;

TEST(CommentBid, IsTakenOutOfTheComment) {
  const struct {
    const char *comment, *budget, *value, *rest;
  } cases[] = {
      {"market: budget=5", "5", "", ""},
      {"market:budget=5", "5", "", ""},
      {"  market:  budget=5  ", "5", "", ""},
      {"market: value=40:2-00:4-00", "", "40:2-00:4-00", ""},
      {"proj=1; market: budget=2.5", "2.5", "", "proj=1"},
      {"market: budget=5; proj=1", "5", "", "proj=1"},
      {"a; market: budget=5;b", "5", "", "a;b"},
      // What it is worth, the market judges as it does --budget.
      {"market: budget=five", "five", "", ""},
      {"market: budget=-1", "-1", "", ""},
  };
  for (const auto& wanted : cases) {
    const CommentBid bid = read_comment_bid(wanted.comment);
    EXPECT_EQ(bid.kind, Kind::kBid) << wanted.comment;
    EXPECT_EQ(bid.budget, wanted.budget) << wanted.comment;
    EXPECT_EQ(bid.value, wanted.value) << wanted.comment;
    EXPECT_EQ(bid.rest, wanted.rest) << wanted.comment;
  }
}

TEST(CommentBid, MayBeByTheHour) {
  const CommentBid bid = read_comment_bid("proj=1; market: budget-rate=3.50");
  EXPECT_EQ(bid.kind, Kind::kBid);
  EXPECT_EQ(bid.rate, "3.50");
  EXPECT_EQ(bid.budget + bid.value, "");
  EXPECT_EQ(bid.rest, "proj=1");
  for (const char* slip :
       {"market: budget-rate = 5", "market: budget-rate 5", "market budget-rate=5"})
    EXPECT_EQ(read_comment_bid(slip).kind, Kind::kSlip) << slip;
  EXPECT_EQ(read_comment_bid("budget-rate=5").kind, Kind::kLooksLike);
}

TEST(CommentBid, SlipsAreNoBids) {
  for (const char* comment :
       {"market budget=5", "market: budgte=5", "market: budget 5", "market: budget=",
        "Market: budget=5", "market: Budget=5", "markt: budget=5", "market: budget = 5",
        "market: bid=5", "market: valeu=40:1:2", "market: budget=5 value=40:1:2", "market=budget=5",
        "market: --budget=5", "market: budget=5; market: budget=6", "x; market budget:5; y"}) {
    const CommentBid bid = read_comment_bid(comment);
    EXPECT_EQ(bid.kind, Kind::kSlip) << comment;
    EXPECT_NE(bid.said, "") << comment;
  }
}

TEST(CommentBid, OtherWordsAreNoSlips) {
  for (const char* comment :
       {"", "proj=1", "market", "stock market simulation", "market: monday", "market value = 5",
        "market budgets of 1929", "widget=5", "my budget is 5", "value=5", "lowbudget=5", ";;;"}) {
    EXPECT_EQ(read_comment_bid(comment).kind, Kind::kNone) << comment;
  }
  for (const char* comment :
       {"budget=5", "--budget=5", "proj=1; budget=5", "mrkt budget=5", "value=40:2-00:4-00"}) {
    EXPECT_EQ(read_comment_bid(comment).kind, Kind::kLooksLike) << comment;
  }
}

TEST(CommentBid, ABidGoesBeforeWhatLooksLikeOne) {
  EXPECT_EQ(read_comment_bid("budget=1; market: budget=5").kind, Kind::kBid);
  EXPECT_EQ(read_comment_bid("market: budget=5; budget=1").budget, "5");
  EXPECT_EQ(read_comment_bid("market: budget=5; market budget=6").kind, Kind::kSlip);
}

RC_GTEST_PROP(CommentBid, NothingButTheBidIsCutOut, (std::string text)) {
  std::erase_if(text, [](char c) { return c == ';' || c == '\0'; });
  const CommentBid bid = read_comment_bid("x" + text + "x; market: budget=5");
  if (bid.kind == Kind::kBid) RC_ASSERT(bid.rest == "x" + text + "x");
  read_comment_bid(text);
}

TEST(Misspelt, OneSlipOfTheHandIsNearly) {
  const auto nearly = [](std::string_view text) {
    return is_misspelt(text.data(), text.size(), "BUDGET", 6);
  };
  for (const char* text : {"BUDGTE", "UBDGET", "BUDGE", "UDGET", "BUDGETS", "BBUDGET", "BUDJET",
                           "budget", "Budgte", "BUDDGET"})
    EXPECT_TRUE(nearly(text)) << text;
  for (const char* text : {"BUDGET", "", "B", "WIDGET", "DEBUG", "BUDG", "BUDGETED", "TEGDUB"})
    EXPECT_FALSE(nearly(text)) << text;
}

}  // namespace
}  // namespace market
