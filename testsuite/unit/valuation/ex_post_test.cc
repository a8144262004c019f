// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/ex_post.h"

#include <gtest/gtest.h>

#include <string>

namespace market {
namespace {

const ExPost kSigmoid{job_class("sigmoid"), {100, 100, 200}, 120, 1'800'000'000};

// 3.58092114002 promised at 120 s is 1.90411428722 at 150 s.
TEST(ExPost, TheValueLeftIsThePartThatIsOwed) {
  EXPECT_NEAR(kSigmoid.share(30), 1.90411428722 / 3.58092114002, 1e-10);
  EXPECT_EQ(kSigmoid.share(0), 1);
  EXPECT_EQ(kSigmoid.share(-50), 1);
  EXPECT_EQ(kSigmoid.share(1e9), 0);
  const ExPost hard{job_class("hard_deadline"), {7, 150}, 120, 1};
  EXPECT_EQ(hard.share(30), 1);
  EXPECT_EQ(hard.share(30.5), 0);
}

TEST(ExPost, LateWithNothingPromisedOwesNothing) {
  const ExPost late{job_class("hard_deadline"), {7, 100}, 120, 1};
  EXPECT_EQ(late.share(0), 1);
  EXPECT_EQ(late.share(1), 0);
}

TEST(ExPost, ItsTextBringsItBackExactly) {
  EXPECT_EQ(kSigmoid.text(), "sigmoid 120 1800000000 100 100 200");
  for (const ExPost& one :
       {kSigmoid, ExPost{job_class("hard_deadline"), {1.0 / 3, 1e-300}, 0.1 + 0.2, 77},
        ExPost{job_class("recurrent"), {40, 300, 0.5}, 1e15, 1}}) {
    const auto back = ExPost::parse(one.text());
    ASSERT_TRUE(back) << one.text();
    EXPECT_EQ(*back, one) << one.text();
  }
}

TEST(ExPost, OtherTextsAreNone) {
  for (const char* text :
       {"", "sigmoid", "sigmoid 120 5 100 100", "sigmoid 120 5 100 100 200 1", "gauss 120 5 1 2",
        "sigmoid 120 0 100 100 200", "sigmoid 120 -4 100 100 200", "sigmoid inf 5 100 100 200",
        "sigmoid 120 5 100 nan 200", "sigmoid 120 5 100 200 100", "sigmoid 120 5.5 100 100 200",
        "hard_deadline 120 5 -1 100", "hard_deadline 120 99999999999999999 1 1",
        "hard_deadline 120 5 1 1 ", "hard_deadline  120 5 1 1"})
    EXPECT_FALSE(ExPost::parse(text)) << text;
}

}  // namespace
}  // namespace market
