// SPDX-License-Identifier: GPL-2.0-or-later
// What markets that only observe would have done: apart from all money, and dropped with its time
// where it bears on anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

constexpr const char* kMarket = "batch";

ObserveRun would_be(std::uint32_t job, const char* charged, const char* refunded = "0") {
  ObserveRun run;
  run.segment = run_of(job, "physics", credits(charged));
  run.segment.charged = credits(charged);
  run.segment.refunded = credits(refunded);
  run.segment.state = "COMPLETED";
  run.segment.end = kNow;
  run.market = kMarket;
  run.waited = 120;
  run.would_wait = 60;
  return run;
}

Outcome written(Ledger& ledger, const Operation& operation) {
  const auto outcomes = ledger.apply({operation}, kNow);
  EXPECT_TRUE(outcomes) << (outcomes ? "" : outcomes.error().text);
  return outcomes ? outcomes->front() : Outcome::kRefused;
}

class Observed : public testing::Test {
 protected:
  Observed() {
    must(ledger.add_account("physics", "", kNow));
    must(ledger.deposit("physics", credits("5"), "", kNow));
    must(ledger.observe("c1", {kMarket}, kNow));
  }
  TemporaryFolder folder;
  Ledger ledger = open_or_die(folder.file("ledger.db"));
};

TEST_F(Observed, NoBalanceBillOrStatementKnowsOfIt) {
  EXPECT_EQ(written(ledger, would_be(1, "400", "100")), Outcome::kDone) << "more than there is";
  EXPECT_EQ(balance_of(ledger, "physics").posted, credits("5"));
  EXPECT_TRUE(ledger.segments({})->empty());
  EXPECT_EQ(ledger.entries("physics", 0, kNow + 1)->size(), 1u);
  EXPECT_TRUE(ledger.submissions("c1", 1)->empty());
  EXPECT_TRUE(ledger.open_liens("c1")->empty());
  expect_balanced(ledger);
  EXPECT_FALSE(ledger.refund("c1", 1, credits("1"), kWindow, true, "", kNow));
}

TEST_F(Observed, IsReadAsItWasWrittenOnce) {
  EXPECT_EQ(written(ledger, would_be(1, "4", "1")), Outcome::kDone);
  EXPECT_EQ(written(ledger, would_be(1, "40")), Outcome::kAlreadyDone);
  ObserveRun refused = would_be(2, "0");
  refused.refused = true;
  refused.would_wait.reset();
  EXPECT_EQ(written(ledger, refused), Outcome::kDone);
  const auto runs = ledger.observed({});
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(runs->at(0).segment.charged, credits("4"));
  EXPECT_EQ(runs->at(0).segment.refunded, credits("1"));
  EXPECT_EQ(runs->at(0).market, kMarket);
  EXPECT_EQ(runs->at(0).waited, 120);
  EXPECT_EQ(runs->at(0).would_wait, std::optional<Time>(60));
  EXPECT_FALSE(runs->at(0).refused);
  EXPECT_TRUE(runs->at(1).refused);
  EXPECT_FALSE(runs->at(1).would_wait);
  SegmentFilter later;
  later.since = kNow + 1;
  EXPECT_TRUE(ledger.observed(later)->empty());
}

TEST_F(Observed, SumsAreOfTheTimesThatGoOn) {
  written(ledger, would_be(1, "4", "1"));
  written(ledger, would_be(2, "2"));
  EXPECT_EQ(ledger.observed_sums("c1")->at("physics"), credits("5"));
  EXPECT_TRUE(ledger.observed_sums("c2")->empty());
  must(ledger.observe("c1", {kMarket, "gpu"}, kNow + 5));
  EXPECT_EQ(ledger.observed_sums("c1")->at("physics"), credits("5")) << "it goes on";
  must(ledger.observe("c1", {"gpu"}, kNow + 10));
  EXPECT_TRUE(ledger.observed_sums("c1")->empty());
  must(ledger.observe("c1", {kMarket}, kNow + 20));
  EXPECT_TRUE(ledger.observed_sums("c1")->empty()) << "it begins anew";
  EXPECT_EQ(ledger.observed({})->size(), 2u) << "what was is still told";
  const auto times = ledger.observations();
  ASSERT_EQ(times->size(), 3u);
  EXPECT_EQ(times->at(0).ended, kNow + 10);
  EXPECT_EQ(times->at(1).ended, kNow + 20);
  EXPECT_EQ(times->at(2).ended, 0);
}

TEST_F(Observed, WhereNobodyObservesNothingIsWritten) {
  ObserveRun other = would_be(1, "4");
  other.market = "gpu";
  EXPECT_EQ(written(ledger, other), Outcome::kRefused);
  must(ledger.observe("c1", {}, kNow));
  EXPECT_EQ(written(ledger, would_be(1, "4")), Outcome::kRefused);
}

TEST_F(Observed, BidsAreLearnedFromWhileItsTimeGoesOn) {
  RecordBid bid;
  bid.id = "token:1";
  bid.bid = {kNow, kNow, kNow + 7200, 3600, {{"cpu", 4}}, 40, "main"};
  bid.cluster = "c1";
  bid.partition = "main";
  bid.account = "physics";
  bid.accepted = true;
  bid.observed = kMarket;
  EXPECT_EQ(written(ledger, bid), Outcome::kDone);
  bid.accepted = false;
  bid.could_spend = credits("60");
  EXPECT_EQ(written(ledger, bid), Outcome::kDone);
  // What an account's refused bids may teach in a day is not used up by those that were observed.
  bid.observed.clear();
  EXPECT_EQ(written(ledger, bid), Outcome::kDone);
  const auto during = ledger.past_bids("c1", 0, kNow + 1);
  ASSERT_EQ(during->size(), 3u);
  EXPECT_EQ(std::count_if(during->begin(), during->end(),
                          [](const PastBid& past) { return past.observed; }),
            2);
  must(ledger.observe("c1", {}, kNow + 10));
  const auto after = ledger.past_bids("c1", 0, kNow + 1);
  ASSERT_EQ(after->size(), 1u);
  EXPECT_FALSE(after->front().observed);
}

}  // namespace
}  // namespace market::ledger::test
