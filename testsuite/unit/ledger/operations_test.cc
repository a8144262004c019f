// SPDX-License-Identifier: GPL-2.0-or-later
// What the market does: liens, settlements, refunds; each also when it comes twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Operations : public testing::Test {
 protected:
  void SetUp() override {
    must(ledger.add_account("physics", "", kNow));
    must(ledger.deposit("physics", credits("100"), "", kNow));
  }
  void TearDown() override { expect_balanced(ledger); }
  Money posted() { return balance_of(ledger, "physics").posted; }
  Money liens() { return balance_of(ledger, "physics").liens; }
  Segment only_run() {
    SegmentFilter all;
    all.open_too = true;
    const auto runs = ledger.segments(all);
    EXPECT_TRUE(runs.has_value());
    EXPECT_EQ(runs->size(), 1u);
    return runs->at(0);
  }
  Ledger ledger = open_or_die(":memory:");
};

TEST_F(Operations, TheKeyOfARunIsItsFourParts) {
  EXPECT_EQ((SegmentKey{"c1", 7, 1800000000, 2}.text()), "c1:7:1800000000:2");
  EXPECT_EQ((SegmentKey{"c1", 7, 1800000000, 2, "5f2a"}.text()), "c1:7:2:5f2a");
}

TEST_F(Operations, ALienIsSetAsideAndThenCharged) {
  const Segment run = run_of(1, "physics", credits("60"));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone);
  EXPECT_EQ(posted(), credits("100"));
  EXPECT_EQ(liens(), credits("60"));
  EXPECT_EQ(apply_one(ledger, settled(run, credits("15"))), Outcome::kDone);
  EXPECT_EQ(posted(), credits("85"));
  EXPECT_EQ(liens(), Money());
}

TEST_F(Operations, TheLastCreditsAreSetAsideOnce) {
  const auto outcomes = ledger.apply({PlaceLien{run_of(1, "physics", credits("60"))},
                                      PlaceLien{run_of(2, "physics", credits("60"))},
                                      PlaceLien{run_of(3, "physics", credits("40"))}},
                                     kNow);
  ASSERT_TRUE(outcomes.has_value());
  EXPECT_THAT(*outcomes, ElementsAre(Outcome::kDone, Outcome::kNoFunds, Outcome::kDone));
  EXPECT_EQ(balance_of(ledger, "physics").available(), Money());
}

TEST_F(Operations, TheSameLienTwiceIsOneLien) {
  const PlaceLien lien{run_of(1, "physics", credits("60"))};
  EXPECT_EQ(apply_one(ledger, lien), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, lien), Outcome::kAlreadyDone);
  EXPECT_EQ(liens(), credits("60"));
}

TEST_F(Operations, AChangedLienReplacesTheOldOne) {
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "physics", credits("60"))}), Outcome::kDone);
  const ChangeLien more{run_of(1, "physics", credits("90"))};
  EXPECT_EQ(apply_one(ledger, more), Outcome::kDone) << "the old 60 count as available";
  EXPECT_EQ(apply_one(ledger, more), Outcome::kAlreadyDone);
  EXPECT_EQ(liens(), credits("90"));
  EXPECT_EQ(apply_one(ledger, ChangeLien{run_of(1, "physics", credits("101"))}), Outcome::kNoFunds);
  EXPECT_EQ(liens(), credits("90")) << "a change that cannot be paid leaves the lien";
  EXPECT_EQ(apply_one(ledger, ChangeLien{run_of(1, "physics", credits("60"))}), Outcome::kDone);
  EXPECT_EQ(only_run().quoted, credits("60"));
}

TEST_F(Operations, ALienCanMoveToAnotherAccount) {
  must(ledger.add_account("chem", "", kNow));
  must(ledger.deposit("chem", credits("10"), "", kNow));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "physics", credits("60"))}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, ChangeLien{run_of(1, "chem", credits("60"))}), Outcome::kNoFunds);
  EXPECT_EQ(apply_one(ledger, ChangeLien{run_of(1, "chem", credits("8"))}), Outcome::kDone);
  EXPECT_EQ(liens(), Money());
  EXPECT_EQ(balance_of(ledger, "chem").liens, credits("8"));
}

TEST_F(Operations, ASecondSettlementChangesNothing) {
  const Segment run = run_of(1, "physics", credits("60"));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, settled(run, credits("15"))), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, settled(run, credits("50"))), Outcome::kAlreadyDone);
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kPaid) << "a settled run holds nothing";
  EXPECT_EQ(apply_one(ledger, VoidLien{run.key, ""}), Outcome::kAlreadyDone);
  EXPECT_EQ(posted(), credits("85"));
  EXPECT_EQ(liens(), Money());
  EXPECT_EQ(only_run().charged, credits("15"));
}

TEST_F(Operations, WithoutALienTheChargeIsDirectEvenBelowZero) {
  EXPECT_EQ(apply_one(ledger, settled(run_of(1, "physics", credits("130")), credits("130"))),
            Outcome::kDone);
  EXPECT_EQ(posted().to_string(), "-30.00");
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(2, "physics", credits("1"))}), Outcome::kNoFunds);
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(3, "physics", Money())}), Outcome::kDone)
      << "free is free";
}

TEST_F(Operations, MoreThanTheLienIsChargedInFull) {
  const Segment run = run_of(1, "physics", credits("10"));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, settled(run, credits("12"))), Outcome::kDone);
  EXPECT_EQ(posted(), credits("88"));
  EXPECT_EQ(liens(), Money());
}

TEST_F(Operations, TheRunsAccountPaysEvenWhenTheLienIsElsewhere) {
  must(ledger.add_account("chem", "", kNow));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "physics", credits("10"))}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, settled(run_of(1, "chem", credits("10")), credits("7"))),
            Outcome::kDone);
  EXPECT_EQ(balance_of(ledger, "chem").posted.to_string(), "-7.00");
  EXPECT_EQ(liens(), Money());
  EXPECT_EQ(posted(), credits("100"));
}

TEST_F(Operations, AnUnknownAccountIsSaidUnlessTheLienTellsWhoPays) {
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "nobody", credits("1"))}), Outcome::kNoAccount);
  EXPECT_EQ(apply_one(ledger, settled(run_of(1, "nobody", credits("1")), credits("1"))),
            Outcome::kNoAccount);
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(2, "physics", credits("5"))}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, settled(run_of(2, "", credits("5")), credits("5"))), Outcome::kDone);
  EXPECT_EQ(posted(), credits("95"));
}

TEST_F(Operations, WhatMakesNoSenseIsRefusedForGood) {
  const Segment run = run_of(1, "physics", credits("5"));
  EXPECT_EQ(apply_one(ledger, settled(run, Money::from_micro(-1))), Outcome::kRefused);
  EXPECT_EQ(apply_one(ledger, settled(run, credits("1"), credits("2"))), Outcome::kRefused);
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "physics", Money::from_micro(-1))}),
            Outcome::kRefused);
  RecordBid bid;
  bid.id = "b";
  bid.bid.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(apply_one(ledger, bid), Outcome::kRefused);
}

TEST_F(Operations, AVoidedLienReturnsWholeAndMayComeAgain) {
  const Segment run = run_of(1, "physics", credits("60"));
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, VoidLien{run.key, "cancelled before start"}), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, VoidLien{run.key, "again"}), Outcome::kAlreadyDone);
  EXPECT_EQ(liens(), Money());
  EXPECT_EQ(only_run().state, "VOIDED");
  EXPECT_EQ(only_run().note, "cancelled before start");
  EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone) << "adopted again after a crash";
  EXPECT_EQ(only_run().state, "");
  EXPECT_EQ(only_run().note, "");
  EXPECT_EQ(only_run().end, 0);
  EXPECT_EQ(apply_one(ledger, settled(run, credits("60"))), Outcome::kDone);
  EXPECT_EQ(posted(), credits("40"));
}

TEST_F(Operations, ARunThatWasVoidedAndRanAllTheSameIsBilled) {
  const Segment run = run_of(1, "physics", credits("60"));
  apply_one(ledger, PlaceLien{run});
  apply_one(ledger, VoidLien{run.key, "orphaned"});
  EXPECT_EQ(apply_one(ledger, settled(run, credits("20"))), Outcome::kDone);
  EXPECT_EQ(posted(), credits("80"));
  EXPECT_EQ(only_run().state, "COMPLETED");
}

TEST_F(Operations, AFreeEndShowsAChargeOfNothing) {
  const Segment run = run_of(1, "physics", credits("12"));
  apply_one(ledger, PlaceLien{run});
  EXPECT_EQ(apply_one(ledger, settled(run, Money(), Money(), "NODE_FAIL")), Outcome::kDone);
  EXPECT_EQ(posted(), credits("100"));
  const auto entries = ledger.entries("physics", 0, kNow + 1);
  ASSERT_EQ(entries->size(), 2u) << "the deposit and the charge; liens are not on a statement";
  EXPECT_EQ(entries->at(1).kind, "charge");
  EXPECT_EQ(entries->at(1).amount, Money());
}

TEST_F(Operations, ARefundAtTheEndShowsBothRows) {
  const Segment run = run_of(1, "physics", credits("12"));
  apply_one(ledger, PlaceLien{run});
  EXPECT_EQ(apply_one(ledger, settled(run, credits("12"), credits("12"), "NODE_FAIL")),
            Outcome::kDone);
  EXPECT_EQ(posted(), credits("100"));
  const auto entries = ledger.entries("physics", 0, kNow + 1);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ(entries->at(1).amount.to_string(), "-12.00");
  EXPECT_EQ(entries->at(2).amount.to_string(), "12.00");
  EXPECT_EQ(entries->at(2).segment_key, run.key.text());
}

TEST_F(Operations, ManualRefundsNeverExceedTheCharge) {
  const Segment run = run_of(1, "physics", credits("12"));
  apply_one(ledger, settled(run, credits("12")));
  must(ledger.refund("c1", 1, credits("8"), kWindow, false, "sorry", kNow + 10));
  EXPECT_THAT(why(ledger.refund("c1", 1, credits("8"), kWindow, false, "", kNow + 20)),
              HasSubstr("4.00 refundable"));
  EXPECT_THAT(why(ledger.refund("c1", 1, credits("8"), kWindow, true, "", kNow + 20)),
              HasSubstr("4.00 refundable"))
      << "force does not lift the limit";
  EXPECT_EQ(posted(), credits("96"));
  must(ledger.refund("c1", 1, credits("4"), kWindow, false, "", kNow + 30));
  EXPECT_EQ(posted(), credits("100"));
  EXPECT_EQ(only_run().refunded, credits("12"));
}

TEST_F(Operations, AfterTheWindowARefundNeedsForceAndSaysSo) {
  apply_one(ledger, settled(run_of(1, "physics", credits("12")), credits("12")));
  must(ledger.refund("c1", 1, credits("1"), kWindow, false, "", kNow + kWindow));
  const Time late = kNow + kWindow + 1;
  EXPECT_THAT(why(ledger.refund("c1", 1, credits("1"), kWindow, false, "", late)),
              HasSubstr("--force"));
  must(ledger.refund("c1", 1, credits("1"), kWindow, true, "meeting of May", late));
  const auto entries = ledger.entries("physics", late, late + 1);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).note, "forced: meeting of May");
}

TEST_F(Operations, TheNewestRunIsRefundedFirst) {
  apply_one(ledger, settled(run_of(1, "physics", credits("5"), 0), credits("5")));
  apply_one(ledger, settled(run_of(1, "physics", credits("7"), 1), credits("7")));
  must(ledger.refund("c1", 1, credits("8"), kWindow, false, "", kNow + 1));
  const auto runs = ledger.segments({});
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(runs->at(0).refunded, credits("1"));
  EXPECT_EQ(runs->at(1).refunded, credits("7"));
}

TEST_F(Operations, OnlyWhatWasChargedCanBeRefunded) {
  EXPECT_EQ(why(ledger.refund("c1", 9, credits("1"), kWindow, false, "", kNow)),
            "no run of job 9 was charged");
  apply_one(ledger, settled(run_of(1, "physics", credits("5")), credits("5")));
  EXPECT_FALSE(ledger.refund("other", 1, credits("1"), kWindow, false, "", kNow).has_value());
  EXPECT_THAT(why(ledger.refund("c1", 1, Money(), kWindow, false, "", kNow)),
              HasSubstr("more than 0"));
}

TEST_F(Operations, ARequeuedJobIsBilledPerRun) {
  // 64, 74, 101 and 35 minutes of one CPU at 0.6 credits an hour, paid for use: 2.74 credits in
  // all.
  const char* charges[] = {"0.64", "0.74", "1.01", "0.35"};
  for (std::uint32_t restart = 0; restart < 4; ++restart) {
    const Segment run = run_of(1, "physics", credits("2"), restart);
    EXPECT_EQ(apply_one(ledger, PlaceLien{run}), Outcome::kDone);
    const char* state = restart < 3 ? "PREEMPTED" : "COMPLETED";
    EXPECT_EQ(apply_one(ledger, settled(run, credits(charges[restart]), Money(), state)),
              Outcome::kDone);
  }
  EXPECT_EQ(ledger.segments({})->size(), 4u);
  EXPECT_EQ(posted(), credits("97.26"));
}

TEST_F(Operations, WhatALienKnewIsKeptWhenTheRunEnds) {
  Segment run = run_of(1, "physics", credits("5"));
  run.planned_start = kNow;
  run.tres = "cpu=4";
  run.array_job_id = 1;
  run.array_task_id = 3;
  apply_one(ledger, PlaceLien{run});
  Settle end = settled(run_of(1, "physics", Money()), credits("5"));
  end.segment.user = "";
  apply_one(ledger, end);
  const Segment kept = only_run();
  EXPECT_EQ(kept.planned_start, kNow);
  EXPECT_EQ(kept.tres, "cpu=4");
  EXPECT_EQ(kept.array_task_id, 3u);
  EXPECT_EQ(kept.user, "ann");
  EXPECT_EQ(kept.quoted, credits("5"));
}

TEST_F(Operations, OpenLiensAreThoseOfOneCluster) {
  apply_one(ledger, PlaceLien{run_of(1, "physics", credits("5"))});
  Segment elsewhere = run_of(1, "physics", credits("6"));
  elsewhere.key.cluster = "c2";
  apply_one(ledger, PlaceLien{elsewhere});
  apply_one(ledger, settled(run_of(2, "physics", credits("1")), credits("1")));
  const auto liens_here = ledger.open_liens("c1");
  ASSERT_TRUE(liens_here.has_value());
  ASSERT_EQ(liens_here->size(), 1u);
  EXPECT_EQ(liens_here->at(0).segment.quoted, credits("5"));
  EXPECT_EQ(ledger.check()->open_liens, 2);
}

TEST_F(Operations, FiltersOfTheBillCombine) {
  must(ledger.add_account("chem", "", kNow));
  apply_one(ledger, settled(run_of(1, "physics", credits("1")), credits("1")));
  Settle other = settled(run_of(2, "Chem", credits("1")), credits("1"), Money(), "FAILED");
  other.segment.user = "bob";
  other.segment.mechanism = "first_fit/1";
  other.segment.end = kNow + 50;
  other.segment.array_job_id = 77;
  apply_one(ledger, other);
  apply_one(ledger, PlaceLien{run_of(3, "physics", credits("1"))});
  const auto jobs = [&](const SegmentFilter& filter) {
    std::vector<std::uint32_t> ids;
    const auto runs = ledger.segments(filter);
    EXPECT_TRUE(runs.has_value());
    for (const Segment& run : *runs) ids.push_back(run.key.job_id);
    return ids;
  };
  EXPECT_THAT(jobs({}), ElementsAre(1, 2));
  SegmentFilter filter;
  filter.open_too = true;
  EXPECT_THAT(jobs(filter), ElementsAre(1, 3, 2)) << "job 2 is a task of array 77 and stands there";
  filter = {};
  filter.accounts = {"CHEM"};
  EXPECT_THAT(jobs(filter), ElementsAre(2));
  filter.users = {"ann"};
  EXPECT_THAT(jobs(filter), ElementsAre());
  filter = {};
  filter.since = kNow + 1;
  EXPECT_THAT(jobs(filter), ElementsAre(2));
  filter.until = kNow + 50;
  EXPECT_THAT(jobs(filter), ElementsAre()) << "the end is not part of the window";
  filter = {};
  filter.mechanisms = {"era"};
  EXPECT_THAT(jobs(filter), ElementsAre(1));
  filter.mechanisms = {"era/2", "first_fit"};
  EXPECT_THAT(jobs(filter), ElementsAre(2));
  filter = {};
  filter.states = {"failed", "TIMEOUT"};
  EXPECT_THAT(jobs(filter), ElementsAre(2));
  filter = {};
  filter.jobs = {77, 1};
  EXPECT_THAT(jobs(filter), ElementsAre(1, 2)) << "an array's id means all its tasks";
  filter = {};
  filter.partitions = {"it's"};
  EXPECT_THAT(jobs(filter), ElementsAre());
}

TEST_F(Operations, BidsAreRememberedOnce) {
  RecordBid record;
  record.id = "c1:token";
  record.accepted = true;
  record.cluster = "c1";
  record.partition = "main";
  record.bid = {
      kNow, kNow + 1, kNow + 7200, 3600, {{"cpu", 4}, {"gres/gpu:a100", 2}, {"mem", 4096}}, 0.1};
  EXPECT_EQ(apply_one(ledger, record), Outcome::kDone);
  EXPECT_EQ(apply_one(ledger, record), Outcome::kAlreadyDone);
  const auto bids = ledger.past_bids("c1", kNow, kNow + 1);
  ASSERT_TRUE(bids.has_value());
  ASSERT_EQ(bids->size(), 1u);
  EXPECT_EQ(bids->at(0).tres, record.bid.tres);
  EXPECT_EQ(bids->at(0).value, 0.1);
  EXPECT_EQ(bids->at(0).deadline, kNow + 7200);
  EXPECT_EQ(bids->at(0).partition, "main");
  EXPECT_TRUE(ledger.past_bids("c1", kNow + 1, kNow + 2)->empty());
  EXPECT_TRUE(ledger.past_bids("c2", kNow, kNow + 1)->empty());  // of another cluster
}

}  // namespace
}  // namespace market::ledger::test
