// SPDX-License-Identifier: GPL-2.0-or-later
// What owners ask is kept with who and when, and what their nodes brought them.
#include <gtest/gtest.h>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

PostAsk ask_of(const char* token, double price, std::vector<PostAsk::Node> nodes) {
  return {token, "c1", 7, {price, {{"gres/gpu:a100", 0.6}, {"mem", 0.000002}}}, std::move(nodes)};
}

TEST(Asks, TheLastOneOfANodeHoldsAndAllAreKept) {
  Ledger books = open_or_die(":memory:");
  const PostAsk first = ask_of("a", 250, {{"n4", "lab-4"}, {"n3", "lab-3"}});
  EXPECT_EQ(apply_one(books, first, kNow), Outcome::kDone);
  EXPECT_EQ(apply_one(books, first, kNow + 5), Outcome::kAlreadyDone);
  EXPECT_EQ(apply_one(books, ask_of("b", 1.5, {{"n4", "lab-9"}}), kNow + 9), Outcome::kDone);
  const auto last = books.asks("c1");
  ASSERT_TRUE(last && last->size() == 2);
  EXPECT_EQ(last->at(0).node, "n3");
  EXPECT_EQ(last->at(0).ask, first.ask);
  EXPECT_EQ(last->at(0).since, kNow);
  EXPECT_EQ(last->at(1).ask.price, 1.5);
  EXPECT_EQ(last->at(1).account, "lab-9");
  EXPECT_EQ(last->at(1).uid, 7u);
  EXPECT_EQ(last->at(1).token, "b");
  EXPECT_TRUE(books.asks("c2")->empty());
  EXPECT_EQ(books.earnings({"c1", kNow, kNow + 99, true, {}})->asks.size(), 3u);
  EXPECT_EQ(books.earnings({"c1", kNow + 1, kNow + 99, true, {}})->asks.size(), 1u);
}

TEST(Asks, NodesEarnAndGiveBackTheirPartsOfRefunds) {
  Ledger books = open_or_die(":memory:");
  for (const char* name : {"physics", "lab-a"}) must(books.add_account(name, "", kNow));
  must(books.deposit("physics", credits("100"), "", kNow));
  Settle end = settled(run_of(7, "physics", credits("50")), credits("10"), credits("0"));
  end.payees = {{"lab-a", credits("9")}};
  end.nodes = {{"n1", "lab-a", credits("5"), credits("6"), 40},
               {"n2", "lab-a", credits("2"), credits("3"), 20}};
  EXPECT_EQ(apply_one(books, end), Outcome::kDone);
  EXPECT_EQ(apply_one(books, end), Outcome::kAlreadyDone);
  const EarningsQuestion all{"c1", 0, kNow + 1'000'000, true, {}};
  auto page = books.earnings(all);
  ASSERT_TRUE(page && page->nodes.size() == 2);
  EXPECT_EQ(page->nodes[0].node, "n1");
  EXPECT_EQ(page->nodes[0].earned, credits("6"));
  EXPECT_EQ(page->nodes[0].asked, credits("5"));
  EXPECT_EQ(page->nodes[0].cpu_seconds, 40);
  EXPECT_EQ(page->nodes[1].runs, 1);
  // 5 of 10 return: lab-a gives 4.5 of its 9, by node 3 of 6 and 1.5 of 3.
  must(books.refund("c1", 7, credits("5"), kWindow, false, "", kNow));
  page = books.earnings(all);
  EXPECT_EQ(page->nodes[0].earned, credits("3"));
  EXPECT_EQ(page->nodes[1].earned, credits("1.5"));
  expect_balanced(books);
}

}  // namespace
}  // namespace market::ledger::test
