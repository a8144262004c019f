// SPDX-License-Identifier: GPL-2.0-or-later
// Runs in pages for those who may see them: the same runs as the whole, each once, in its order, and
// nobody else's.
#include "core/ledger/runs.h"

#include <fmt/format.h>

#include <random>

#include "books.h"

namespace market::ledger::test {
namespace {

constexpr std::uint32_t kAnn = 1000, kBob = 1001;

/// A run that is over, `ago` seconds before kNow; its texts tell it apart.
Settle over(std::uint32_t job, std::uint32_t uid, const char* account, Time ago) {
  Settle settle = settled(run_of(job, account, credits("2")), credits("1"));
  settle.segment.uid = uid;
  settle.segment.user = uid == kAnn ? "ann" : "bob";
  settle.segment.end = kNow - ago;
  return settle;
}

class Runs : public ::testing::Test {
 protected:
  Runs() {
    for (const char* account : {"physics", "chem"}) {
      must(ledger.add_account(account, "", kNow));
      must(ledger.deposit(account, credits("100000"), "", kNow));
    }
  }
  /// All pages, and how many there were.
  std::vector<Segment> pages(RunsQuestion question, int* count = nullptr) {
    std::vector<NumberedRun> runs;
    for (int page_number = 1;; ++page_number) {
      const auto page = ledger.runs(question);
      EXPECT_TRUE(page.has_value()) << why(page);
      if (!page) return {};
      EXPECT_LE(page->runs.size(), kRunsInPage);
      runs.insert(runs.end(), page->runs.begin(), page->runs.end());
      if (count != nullptr) *count = page_number;
      if (!page->next) return merged(runs);
      EXPECT_NE(*page->next, question.after);
      question.after = *page->next;
    }
  }
  std::vector<std::string> keys(const std::vector<Segment>& runs) {
    std::vector<std::string> keys;
    for (const Segment& run : runs) keys.push_back(run.key.text());
    return keys;
  }
  std::vector<std::string> seen(const SegmentFilter& filter, const Viewer& viewer) {
    return keys(pages({filter, viewer, {}}));
  }
  /// The same out of the whole.
  std::vector<std::string> visible(const SegmentFilter& filter, const Viewer& viewer) {
    auto runs = ledger.segments(filter);
    EXPECT_TRUE(runs.has_value()) << why(runs);
    std::erase_if(*runs, [&](const Segment& run) {
      const auto& mine = viewer.accounts;
      return !viewer.sees_all && run.uid != viewer.uid &&
             std::find(mine.begin(), mine.end(), run.account) == mine.end();
    });
    return keys(*runs);
  }
  Ledger ledger = open_or_die(":memory:");
};

TEST_F(Runs, AreOnesOwnThoseOfCoordinatedAccountsOrAll) {
  must(ledger.apply(
      {over(1, kAnn, "physics", 30), over(2, kBob, "physics", 20), over(3, kBob, "chem", 10)},
      kNow));
  EXPECT_THAT(seen({}, {.uid = kAnn}), testing::ElementsAre("c1:1:1799999900:0"));
  EXPECT_THAT(seen({}, {.uid = kBob}),
              testing::ElementsAre("c1:2:1799999900:0", "c1:3:1799999900:0"));
  EXPECT_THAT(seen({}, {.uid = 5}), testing::IsEmpty());
  EXPECT_THAT(seen({}, {.uid = 5, .accounts = {"physics"}}),
              testing::ElementsAre("c1:1:1799999900:0", "c1:2:1799999900:0"));
  EXPECT_THAT(seen({.accounts = {"chem"}}, {.uid = 5, .accounts = {"physics"}}),
              testing::IsEmpty());
  EXPECT_EQ(seen({}, {.sees_all = true}).size(), 3U);
}

// Names of accounts and users are data, also where they look like SQL.
TEST_F(Runs, FilterTextsAreNeverSql) {
  must(ledger.apply({over(1, kAnn, "physics", 30)}, kNow));
  for (const char* text : {"' OR 1=1 --", "x') OR (1", "physics' OR '1'='1"}) {
    EXPECT_THAT(seen({.accounts = {text}}, {.uid = kBob}), testing::IsEmpty());
    EXPECT_THAT(seen({}, {.uid = kBob, .accounts = {text}}), testing::IsEmpty());
    EXPECT_THAT(seen({.users = {text}, .partitions = {text}, .states = {text}}, {.uid = kBob}),
                testing::IsEmpty());
  }
}

TEST_F(Runs, OfManyComeInPagesOfBoundedSize) {
  std::vector<Operation> operations;
  for (std::uint32_t job = 1; job <= 2 * kRunsInPage + 1; ++job)
    operations.push_back(over(job, kAnn, "physics", static_cast<Time>(job % 7)));
  Settle large = over(9000, kAnn, "physics", 3);
  large.segment.tres = std::string(kBytesInPage, 'x');
  operations.push_back(large);
  must(ledger.apply(operations, kNow));
  int count = 0;
  EXPECT_EQ(keys(pages({{}, {.uid = kAnn}, {}}, &count)), visible({}, {.uid = kAnn}));
  EXPECT_EQ(count, 3);  // a full one, one that the large run ends before its time, the rest
  EXPECT_EQ(pages({{}, {.uid = kBob}, {}}).size(), 0U);
}

// A run that is open in one page and over in a later one is told as it is then.
TEST_F(Runs, EndBetweenTwoPages) {
  Segment run = run_of(1, "physics", credits("2"));
  run.uid = kAnn;
  must(ledger.apply({PlaceLien{run}}, kNow));
  RunsQuestion question{{.open_too = true}, {.uid = kAnn}, {}};
  const auto first = ledger.runs(question);
  ASSERT_TRUE(first.has_value() && first->next.has_value());
  ASSERT_EQ(first->runs.size(), 1U);
  must(ledger.apply({settled(run, credits("1"))}, kNow));
  question.after = *first->next;
  const auto second = ledger.runs(question);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->next, std::nullopt);
  std::vector<NumberedRun> all = first->runs;
  all.insert(all.end(), second->runs.begin(), second->runs.end());
  const auto once = merged(all);
  ASSERT_EQ(once.size(), 1U);
  EXPECT_EQ(once[0].state, "COMPLETED");
}

// Random books, filters and viewers: the pages hold exactly what the whole does.
TEST_F(Runs, OfAllPagesAreThoseOfTheWhole) {
  std::mt19937 random(20261129);
  const auto draw = [&random](int count) { return static_cast<int>(random() % count); };
  std::vector<Operation> operations;
  for (std::uint32_t job = 1; job <= 600; ++job) {
    const std::uint32_t uid = draw(2) == 0 ? kAnn : kBob;
    Settle settle = over(1 + draw(300), uid, draw(2) == 0 ? "physics" : "chem", draw(1000));
    Segment& run = settle.segment;
    run.key.bid = fmt::format("b{}", job);
    run.key.restart = draw(3);
    run.partition = draw(2) == 0 ? "main" : "gpu";
    run.state = draw(2) == 0 ? "COMPLETED" : "FAILED";
    run.mechanism = draw(2) == 0 ? "era/1" : "dva/2";
    if (draw(3) == 0) run.array_job_id = 1 + draw(300), run.array_task_id = draw(5);
    if (draw(10) == 0)
      operations.push_back(PlaceLien{run});
    else
      operations.push_back(settle);
  }
  must(ledger.apply(operations, kNow));
  for (int trial = 0; trial < 200; ++trial) {
    SegmentFilter filter;
    if (draw(2) == 0) filter.since = kNow - draw(1000);
    if (draw(3) == 0) filter.until = kNow - draw(500);
    if (draw(3) == 0) filter.accounts = {"PHYSICS"};
    if (draw(4) == 0) filter.users = {"bob"};
    if (draw(4) == 0) filter.partitions = {"gpu", "main"};
    if (draw(4) == 0) filter.states = {"FAILED"};
    if (draw(4) == 0) filter.mechanisms = {"era"};
    if (draw(4) == 0) filter.jobs = {static_cast<std::uint32_t>(1 + draw(300)), 7};
    filter.open_too = draw(2) == 0;
    Viewer viewer;
    viewer.sees_all = draw(3) == 0;
    viewer.uid = draw(2) == 0 ? kAnn : kBob;
    if (draw(2) == 0) viewer.accounts = {"chem"};
    EXPECT_EQ(seen(filter, viewer), visible(filter, viewer)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace market::ledger::test
