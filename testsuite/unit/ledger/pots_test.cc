// SPDX-License-Identifier: GPL-2.0-or-later
// Pots, incomes and what is collected, in the books.
#include <gtest/gtest.h>

#include "core/ledger/ledger.h"

namespace market::ledger {
namespace {

constexpr const char* kPot = "@c1:main/cpu/ada/physics";
constexpr const char* kGpuPot = "@c1:main/gres/gpu/ada/physics";

class PotBooks : public ::testing::Test {
 protected:
  PotBooks() : books(*Ledger::open(":memory:", Mode::kCreate)) {
    EXPECT_TRUE(books.add_account("physics", "", 1));
    EXPECT_TRUE(books.deposit("physics", Money::from_micro(100'000'000), "", 1));
  }
  Outcome change(ChangePots change) { return books.apply({std::move(change)}, 2)->front(); }
  Outcome fund(const std::string& token, std::int64_t credits, Time interval = 60,
               const std::string& pot = kPot) {
    return change({token,
                   1,
                   ChangePots::Kind::kFund,
                   {{pot, "physics", Money::from_micro(credits * 1'000'000), interval}}});
  }
  std::int64_t pot(const std::string& name = kPot) {
    const auto pots = books.pots();
    for (const PotInfo& info : *pots)
      if (info.balance.account == name) return info.balance.posted.micro();
    return -1;
  }
  std::int64_t physics() { return books.accounts()->front().balance.posted.micro(); }
  void expect_whole() {
    const auto report = books.check();
    EXPECT_TRUE(report && report->faults.empty());
  }
  Ledger books;
};

TEST_F(PotBooks, AFundingMovesOnceForEachToken) {
  EXPECT_EQ(fund("a", 10), Outcome::kDone);
  EXPECT_EQ(fund("a", 10), Outcome::kAlreadyDone);
  EXPECT_EQ(pot(), 10'000'000);
  EXPECT_EQ(fund("b", 5, 0), Outcome::kDone);
  EXPECT_EQ(pot(), 15'000'000);
  EXPECT_EQ(books.pots()->front().interval, 60);
  EXPECT_EQ(physics(), 85'000'000);
  EXPECT_EQ(fund("c", 86), Outcome::kNoFunds);
  expect_whole();
}

TEST_F(PotBooks, AllPartsOrNone) {
  ChangePots two{"a",
                 1,
                 ChangePots::Kind::kFund,
                 {{kPot, "physics", Money::from_micro(60'000'000), 60},
                  {"@c1:gpu/cpu/ada/physics", "physics", Money::from_micro(60'000'000), 60}}};
  EXPECT_EQ(change(two), Outcome::kNoFunds);
  EXPECT_TRUE(books.pots()->empty());
}

TEST_F(PotBooks, AnIntervalChangesOnceForEachToken) {
  fund("a", 10);
  const auto set = [this](const std::string& token, Time interval) {
    return change({token, 1, ChangePots::Kind::kInterval, {{kPot, "physics", Money(), interval}}});
  };
  EXPECT_EQ(set("b", 30), Outcome::kDone);
  EXPECT_EQ(set("b", 90), Outcome::kAlreadyDone);
  EXPECT_EQ(books.pots()->front().interval, 30);
  EXPECT_EQ(pot(), 10'000'000);
}

TEST_F(PotBooks, AClosedPotReturnsWhatIsAskedAndNoMore) {
  fund("a", 10);
  const auto close = [this](const std::string& token, std::int64_t micro) {
    return change(
        {token, 1, ChangePots::Kind::kClose, {{kPot, "physics", Money::from_micro(micro), 0}}});
  };
  EXPECT_EQ(close("b", 10'000'001), Outcome::kNoFunds);
  EXPECT_EQ(close("c", 10'000'000), Outcome::kDone);
  EXPECT_EQ(pot(), 0);
  EXPECT_EQ(physics(), 100'000'000);
  expect_whole();
}

// A run of 3 credits, of which the GPU's pot pays one: both pots fall by their parts.
TEST_F(PotBooks, TwoPotsPayOneRun) {
  fund("a", 10);
  fund("b", 4, 60, kGpuPot);
  Segment run;
  run.key = {"c", 7, 1, 0, "tok"};
  run.account = kPot;
  run.charged = Money::from_micro(3'000'000);
  run.end = 9;
  const Settle settle{run, {}, {}, {{kGpuPot, Money::from_micro(1'000'000)}}};
  EXPECT_EQ(books.apply({settle}, 9)->front(), Outcome::kDone);
  EXPECT_EQ(books.apply({settle}, 9)->front(), Outcome::kAlreadyDone);
  EXPECT_EQ(pot(), 8'000'000);
  EXPECT_EQ(pot(kGpuPot), 3'000'000);
  expect_whole();
}

// The first good's pot was never funded: the other one pays all.
TEST_F(PotBooks, APotThatWasNeverFundedKeepsNoRunFree) {
  fund("b", 4, 60, kGpuPot);
  Segment run;
  run.key = {"c", 7, 1, 0, "tok"};
  run.account = kPot;
  run.charged = Money::from_micro(1'000'000);
  run.end = 9;
  const Settle settle{run, {}, {}, {{kGpuPot, Money::from_micro(1'000'000)}}};
  EXPECT_EQ(books.apply({settle}, 9)->front(), Outcome::kDone);
  EXPECT_EQ(pot(), 0);
  EXPECT_EQ(pot(kGpuPot), 3'000'000);
  expect_whole();
}

// Nobody but the market moves what is in pots.
TEST_F(PotBooks, PotsAreNoAccountsOfPeople) {
  fund("a", 10);
  EXPECT_EQ(books.accounts()->size(), 1U);
  EXPECT_FALSE(books.withdraw(kPot, Money::from_micro(1), "", 3));
  EXPECT_FALSE(books.transfer(kPot, "physics", Money::from_micro(1), "", 3));
  EXPECT_FALSE(books.deposit(kPot, Money::from_micro(1), "", 3));
}

// 100 a day for 90 s in nine rounds: 100 · 90 / 86400 = 0.104167.
TEST_F(PotBooks, AnIncomeIsExactHoweverOftenItIsPaid) {
  ASSERT_TRUE(books.set_income("physics", Money::from_micro(100'000'000), 86400, 0, 1000));
  for (Time now = 1010; now <= 1090; now += 10) ASSERT_TRUE(books.pay_incomes(now));
  EXPECT_EQ(physics(), 100'104'167);
  EXPECT_EQ(*books.pay_incomes(1090), Money());
  expect_whole();
}

// Another income does not change what the first one brought; the second ends by itself.
TEST_F(PotBooks, AnIncomeEndsAndChanges) {
  ASSERT_TRUE(books.set_income("physics", Money::from_micro(86'400'000'000), 86400, 0, 1000));
  ASSERT_TRUE(books.set_income("physics", Money::from_micro(2'000'000), 1, 1020, 1010));
  EXPECT_EQ(physics(), 110'000'000);
  ASSERT_TRUE(books.pay_incomes(5000));
  EXPECT_EQ(physics(), 130'000'000);
  ASSERT_TRUE(books.set_income("physics", Money(), 1, 0, 6000));
  ASSERT_TRUE(books.pay_incomes(9000));
  EXPECT_EQ(physics(), 130'000'000);
}

TEST_F(PotBooks, RevenueIsCollectedAndAllotmentsComeOnce) {
  Segment run;
  run.key = {"c", 7, 1, 0, "tok"};
  run.account = "physics";
  run.charged = Money::from_micro(3'000'000);
  run.end = 9;
  books.apply({Settle{run, {}, {}, {}}}, 9);
  EXPECT_EQ(books.collect("", 10)->micro(), 3'000'000);
  EXPECT_EQ(*books.collect("", 11), Money());
  EXPECT_TRUE(books.allot("physics", Money::from_micro(5'000'000), "", 12));
  EXPECT_FALSE(books.allot("physics", Money::from_micro(5'000'000), "", 13));
  EXPECT_EQ(physics(), 102'000'000);
  expect_whole();
}

// Receipts come once for ever, whatever their token; their credits come out of the other cluster's account.
TEST_F(PotBooks, AReceiptMovesOnce) {
  const auto take = [this](const std::string& token, const std::string& id, std::int64_t micro) {
    return change({token,
                   1,
                   ChangePots::Kind::kReceipt,
                   {{kPot, bank_account("hpc2"), Money::from_micro(micro), 60}},
                   "hpc2:" + id});
  };
  EXPECT_EQ(take("a", "r1", 5), Outcome::kDone);
  EXPECT_EQ(take("a", "r1", 5), Outcome::kAlreadyDone);
  EXPECT_EQ(take("b", "r1", 5), Outcome::kRefused);
  EXPECT_EQ(take("c", "r2", 0), Outcome::kRefused);
  EXPECT_EQ(take("d", "r3", 7), Outcome::kDone);
  EXPECT_EQ(pot(), 12);
  EXPECT_EQ(books.accounts()->front().balance.posted.micro(), 100'000'000);
  expect_whole();
}

TEST_F(PotBooks, CreditsAreSentOnceForEachToken) {
  const auto send = [this](std::int64_t micro, const char* place = "main/ada") {
    return books
        .apply({SendCredits{"t", 1, "physics", "hpc2", place, Money::from_micro(micro)}}, 3)
        ->front();
  };
  EXPECT_EQ(send(100'000'001), Outcome::kNoFunds);
  EXPECT_EQ(send(40'000'000), Outcome::kDone);
  EXPECT_EQ(send(40'000'000), Outcome::kAlreadyDone);
  EXPECT_EQ(send(41'000'000), Outcome::kRefused);
  EXPECT_EQ(send(40'000'000, "main/bob"), Outcome::kRefused);
  EXPECT_EQ(physics(), 60'000'000);
  expect_whole();
}

// A node earns for one account; a second allotment is refused, other nodes are not.
TEST_F(PotBooks, NodesJoinForOneAccount) {
  ASSERT_TRUE(books.add_account("chem", "", 1));
  EXPECT_TRUE(books.join("physics", "c1", "n[1-2],gpu1", 2));
  const auto taken = books.join("chem", "c1", "n[2-3]", 3);
  ASSERT_FALSE(taken.has_value());
  EXPECT_NE(taken.error().text.find("n2 earns for account physics"), std::string::npos);
  EXPECT_TRUE(books.join("chem", "c2", "n[2-3]", 3));
  EXPECT_EQ(books.joined("c1")->size(), 3U);
  EXPECT_EQ(books.joined("c2")->at("n3"), "chem");
  EXPECT_TRUE(books.join("physics", "c1", "", 4));
  EXPECT_TRUE(books.joined("c1")->empty());
  EXPECT_FALSE(books.join("nobody", "c1", "n9", 5));
  EXPECT_FALSE(books.join("chem", "c1", "n[", 5));
}

// The account that paid a run is found behind the pot that was charged.
TEST_F(PotBooks, RunsOfPotsAreOfTheirAccount) {
  fund("a", 10);
  Segment run;
  run.key = {"c", 7, 1, 0, "tok"};
  run.account = kPot;
  run.charged = Money::from_micro(1'000'000);
  run.end = 9;
  books.apply({Settle{run, {}, {}, {}}}, 9);
  run.key = {"c", 8, 1, 0, "tik"};
  run.account = "physics";
  books.apply({Settle{run, {}, {}, {}}}, 9);
  SegmentFilter filter;
  filter.accounts = {"Physics"};
  EXPECT_EQ(books.segments(filter)->size(), 2U);
  filter.accounts = {"physic"};
  EXPECT_EQ(books.segments(filter)->size(), 0U);
  EXPECT_EQ(paying_account("@c1:main/gres/gpu/ada/physics"), "physics");
  EXPECT_EQ(paying_account("physics"), "physics");
}

}  // namespace
}  // namespace market::ledger
