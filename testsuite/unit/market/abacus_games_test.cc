// SPDX-License-Identifier: GPL-2.0-or-later
// What a user could try under Abacus and gains nothing by: how often he starts, and what it costs him.
#include "abacus_world.h"

namespace market::testing {
namespace {

// 100 credits in 1, 10 or 300 bids, the ten of two accounts, beside 200 and 150: √100 ÷ (√100 + √200 + √150), which is .275.
// If each bid were a bidder, 300 of them would have .868.
TEST(AbacusGames, SplittingABudgetChangesNoOdds) {
  for (const int bids : {1, 10, 300}) {
    SCOPED_TRACE(bids);
    OneAtATime market;
    Ask part = one_core(kSly, fmt::format("{:.6f}", 100.0 / bids));
    market.keep(part, bids - bids / 2);
    if (bids == 10) part.account = "chemistry";
    market.keep(part, bids / 2);
    market.keep(one_core(kRival, "200"));
    market.keep(one_core(kThird, "150"));
    expect_odds(market.starts_of(kSly), first_share({100, 200, 150}));
  }
}

// A job of an hour for 60 credits, or six of ten minutes for 10 each at once, beside 60 for an hour: half of the time. The
// six start six times as often, 6 of 7 starts.
TEST(AbacusGames, SplittingAJobGivesNoMoreTime) {
  OneAtATime market;
  market.keep(one_core(kSly, "10", 10), 6);
  market.keep(one_core(kRival, "60", 60));
  expect_odds(market.starts_of(kSly), 6.0 / 7);
}

struct Padding {
  double alpha;
  const char* budget;
  double odds, bill;  // of a start, for a run of ten minutes
};

// Both jobs run ten minutes; the rival says so and bids 1, the other one asks for 60. A start is as likely as the budget to the
// power of alpha ÷ the limit, and ten minutes of 60 owe a sixth. For a bill of 1, as the rival's, he bids 6 and starts less
// often, but where alpha is 1 as often; with a budget of 1 he starts one time of seven, less often than with an honest bid of the
// sixth that he pays, whose odds would be .29.
TEST(AbacusGames, PaddingTheLimitGivesNoMoreForTheMoney) {
  for (const Padding& tried : {Padding{0.5, "6", std::sqrt(6) / (std::sqrt(6) + 6), 1},
                               Padding{1, "6", 0.5, 1}, Padding{0.5, "1", 1.0 / 7, 1.0 / 6}}) {
    SCOPED_TRACE(fmt::format("alpha {}, budget {}", tried.alpha, tried.budget));
    OneAtATime market(fmt::format("alpha = \"{}\";", tried.alpha));
    Ask padded = one_core(kSly, tried.budget, 60);
    padded.runtime = 10 * kMinute;
    market.keep(padded);
    market.keep(one_core(kRival, "1", 10));
    const double own = market.starts_of(kSly);
    expect_odds(own, tried.odds);
    EXPECT_NEAR(market.charged(kSly), own * tried.bill, 1e-3 * own);
    EXPECT_NEAR(market.charged(kRival), kStarts - own, 1e-3 * kStarts);
    // Of each bill the same ten minutes; an honest bid with the same bill starts at least as often.
    EXPECT_LE(own, kStarts * first_share({tried.bill, 1}, tried.alpha) +
                       three_sigmas(first_share({tried.bill, 1}, tried.alpha)));
  }
}

// He needs 20 minutes and asks for 10: two starts of three, so half of the time, and each run is over at its limit, is not
// done, and owes all.
TEST(AbacusGames, ALimitThatIsTooShortEndsTheRun) {
  OneAtATime market;
  Ask cut = one_core(kSly, "1", 10);
  cut.runtime = 20 * kMinute;
  market.keep(cut);
  market.keep(one_core(kRival, "1", 20));
  const double own = market.starts_of(kSly);
  expect_odds(own, 2.0 / 3);
  EXPECT_NEAR(market.charged(kSly), own, 1e-3 * own);
  ledger::SegmentFilter filter;
  filter.states = {"TIMEOUT"};
  EXPECT_EQ(double{1} * market.books().segments(filter)->size(), own);
}

// A bid does not start the more often for others of its user that offer less: 100 beside nine of a hundredth have the odds of
// 100.09 credits, half, and so has 100 beside one credit for five times its time. That one has five of his
// starts share a draw, since a draw belongs to as much work as comes to it first.
TEST(AbacusGames, BidsOfNearlyNothingCarryNobody) {
  for (const bool is_long : {false, true}) {
    OneAtATime market;
    market.keep(one_core(kSly, "100"));
    if (is_long) {
      market.keep(one_core(kSly, "1", 5));
    } else {
      market.keep(one_core(kSly, "0.01"), 9);
    }
    market.keep(one_core(kRival, "100"));
    const double own = market.starts_of(kSly);
    expect_odds(own, first_share({is_long ? 101 : 100.09, 100}), kStarts, is_long ? 5 : 1);
  }
}

enum class Redraw { kNever, kAtOnce, kWithAPass, kAwayForAPass };

/// Of 100 starts those of a user with 2.4 % of the money, who takes his bid back up to 40 times for each and asks again, from the
/// one account or the other, until it is first.
double starts_with(Redraw redraw) {
  OneAtATime market("alpha = \"1\";");
  OneAtATime::Kept& own = market.kept[market.keep(one_core(kSly, "2.4"))];
  market.keep(one_core(kRival, "97.6"));
  double drawn = 0;
  for (int start = 0; start < 100; ++start) {
    market.pass();
    const bool was_first = market.is_first(own);
    for (int i = 0; i < 40 && redraw != Redraw::kNever && !market.is_first(own); ++i) {
      market.end(market.job(own.job), MARKET_JOB_CANCELLED);
      if (redraw == Redraw::kAwayForAPass) market.pass();
      own.ask.account = i % 2 == 0 ? "chemistry" : "physics";
      own.job = market.submitted(own.ask);
      if (redraw != Redraw::kAtOnce) market.pass();
    }
    market.pass();
    EXPECT_EQ(market.is_first(own), was_first);
    drawn += market.draw() == kSly ? 1 : 0;
  }
  return drawn;
}

// 40 draws of a chance of 2.4 % would make 63 %. Nothing is drawn anew, whether or not an auction sees the new bid: his starts are
// the very same. Who was away in an auction comes back behind the start of another, so he has no more than who waits.
TEST(AbacusGames, RedrawsChangeNothing) {
  const double honest = starts_with(Redraw::kNever);
  expect_odds(honest, 0.024, 100);
  EXPECT_EQ(starts_with(Redraw::kAtOnce), honest);
  EXPECT_EQ(starts_with(Redraw::kWithAPass), honest);
  EXPECT_LE(starts_with(Redraw::kAwayForAPass), honest);
}

enum class Cannot { kHeld, kDepends, kBeginsLater };

// A bid of 10,000 whose job is held, depends on another or begins later has no part in anything: the other bid of its user
// and the rival's are told a half and start alike.
TEST(AbacusGames, BidsThatCannotStartCountForNothing) {
  for (const Cannot why : {Cannot::kHeld, Cannot::kDepends, Cannot::kBeginsLater}) {
    SCOPED_TRACE(static_cast<int>(why));
    OneAtATime market;
    Ask large = one_core(kSly, "10000");
    large.held = why == Cannot::kHeld;
    if (why == Cannot::kBeginsLater) large.begin = market.now + 3 * kDay;
    const std::uint32_t id = market.submitted(large);
    market.job(id).dependent = why == Cannot::kDepends;
    market.keep(one_core(kSly, "1"));
    const std::size_t rival = market.keep(one_core(kRival, "1"));
    market.pass();
    market.pass();
    EXPECT_NEAR(market.told(market.kept[rival].job)[0], 0.5, 1e-3);
    expect_odds(market.starts_of(kSly), 0.5);
  }
}

// One that could start for all that the market knows and never does: a third user's takes nothing from the odds of two
// others. Beside a bid of a credit of its own user it only harms that: of the CPUs he has √10001 ÷ (1 + √10001), and his
// credit is a 5000th of what both offer for as much work.
TEST(AbacusGames, ABidThatNeverStartsGainsNothing) {
  for (const std::uint32_t whose : {kThird, kSly}) {
    OneAtATime market;
    market.job(market.submitted(one_core(whose, "10000"))).never_starts = true;
    market.keep(one_core(kSly, "1"));
    market.keep(one_core(kRival, "1"));
    const double carried = std::sqrt(10001) / 5000.5;
    expect_odds(market.starts_of(kSly), whose == kThird ? 0.5 : carried / (1 + carried));
  }
}

// With 1 % of the money each start is his with 1 % or, by the root, .091 (√1 ÷ (√1 + √99)). No wait is longer
// than one that has 0.27 %, three sigmas, among so many. In strict order of shares he never starts.
TEST(AbacusGames, ALowBudgetStartsWithinABoundedTime) {
  constexpr int many = 2000;
  for (const double alpha : {0.5, 1.0}) {
    OneAtATime market(fmt::format("alpha = \"{}\";", alpha));
    market.keep(one_core(kSly, "1"));
    market.keep(one_core(kRival, "99"));
    const double p = first_share({1, 99}, alpha);
    double own = 0;
    int wait = 0, longest = 0;
    for (int i = 0; i < many; ++i) {
      const bool is_own = market.draw() == kSly;
      own += is_own ? 1 : 0;
      wait = is_own ? 0 : wait + 1;
      longest = std::max(longest, wait);
    }
    expect_odds(own, p, many);
    EXPECT_LT(longest, std::log(many * p / 0.0027) / -std::log1p(-p));
  }
  OneAtATime strict("order = \"share\";");
  strict.keep(one_core(kSly, "1"));
  strict.keep(one_core(kRival, "99"));
  EXPECT_EQ(strict.starts_of(kSly), 0);
}

}  // namespace
}  // namespace market::testing
