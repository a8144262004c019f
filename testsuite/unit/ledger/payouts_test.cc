// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes: paid out of a run's charge, once, and part of its refunds.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

class Payouts : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"physics", "lab-a", "lab-b"}) must(books.add_account(name, "", kNow));
    must(books.deposit("physics", credits("100"), "", kNow));
  }
  Settle run(std::uint32_t job, const char* charged, std::vector<Payee> payees,
             const char* refunded = "0") {
    Settle settle =
        settled(run_of(job, "physics", credits("50")), credits(charged), credits(refunded));
    settle.payees = std::move(payees);
    return settle;
  }
  Money posted(const char* account) { return balance_of(books, account).posted; }

  Ledger books = open_or_die(":memory:");
};

TEST_F(Payouts, OwnersGetTheirPartsOnce) {
  const Settle end = run(7, "10", {{"lab-a", credits("6.000001")}, {"Lab-B", credits("3")}});
  EXPECT_EQ(apply_one(books, PlaceLien{end.segment}), Outcome::kDone);
  EXPECT_EQ(apply_one(books, end), Outcome::kDone);
  EXPECT_EQ(apply_one(books, end), Outcome::kAlreadyDone);
  EXPECT_EQ(posted("physics"), credits("90"));
  EXPECT_EQ(posted("lab-a"), credits("6.000001"));
  EXPECT_EQ(posted("lab-b"), credits("3"));
  expect_balanced(books);
  const auto entries = books.entries("lab-a", 0, kNow + 1);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).amount, credits("6.000001"));
  EXPECT_EQ(entries->at(0).counterpart, "@revenue");
  EXPECT_EQ(entries->at(0).note, "job 7 ran on its nodes");
}

// All were written long after their run had ended (kNow): the books were away.
TEST_F(Payouts, WhatARunsEndBroughtCountsAtThatEnd) {
  const Time late = kNow + 90'000;
  apply_one(books, run(7, "10", {{"lab-a", credits("6")}}, "4"), late);
  apply_one(books, run(8, "10", {}), late + 1);
  must(books.refund("c1", 8, credits("1"), kWindow, false, "by hand", late + 1'000));
  const auto owner = books.entries("lab-a", 0, late + 2'000);
  ASSERT_EQ(owner->size(), 1u);
  EXPECT_EQ(owner->at(0).time, kNow);
  const auto payer = books.entries("physics", kNow, kNow + 1);
  ASSERT_EQ(payer->size(), 4u) << "the deposit, both charges, and the refund by rule";
  EXPECT_EQ(payer->at(2).kind, "refund");
  EXPECT_EQ(payer->at(2).amount, credits("4"));
  const auto by_hand = books.entries("physics", kNow + 1, late + 2'000);
  ASSERT_EQ(by_hand->size(), 1u) << "counts when it was given, though right behind its charge";
  EXPECT_EQ(by_hand->at(0).time, late + 1'000);
}

TEST_F(Payouts, AnAccountTwiceIsPaidTogetherAndAnUnknownOneNot) {
  EXPECT_EQ(apply_one(books, run(7, "10",
                                 {{"lab-a", credits("1")},
                                  {"lab-a", credits("2")},
                                  {"nobody", credits("3")},
                                  {"@treasury", credits("1")}})),
            Outcome::kDone);
  EXPECT_EQ(posted("lab-a"), credits("3"));
  expect_balanced(books);
}

TEST_F(Payouts, NoMoreThanTheChargeIsPaidOut) {
  EXPECT_EQ(apply_one(books, run(7, "10", {{"lab-a", credits("10.000001")}})), Outcome::kRefused);
  EXPECT_EQ(apply_one(books, run(7, "10", {{"lab-a", credits("7")}}, "4")), Outcome::kRefused);
  EXPECT_EQ(apply_one(books, run(7, "10", {{"lab-a", Money() - credits("1")}})), Outcome::kRefused);
  EXPECT_EQ(apply_one(books, run(7, "10", {{"lab-a", credits("6")}}, "4")), Outcome::kDone);
  EXPECT_EQ(posted("lab-a"), credits("6"));
  expect_balanced(books);
}

TEST_F(Payouts, ARefundTakesTheSamePartOfEach) {
  apply_one(books, run(7, "10", {{"lab-a", credits("6")}, {"lab-b", credits("3")}}));
  apply_one(books, run(77, "10", {{"lab-a", credits("10")}}));  // its key begins alike
  must(books.refund("c1", 7, credits("5"), kWindow, false, "", kNow));
  EXPECT_EQ(posted("physics"), credits("85"));
  EXPECT_EQ(posted("lab-a"), credits("13"));
  EXPECT_EQ(posted("lab-b"), credits("1.5"));
  must(books.refund("c1", 7, credits("0.000001"), kWindow, false, "", kNow));
  EXPECT_EQ(posted("lab-a"), credits("12.999999"));  // 0.6 of it is the largest part
  must(books.refund("c1", 7, credits("4.999999"), kWindow, false, "", kNow));
  EXPECT_EQ(posted("lab-a"), credits("10"));
  EXPECT_EQ(posted("lab-b"), Money());
  EXPECT_EQ(posted("physics"), credits("90"));
  expect_balanced(books);
}

TEST_F(Payouts, AnOwnerWhoSpentItOwes) {
  apply_one(books, run(7, "10", {{"lab-a", credits("10")}}));
  must(books.withdraw("lab-a", credits("10"), "", kNow));
  must(books.refund("c1", 7, credits("4"), kWindow, false, "", kNow));
  EXPECT_EQ(posted("lab-a"), Money() - credits("4"));
  expect_balanced(books);
}

RC_GTEST_PROP(Apportion, IsExactAndWithinOneOfTheQuota, ()) {
  const auto weights = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000000)));
  const auto amount = Money::from_micro(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) sum += weight;
  const std::vector<Money> parts = apportion(amount, weights);
  if (sum == 0) {
    RC_ASSERT(parts.empty());
    return;
  }
  Money total;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    total += parts[i];
    const auto scaled = static_cast<__int128>(amount.micro()) * weights[i];
    const auto error = static_cast<__int128>(parts[i].micro()) * sum - scaled;
    RC_ASSERT(error < sum && error > -sum);
  }
  RC_ASSERT(total == amount);
}

}  // namespace
}  // namespace market::ledger::test
