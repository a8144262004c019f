// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that utilities are learned from: each once, by user and name, and never more than so many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

RecordUtility run_of(const char* name, int number, std::uint32_t uid = 7, Time ended = kNow) {
  return {
      fmt::format("c1:{}:0:{}{}", number, name, uid),
      "c1",
      {{"market", uid, name}, ended + number, 60.0 + number, {{"cpu", 0.1 + 0.2}, {"mem", 1e-7}}},
      0};
}

std::size_t runs_of(const Ledger& books, const char* name, std::uint32_t uid = 7) {
  return books.utility_runs({"c1", 0, UtilityName{"market", uid, name}})->size();
}

TEST(UtilityRuns, AreKeptOnceAndReadBackExactly) {
  Ledger books = open_or_die(":memory:");
  const RecordUtility run = run_of("render", 1);
  EXPECT_EQ(apply_one(books, run), Outcome::kDone);
  EXPECT_EQ(apply_one(books, run), Outcome::kAlreadyDone);
  const auto runs = books.utility_runs({"c1"});
  ASSERT_TRUE(runs && runs->size() == 1);
  EXPECT_EQ(runs->front().of, run.run.of);
  EXPECT_EQ(runs->front().shares, run.run.shares);
  EXPECT_EQ(runs->front().seconds, 61);
  EXPECT_TRUE(books.utility_runs({"c2"})->empty());
  EXPECT_TRUE(books.utility_runs({"c1", kNow + 2})->empty());
}

TEST(UtilityRuns, AreForgottenByUserAndName) {
  Ledger books = open_or_die(":memory:");
  for (const std::uint32_t uid : {7u, 8u}) {
    apply_one(books, run_of("render", 1, uid));
    apply_one(books, run_of("train", 2, uid));
  }
  const ForgetUtility forget{"c1", {"market", 7, "render"}};
  EXPECT_EQ(apply_one(books, forget), Outcome::kDone);
  EXPECT_EQ(apply_one(books, forget), Outcome::kAlreadyDone);
  EXPECT_EQ(runs_of(books, "render"), 0u);
  EXPECT_EQ(runs_of(books, "train"), 1u);
  EXPECT_EQ(runs_of(books, "render", 8), 1u);
}

// Who makes up names pushes out his own.
TEST(UtilityRuns, OfNamesAndRunsOnlyTheNewestAreKept) {
  Ledger books = open_or_die(":memory:");
  apply_one(books, run_of("render", 1, 8));
  for (int i = 0; i < static_cast<int>(kMostUtilityRuns) + 5; ++i)
    apply_one(books, run_of("render", i));
  ASSERT_EQ(runs_of(books, "render"), kMostUtilityRuns);
  EXPECT_EQ(books.utility_runs({"c1", 0, UtilityName{"market", 7, "render"}})->front().ended,
            kNow + 5);
  for (int i = 0; i < static_cast<int>(kMostUtilityNames); ++i)
    apply_one(books, run_of(fmt::format("n{}", i).c_str(), 1000 + i));
  EXPECT_EQ(runs_of(books, "render"), 0u) << "its last run is the longest ago";
  EXPECT_EQ(runs_of(books, "n0"), 1u);
  EXPECT_EQ(books.utility_runs({"c1"})->size(), kMostUtilityNames + 1);
  EXPECT_EQ(runs_of(books, "render", 8), 1u);
}

TEST(UtilityRuns, OldOnesGo) {
  Ledger books = open_or_die(":memory:");
  apply_one(books, run_of("render", 1));
  RecordUtility later = run_of("render", 2, 7, kNow + 1000);
  later.forget_before = kNow + 500;
  apply_one(books, later);
  EXPECT_EQ(runs_of(books, "render"), 1u);
}

TEST(UtilityRuns, WhatCannotBeIsRefused) {
  Ledger books = open_or_die(":memory:");
  for (const double seconds : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    RecordUtility run = run_of("render", 1);
    run.run.seconds = seconds;
    EXPECT_EQ(apply_one(books, run), Outcome::kRefused) << seconds;
  }
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    RecordUtility run = run_of("render", 1);
    run.run.shares["cpu"] = share;
    EXPECT_EQ(apply_one(books, run), Outcome::kRefused) << share;
  }
}

}  // namespace
}  // namespace market::ledger::test
