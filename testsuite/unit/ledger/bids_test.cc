// SPDX-License-Identifier: GPL-2.0-or-later
// What the books keep of bids for demand prediction: nobody teaches prices by asking for nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/ledger/ledger.h"

namespace market::ledger::test {
namespace {

constexpr Time kMidnight = 1800057600;  // a midnight: 20834 × 86400

class Bids : public ::testing::Test {
 protected:
  Bids() : ledger(std::move(*Ledger::open(":memory:", Mode::kCreate))) {}

  static RecordBid refused(std::uint32_t uid, Time at, double value, const char* could_spend) {
    RecordBid record;
    record.bid = {at, at, at + 7200, 3600, {{"cpu", 4}}, value};
    record.cluster = "c";
    record.account = "Physics";
    record.uid = uid;
    record.could_spend = *Money::parse(could_spend);
    return record;
  }
  static RecordBid confirmed(const std::string& id, Time at, double value) {
    RecordBid record = refused(1, at, value, "0");
    record.id = id;
    record.accepted = true;
    return record;
  }
  Outcome apply(const Operation& operation) {
    const auto outcomes = ledger.apply({operation}, kMidnight);
    return outcomes ? outcomes->front() : Outcome::kRefused;
  }
  std::vector<double> learned(Time since = kMidnight - 86400, Time until = kMidnight + 2 * 86400) {
    std::vector<double> values;
    const auto bids = ledger.past_bids("c", since, until);
    for (const PastBid& bid : *bids) values.push_back(bid.value);
    return values;
  }

  Ledger ledger;
};

using Values = std::vector<double>;

TEST_F(Bids, OfRefusedOnesEachUidsLargestOfTheHourCounts) {
  EXPECT_EQ(apply(refused(1, kMidnight + 10, 5, "100")), Outcome::kDone);
  EXPECT_EQ(apply(refused(1, kMidnight + 20, 5, "100")), Outcome::kAlreadyDone) << "the same again";
  EXPECT_EQ(apply(refused(1, kMidnight + 30, 3, "100")), Outcome::kAlreadyDone) << "a smaller one";
  EXPECT_EQ(apply(refused(1, kMidnight + 40, 8, "100")), Outcome::kDone) << "a larger one instead";
  EXPECT_EQ(apply(refused(2, kMidnight + 50, 4, "100")), Outcome::kDone) << "somebody else";
  EXPECT_EQ(apply(refused(1, kMidnight + 3600, 2, "100")), Outcome::kDone) << "in the next hour";
  EXPECT_EQ(learned(), (Values{8, 4, 2}));
}

TEST_F(Bids, OfAnAccountNoMoreThanItCouldSpendCountsInADay) {
  EXPECT_EQ(apply(refused(1, kMidnight, 6, "10")), Outcome::kDone);
  EXPECT_EQ(apply(refused(2, kMidnight + 60, 5, "10")), Outcome::kAlreadyDone) << "6 + 5 > 10";
  EXPECT_EQ(apply(refused(3, kMidnight + 120, 4, "10")), Outcome::kDone) << "6 + 4 = 10";
  EXPECT_EQ(apply(refused(1, kMidnight + 180, 7, "10")), Outcome::kAlreadyDone)
      << "7 + 4 > 10: 6 stays";
  EXPECT_EQ(apply(refused(1, kMidnight + 23 * 3600, 1, "10")), Outcome::kAlreadyDone) << "same day";
  RecordBid other = refused(4, kMidnight + 60, 9, "10");
  other.account = "bio";
  EXPECT_EQ(apply(other), Outcome::kDone) << "another account";
  EXPECT_EQ(apply(refused(1, kMidnight + 24 * 3600, 10, "10")), Outcome::kDone) << "the next day";
  EXPECT_EQ(apply(refused(1, kMidnight - 3600, 10, "10")), Outcome::kDone) << "the day before";
  EXPECT_EQ(learned(), (Values{10, 6, 9, 4, 10}));
}

TEST_F(Bids, WhoCannotPayTeachesNothingHoweverOften) {
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(apply(refused(7, kMidnight + i, 1e6, "0.01")), Outcome::kAlreadyDone);
  EXPECT_EQ(learned(), Values{});
}

TEST_F(Bids, TheClassIsKeptWithWhatItsShapeNeeds) {
  RecordBid curve = confirmed("t:1", kMidnight, 6), nightly = confirmed("t:2", kMidnight + 1, 7);
  curve.bid.job_class = "curve";
  curve.bid.drop = 3600;
  curve.bid.zero = 7200;
  nightly.bid.job_class = "nightly";
  nightly.bid.work = 0.5;
  EXPECT_EQ(apply(curve), Outcome::kDone);
  EXPECT_EQ(apply(nightly), Outcome::kDone);
  const auto bids = ledger.past_bids("c", kMidnight - 1, kMidnight + 10);
  ASSERT_EQ(bids->size(), 2u);
  EXPECT_EQ(bids->at(0), curve.bid);
  EXPECT_EQ(bids->at(1), nightly.bid);
}

TEST_F(Bids, AConfirmedOneCountsUntilItIsTakenBack) {
  EXPECT_EQ(apply(confirmed("t:1", kMidnight, 6)), Outcome::kDone);
  EXPECT_EQ(apply(confirmed("t:2", kMidnight + 1, 7)), Outcome::kDone);
  EXPECT_EQ(apply(confirmed("t:1", kMidnight + 2, 99)), Outcome::kAlreadyDone) << "after a crash";
  EXPECT_EQ(learned(), (Values{6, 7}));
  EXPECT_EQ(apply(ForgetBid{"t:1"}), Outcome::kDone);
  EXPECT_EQ(apply(ForgetBid{"t:1"}), Outcome::kAlreadyDone);
  EXPECT_EQ(apply(ForgetBid{"t:9"}), Outcome::kAlreadyDone) << "never known";
  EXPECT_EQ(apply(confirmed("t:1", kMidnight + 3, 6)), Outcome::kAlreadyDone) << "stays forgotten";
  EXPECT_EQ(learned(), Values{7});
}

TEST_F(Bids, BidsOfTheTimeAskedForAlone) {
  for (int i = 0; i < 4; ++i) apply(confirmed(fmt::format("t:{}", i), kMidnight + i, i));
  EXPECT_EQ(learned(kMidnight + 1, kMidnight + 3), (Values{1, 2}));
}

}  // namespace
}  // namespace market::ledger::test
