// SPDX-License-Identifier: GPL-2.0-or-later
// What administrators do: accounts, members, deposits, withdrawals, transfers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Accounts : public testing::Test {
 protected:
  void SetUp() override { must(ledger.add_account("physics", "solid state", kNow)); }
  void TearDown() override { expect_balanced(ledger); }
  Ledger ledger = open_or_die(":memory:");
};

TEST_F(Accounts, ANewAccountOwnsNothing) {
  const auto accounts = ledger.accounts();
  ASSERT_TRUE(accounts.has_value());
  ASSERT_EQ(accounts->size(), 1u);
  EXPECT_EQ(accounts->at(0).balance.account, "physics");
  EXPECT_EQ(accounts->at(0).balance.posted, Money());
  EXPECT_EQ(accounts->at(0).note, "solid state");
}

TEST_F(Accounts, NamesAreStoredInLowerCaseAndAreUnique) {
  EXPECT_THAT(why(ledger.add_account("PHYSICS", "", kNow)), HasSubstr("physics exists already"));
  must(ledger.deposit("Physics", credits("3"), "", kNow));
  EXPECT_EQ(balance_of(ledger, "physics").posted, credits("3"));
}

TEST_F(Accounts, OddNamesAreRefused) {
  for (const std::string name : {"", "a b", "@treasury", "a/b", "a\nb", "\xff\xfe", "ä"}) {
    EXPECT_THAT(why(ledger.add_account(name, "", kNow)), HasSubstr("are allowed")) << name;
  }
  EXPECT_THAT(why(ledger.add_account(std::string(65, 'a'), "", kNow)), HasSubstr("1 to 64"));
  must(ledger.add_account(std::string(64, 'a'), "", kNow));
}

TEST_F(Accounts, TheSystemsOwnAccountsAreNotForPeople) {
  EXPECT_FALSE(ledger.deposit("@revenue", credits("1"), "", kNow).has_value());
  EXPECT_FALSE(ledger.withdraw("@treasury", credits("1"), "", kNow).has_value());
  EXPECT_EQ(apply_one(ledger, PlaceLien{run_of(1, "@treasury", Money())}), Outcome::kNoAccount);
}

TEST_F(Accounts, MembersComeAndGo) {
  must(ledger.set_members("physics", {"bob", "ann", "ann"}, {}));
  EXPECT_THAT(ledger.accounts()->at(0).members, ElementsAre("ann", "bob"));
  must(ledger.set_members("physics", {"cy"}, {"bob", "never-was"}));
  EXPECT_THAT(ledger.accounts()->at(0).members, ElementsAre("ann", "cy"));
  EXPECT_THAT(why(ledger.set_members("physics", {"zoe", "a,b"}, {})), HasSubstr("user name 'a,b'"));
  EXPECT_THAT(ledger.accounts()->at(0).members, ElementsAre("ann", "cy")) << "all or nothing";
  EXPECT_EQ(why(ledger.set_members("chem", {"ann"}, {})), "no account 'chem'");
}

TEST_F(Accounts, DepositsAndWithdrawalsMoveTheBalance) {
  must(ledger.deposit("physics", credits("100.000001"), "Q4", kNow));
  must(ledger.withdraw("physics", credits("0.000001"), "typo", kNow + 1));
  EXPECT_EQ(balance_of(ledger, "physics").posted, credits("100"));
  const auto entries = ledger.entries("physics", 0, kNow + 2);
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->at(0).kind, "deposit");
  EXPECT_EQ(entries->at(0).counterpart, "@treasury");
  EXPECT_EQ(entries->at(0).note, "Q4");
  EXPECT_EQ(entries->at(1).amount.to_string(), "-0.000001");
}

TEST_F(Accounts, AmountsMustBePositive) {
  for (const Money amount : {Money(), Money::from_micro(-1)}) {
    EXPECT_THAT(why(ledger.deposit("physics", amount, "", kNow)), HasSubstr("more than 0"));
    EXPECT_THAT(why(ledger.withdraw("physics", amount, "", kNow)), HasSubstr("more than 0"));
    EXPECT_THAT(why(ledger.transfer("physics", "physics", amount, "", kNow)),
                HasSubstr("more than 0"));
  }
}

TEST_F(Accounts, NothingBelowTheLiensCanBeTakenOut) {
  must(ledger.add_account("chem", "", kNow));
  must(ledger.deposit("physics", credits("100"), "", kNow));
  ASSERT_EQ(apply_one(ledger, PlaceLien{run_of(1, "physics", credits("60"))}), Outcome::kDone);
  EXPECT_THAT(why(ledger.withdraw("physics", credits("40.01"), "", kNow)),
              HasSubstr("40.00 available"));
  EXPECT_THAT(why(ledger.transfer("physics", "chem", credits("41"), "", kNow)),
              HasSubstr("40.00 available"));
  must(ledger.transfer("physics", "chem", credits("30"), "", kNow));
  must(ledger.withdraw("physics", credits("10"), "", kNow));
  EXPECT_EQ(balance_of(ledger, "physics").available(), Money());
  EXPECT_EQ(balance_of(ledger, "chem").posted, credits("30"));
}

TEST_F(Accounts, ATransferNeedsTwoAccounts) {
  must(ledger.deposit("physics", credits("5"), "", kNow));
  EXPECT_THAT(why(ledger.transfer("physics", "Physics", credits("1"), "", kNow)),
              HasSubstr("two accounts"));
  EXPECT_EQ(why(ledger.transfer("physics", "chem", credits("1"), "", kNow)), "no account 'chem'");
}

TEST_F(Accounts, SumsOutOfRangeAreRefusedNotWrapped) {
  must(ledger.deposit("physics", Money::from_micro(Money::kMaxMicro), "", kNow));
  EXPECT_THAT(why(ledger.deposit("physics", Money::from_micro(1), "", kNow)),
              HasSubstr("range of money"));
  must(ledger.add_account("chem", "", kNow));
  EXPECT_THAT(why(ledger.deposit("chem", Money::from_micro(1), "", kNow)),
              HasSubstr("range of money"))
      << "the treasury would leave the range";
}

TEST_F(Accounts, AStatementKeepsToItsWindow) {
  must(ledger.deposit("physics", credits("1"), "first", 100));
  must(ledger.deposit("physics", credits("2"), "second", 200));
  must(ledger.deposit("physics", credits("3"), "third", 300));
  const auto entries = ledger.entries("physics", 200, 300);
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).note, "second");
  EXPECT_FALSE(ledger.entries("chem", 0, kNow).has_value());
}

// Every text that an administrator enters: statements are read line by line and as JSON.
TEST_F(Accounts, NotesAndNamesAreTextOfOneLine) {
  const std::string good = "na\u00efve, \"a|b\"";
  for (const char* bad : {"two\nlines", "a\ttab", "\x1b[31m", "bad \xff", "\xc2\x85", "\x7f",
                          "cut \xe2\x82", "\xed\xa0\x80"}) {
    EXPECT_THAT(why(ledger.add_account("new", bad, kNow)), HasSubstr("the note: UTF-8")) << bad;
    EXPECT_THAT(why(ledger.deposit("physics", credits("1"), bad, kNow)), HasSubstr("the note"));
    EXPECT_THAT(why(ledger.withdraw("physics", credits("1"), bad, kNow)), HasSubstr("the note"));
    EXPECT_THAT(why(ledger.transfer("physics", "chem", credits("1"), bad, kNow)),
                HasSubstr("the note"));
    EXPECT_THAT(why(ledger.refund("c1", 1, credits("1"), kWindow, false, bad, kNow)),
                HasSubstr("the note"));
    EXPECT_THAT(why(ledger.set_members("physics", {bad}, {})), HasSubstr("user name '"));
    EXPECT_THAT(why(ledger.add_account(bad, "", kNow)), HasSubstr("account name '"));
  }
  must(ledger.add_account("new", good, kNow));
  must(ledger.deposit("new", credits("1"), good, kNow));
  EXPECT_EQ(ledger.entries("new", 0, kNow + 1)->at(0).note, good);
}

}  // namespace
}  // namespace market::ledger::test
