// SPDX-License-Identifier: GPL-2.0-or-later
// Job numbers that come again: each run is known by its bid, and a refund is for one submission.
// And runs whose end Slurm forgot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/util/slurm_time.h"
#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Numbers : public testing::Test {
 protected:
  Numbers() {
    for (const char* name : {"physics", "biology"}) {
      must(ledger.add_account(name, "", kNow));
      must(ledger.deposit(name, credits("100"), "", kNow));
    }
  }
  ~Numbers() override { expect_balanced(ledger); }
  static Segment run(const char* bid, const char* account, const char* quoted, Time later = 0,
                     std::uint32_t restart = 0) {
    Segment segment = run_of(7, account, credits(quoted), restart);
    segment.key.bid = bid;
    segment.key.submitted += later;
    return segment;
  }
  void settle(const Segment& segment) {
    EXPECT_EQ(apply_one(ledger, settled(segment, segment.quoted)), Outcome::kDone);
  }
  std::string refund(const char* amount, Time submitted = 0, bool force = false) {
    return why(ledger.refund("c1", 7, credits(amount), kWindow, force, "", kNow + 1, submitted));
  }
  Money posted(const char* account) { return balance_of(ledger, account).posted; }

  Ledger ledger = open_or_die(":memory:");
};

TEST_F(Numbers, TwoBidsOfOneNumberAndSecondAreTwoRuns) {
  settle(run("a", "physics", "5"));
  settle(run("b", "biology", "7"));
  EXPECT_EQ(apply_one(ledger, settled(run("b", "biology", "7"), credits("7"))),
            Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("95"));
  EXPECT_EQ(posted("biology"), credits("93"));
}

// Slurm changes the submit time of a job that it requeues, perhaps after its restart was seen.
TEST_F(Numbers, ARunIsTheSameWhateverItsSubmitTime) {
  apply_one(ledger, PlaceLien{run("a", "physics", "5", 0, 1)});
  EXPECT_EQ(apply_one(ledger, PlaceLien{run("a", "physics", "5", 27, 1)}), Outcome::kAlreadyDone);
  settle(run("a", "physics", "5", 27, 1));
  EXPECT_EQ(apply_one(ledger, settled(run("a", "physics", "5", 0, 1), credits("5"))),
            Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("95"));
  ASSERT_EQ(ledger.segments({})->size(), 1u);
}

TEST_F(Numbers, ALienOfAnotherBidIsNotTouched) {
  apply_one(ledger, PlaceLien{run("a", "physics", "5")});
  apply_one(ledger, VoidLien{run("b", "physics", "5").key, ""});
  EXPECT_EQ(balance_of(ledger, "physics").liens, credits("5"));
  apply_one(ledger, ChangeLien{run("b", "biology", "7")});
  EXPECT_EQ(balance_of(ledger, "physics").liens, credits("5"));
  EXPECT_EQ(balance_of(ledger, "biology").liens, credits("7"));
}

// A run from before bids were kept goes on under the key it has.
TEST_F(Numbers, AnOlderRunIsFoundWithoutItsBid) {
  apply_one(ledger, PlaceLien{run("", "physics", "5")});
  EXPECT_EQ(apply_one(ledger, PlaceLien{run("a", "physics", "5")}), Outcome::kAlreadyDone);
  settle(run("a", "physics", "5"));
  ASSERT_EQ(ledger.segments({})->size(), 1u);
  EXPECT_EQ(ledger.segments({})->at(0).key.text(), run("", "physics", "5").key.text());
  EXPECT_EQ(apply_one(ledger, settled(run("a", "physics", "5"), credits("5"))),
            Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("95"));
}

TEST_F(Numbers, ARefundIsForTheNewestSubmission) {
  settle(run("a", "physics", "10"));
  settle(run("b", "biology", "3", 1000));
  EXPECT_THAT(refund("5"), AllOf(HasSubstr("3.00 refundable"), HasSubstr("(biology)")));
  EXPECT_THAT(refund("5", 0, true), HasSubstr("3.00 refundable"));
  EXPECT_EQ(refund("2"), "(it succeeded)");
  EXPECT_EQ(posted("biology"), credits("99"));
  EXPECT_EQ(posted("physics"), credits("90"));
}

TEST_F(Numbers, AnotherSubmissionIsNamedByItsTime) {
  settle(run("a", "physics", "10"));
  settle(run("b", "biology", "3", 1000));
  EXPECT_EQ(refund("5", kNow - 100), "(it succeeded)");
  EXPECT_EQ(posted("biology"), credits("97"));
  EXPECT_EQ(posted("physics"), credits("95"));
  EXPECT_THAT(refund("1", kNow - 99),
              AllOf(HasSubstr(format_time(kNow - 100)), HasSubstr(format_time(kNow + 900))));
  const auto submissions = ledger.submissions("c1", 7);
  ASSERT_TRUE(submissions);
  ASSERT_EQ(submissions->size(), 2u);
  EXPECT_EQ(submissions->at(0).account, "physics");
  EXPECT_EQ(submissions->at(0).refundable, credits("5"));
  EXPECT_EQ(submissions->at(1).account, "biology");
}

TEST_F(Numbers, AllRunsOfABidAreOneSubmission) {
  settle(run("a", "physics", "4"));
  settle(run("a", "physics", "4", 500, 1));  // Slurm dates a requeue as a submission
  EXPECT_EQ(refund("8", kNow - 100), "(it succeeded)");
  EXPECT_EQ(posted("physics"), credits("100"));
}

TEST_F(Numbers, ABidThatMovedToAnotherAccountIsTwo) {
  settle(run("a", "physics", "4"));
  settle(run("a", "biology", "4", 500, 1));
  EXPECT_THAT(refund("5"), HasSubstr("4.00 refundable"));
  EXPECT_EQ(refund("4"), "(it succeeded)");
  EXPECT_EQ(posted("biology"), credits("100"));
  EXPECT_EQ(posted("physics"), credits("96"));
}

TEST_F(Numbers, OlderRunsArePartedWhereRestartsBegin) {
  settle(run("", "physics", "1"));
  settle(run("", "physics", "2", 100, 1));
  settle(run("", "physics", "4", 200, 0));
  EXPECT_THAT(refund("5"), HasSubstr("4.00 refundable"));
  EXPECT_EQ(refund("3", kNow - 100), "(it succeeded)");
}

// A free end that slurmctld forgot when it was killed: the run is in the queue again, or ends
// later.
class Forgotten : public Numbers {
 protected:
  Forgotten() { apply_one(ledger, settled(free_, Money(), Money(), "REQUEUED")); }
  static Settle ending(const char* charged, Time later) {
    Settle end = settled(run("a", "physics", "5"), credits(charged));
    end.segment.end += later;
    return end;
  }
  const Segment free_ = run("a", "physics", "5");
};

TEST_F(Forgotten, ARunThatEndsLaterIsBilledOnce) {
  EXPECT_EQ(apply_one(ledger, ending("5", 30)), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, ending("5", 60)), Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("95"));
  ASSERT_EQ(ledger.segments({})->size(), 1u);
  const Segment kept = ledger.segments({})->at(0);
  EXPECT_EQ(kept.state, "COMPLETED");
  EXPECT_EQ(kept.charged, credits("5"));
  EXPECT_EQ(kept.end, kNow + 30);
  EXPECT_EQ(refund("5"), "(it succeeded)");
}

TEST_F(Forgotten, TheSameEndToldAgainIsNot) {
  EXPECT_EQ(apply_one(ledger, ending("5", 0)), Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("100"));
}

TEST_F(Forgotten, ARunThatGoesOnHasALienAgain) {
  EXPECT_EQ(apply_one(ledger, PlaceLien{free_}), Outcome::kDone);
  EXPECT_EQ(balance_of(ledger, "physics").liens, credits("5"));
  EXPECT_EQ(ledger.open_liens("c1")->size(), 1u);
  settle(free_);
  EXPECT_EQ(posted("physics"), credits("95"));
  EXPECT_EQ(balance_of(ledger, "physics").liens, Money());
}

TEST_F(Forgotten, WhatWasPaidForIsNotPaidForAgain) {
  apply_one(ledger, ending("5", 30));
  EXPECT_EQ(apply_one(ledger, PlaceLien{free_}), Outcome::kPaid);
  EXPECT_EQ(balance_of(ledger, "physics").liens, Money());
}

}  // namespace
}  // namespace market::ledger::test
