// SPDX-License-Identifier: GPL-2.0-or-later
// submit: who is refused with which words, who is accepted at which price.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/market/note.h"
#include "core/util/slurm_time.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One CPU-hour costs one credit.
constexpr const char* kOneCredit = "mechanism = \"first_fit\";\nprices = { fixed = \"1\"; };\n";

class Admission : public ::testing::Test {
 protected:
  Admission() : world(kOneCredit) {
    EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100"), "", kStart));
    world.sync();
  }
  std::string refused(const Ask& ask) {
    const Answer answer = world.submit(ask);
    EXPECT_EQ(answer.verdict, MARKET_REJECTED);
    EXPECT_EQ(answer.text.rfind("market: ", 0), 0u) << answer.text;
    EXPECT_EQ(answer.text.find('\n'), std::string::npos);
    return answer.text;
  }
  World world;
};

TEST_F(Admission, JobWithoutBidIsLeftAlone) {
  EXPECT_EQ(world.submit(Ask{}).verdict, MARKET_NO_BID);
}

TEST_F(Admission, AcceptsAndSaysPriceStartAndRest) {
  const Answer answer = world.submit(Ask{.budget = "10", .cpus = 4, .limit_min = 120});
  EXPECT_EQ(answer.verdict, MARKET_ACCEPTED);
  EXPECT_THAT(answer.text, HasSubstr("market: accepted for 8.00 credits (physics), starts by "));
  EXPECT_THAT(answer.text, HasSubstr("; 92.00 left to spend"));
  const auto note = read_note(answer.note);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->price, *Money::parse("8"));
  EXPECT_EQ(note->end, kStart + 7200 + 60);
  EXPECT_LT(answer.note.size(), std::size_t{MARKET_NOTE_MAX});
}

TEST_F(Admission, MalformedBidsAreOneClearLine) {
  for (const char* bad :
       {"-5", "nan", "1e9", "99999999999999999999999", "4\x80\xff", "", " ", "1,5"}) {
    market_submission_t submission{};
    submission.budget = bad;
    submission.time_limit_min = 10;
    const Answer answer = world.market().submit(submission, kStart);
    EXPECT_EQ(answer.verdict, MARKET_REJECTED);
    EXPECT_THAT(answer.text, HasSubstr("market: --budget="));
    for (const char c : answer.text) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
  EXPECT_LT(refused(Ask{.budget = std::string(100000, 'x')}).size(), 300u);
  EXPECT_THAT(refused(Ask{.value = "40:2:1"}), HasSubstr("--value=40:2:1"));
  EXPECT_THAT(refused(Ask{.budget = "1", .value = "40:1:2"}),
              HasSubstr("give one of --budget, --budget-rate, --value and --quote"));
}

TEST_F(Admission, RefusesWhatCannotBePlanned) {
  EXPECT_THAT(refused(Ask{.budget = "1", .limit_min = 0}), HasSubstr("time limit"));
  EXPECT_THAT(refused(Ask{.budget = "1", .deadline = kStart - 1}), HasSubstr("past"));
  EXPECT_THAT(refused(Ask{.budget = "1", .deadline = kStart + 600}), HasSubstr("too near"));
  EXPECT_THAT(refused(Ask{.budget = "100", .cpus = 17}),
              HasSubstr("needs 17 CPUs, and partition main has 16"));
  EXPECT_THAT(refused(Ask{.budget = "1", .begin = kStart + 8 * 86400}), HasSubstr("ahead"));
  EXPECT_THAT(refused(Ask{.budget = "1", .array = 101}), HasSubstr("100"));
  EXPECT_THAT(refused(Ask{.budget = "1", .partition = "main,other"}),
              HasSubstr("no partition other"));
  EXPECT_THAT(refused(Ask{.budget = "1", .partition = "other"}), HasSubstr("no partition other"));
}

TEST_F(Admission, OnlyMembersSpend) {
  EXPECT_THAT(refused(Ask{.budget = "1", .account = "chemistry"}), HasSubstr("chemistry"));
  EXPECT_THAT(refused(Ask{.budget = "1", .uid = 65534}),
              HasSubstr("not a member of account physics"));
  EXPECT_THAT(refused(Ask{.budget = "1", .account = "", .uid = 65534}), HasSubstr("no member"));
  const Answer sole = world.submit(Ask{.budget = "1", .account = ""});
  EXPECT_EQ(sole.verdict, MARKET_ACCEPTED);
  EXPECT_EQ(sole.account, "physics");
  ASSERT_TRUE(world.books().add_account("biology", "", kStart));
  ASSERT_TRUE(world.books().set_members("biology", {"root"}, {}));
  world.sync();
  EXPECT_THAT(refused(Ask{.budget = "1", .account = ""}), HasSubstr("biology, physics"));
}

TEST_F(Admission, RefusalOffersBidsThatPass) {
  const std::string text = refused(Ask{.budget = "3", .cpus = 4, .limit_min = 60});
  EXPECT_THAT(
      text,
      HasSubstr("needs 4.00, budget is 3.00. Would pass: --budget=4.00, or -t 0:45:00 (3.00)"));
  EXPECT_EQ(world.submit(Ask{.budget = "4.00", .cpus = 4}).verdict, MARKET_ACCEPTED);
  EXPECT_EQ(world.submit(Ask{.budget = "3", .cpus = 4, .limit_min = 45}).verdict, MARKET_ACCEPTED);
}

TEST_F(Admission, RefusalOffersALaterDeadline) {
  // All 16 CPUs are sold until 1:01, so the next hour ends at 2:02.
  EXPECT_NE(world.run(Ask{.budget = "16", .cpus = 16}), 0u);
  const std::string text = refused(Ask{.budget = "16", .cpus = 16, .deadline = kStart + 7200});
  EXPECT_THAT(text, HasSubstr("--deadline="));
  EXPECT_EQ(world.submit(Ask{.budget = "16", .cpus = 16, .deadline = kStart + 2 * 3660}).verdict,
            MARKET_ACCEPTED);
}

// Jobs without a bid have all nodes for three days, and the market sells one. Who asks for a single node that comes free
// earlier is told of that one.
TEST(AdmissionPolicy, AFullWindowSaysUntilWhen) {
  World world(std::string(kOneCredit) +
              "planning = { horizon = \"1-0\"; start_slack = \"1:00\"; };\n");
  EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100"), "", kStart));
  world.sync();
  std::vector<std::uint32_t> runs;
  for (int node = 0; node < 4; ++node)
    runs.push_back(
        world.run(Ask{.cpus = 4, .limit_min = node == 0 ? 2880U : 4320U, .runtime = 5 * 86400}));
  world.advance(world.now + 20);
  const auto told = [&world](std::uint32_t cpus, Time deadline) {
    return world.submit(Ask{.budget = "90", .cpus = cpus, .limit_min = 60, .deadline = deadline})
        .text;
  };
  const Time two_days = world.job(runs[0]).start + 2 * 86400, three_days = two_days + 86400;
  EXPECT_THAT(
      told(4, 0),
      HasSubstr(
          "nothing is for sale in the job's window. No place for such a job was found before " +
          format_time_short(two_days, world.now) + "."));
  EXPECT_THAT(told(16, 0), HasSubstr("No place for such a job was found before " +
                                     format_time_short(three_days, world.now) + "."));
  EXPECT_THAT(told(4, world.now + 7200), HasSubstr("No place for such a job was found before " +
                                                   format_time_short(two_days, world.now)));
  // One day less: it can be had later within the window, which a deadline alone rules out.
  world.end(world.job(runs[0]), MARKET_JOB_CANCELLED);
  world.advance(world.now + 10);
  EXPECT_EQ(world.submit(Ask{.budget = "90", .cpus = 4, .limit_min = 60}).verdict, MARKET_ACCEPTED);
  EXPECT_THAT(told(4, world.now + 3700),
              Not(HasSubstr("No place for such a job was found before")));
}

TEST_F(Admission, FundsAreCheckedAgainstWhatIsLeft) {
  EXPECT_THAT(refused(Ask{.budget = "200", .cpus = 16, .limit_min = 600}),
              HasSubstr("needs 160.00, available 100.00 on physics"));
}

// 4 CPUs for 15 hours cost 60 of the 100 credits: one such bid at a time.
const Ask kMostOfTheFunds{.budget = "60", .cpus = 4, .limit_min = 900};

TEST_F(Admission, AcceptanceWhoseCallGoesOnIsKept) {
  const Answer first = world.submit(kMostOfTheFunds);
  ASSERT_EQ(first.verdict, MARKET_ACCEPTED);
  // Slurm may be slow between the question and the job: no number of passes says that none comes.
  for (world.now = kStart + 1; world.now < kStart + 59; ++world.now) world.step();
  EXPECT_EQ(world.submit(kMostOfTheFunds).verdict, MARKET_REJECTED);
  world.now = kStart + 61;  // nobody's call takes a minute
  world.step();
  EXPECT_EQ(world.submit(kMostOfTheFunds).verdict, MARKET_ACCEPTED);
}

// As newer versions of Slurm serve calls: by threads that do not end.
TEST_F(Admission, WhatSlurmMadeAndDroppedIsGivenBackInTheNextPass) {
  const Answer answer = world.submit(kMostOfTheFunds);
  ASSERT_EQ(answer.verdict, MARKET_ACCEPTED);
  world.step();
  EXPECT_EQ(world.submit(kMostOfTheFunds).verdict, MARKET_REJECTED) << "the job may still come";
  EXPECT_GT(world.market().site_factor(1, answer.note), 0u);
  world.step();
  EXPECT_NE(world.run(kMostOfTheFunds), 0u);
}

TEST_F(Admission, WhatBecameNoJobIsGivenBackInTheNextPass) {
  ASSERT_EQ(world.test_only(kMostOfTheFunds).verdict, MARKET_ACCEPTED);
  EXPECT_EQ(world.submit(kMostOfTheFunds).verdict, MARKET_REJECTED);
  world.step();
  EXPECT_NE(world.run(kMostOfTheFunds), 0u);
  world.step();
  world.sync();
  EXPECT_EQ(world.balance("physics").liens, *Money::parse("60"));
}

// The repro of a user who asks for the whole cluster 30 times and submits nothing: for others
// nothing changes, neither the start nor the price.
TEST_F(Admission, QuestionsSellNothingOut) {
  const std::string question =
      R"({"verb":"quote","size":{"tasks":16},"time_limit_s":3600,"account":"physics"})";
  const std::string before = world.query(question);
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(world.test_only(Ask{.budget = "16", .cpus = 16}).verdict, MARKET_ACCEPTED);
    world.step();
  }
  EXPECT_EQ(world.query(question), before);
}

TEST_F(Admission, JobsOfAnArrayKeepTheirPlacesWhileSlurmSplitsIt) {
  world.obey = false;  // the first pass sees the array, and Slurm splits it later
  ASSERT_NE(world.run(Ask{.budget = "16", .cpus = 4, .array = 4}), 0u);
  for (int i = 0; i < 5; ++i) world.step();
  EXPECT_EQ(world.submit(Ask{.budget = "90", .cpus = 8, .limit_min = 660}).verdict,
            MARKET_REJECTED);  // 88 credits, and 84 are left
  world.obey = true;
  world.step();
  world.step();
  world.sync();
  EXPECT_EQ(world.balance("physics").liens, *Money::parse("16"));
}

TEST_F(Admission, HonestPipelineIsNeverSentAway) {
  // 1,000 one-minute jobs, each seen by the pass after it; 1/60 of a credit apiece.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(world.run(Ask{.budget = "1", .limit_min = 1}), 0u) << i;
    world.step();
  }
}

TEST_F(Admission, HonestBurstBetweenTwoPassesIsServed) {
  // As many as four clients bring within a second, one call after the other has ended.
  for (int i = 0; i < 1000; ++i) ASSERT_NE(world.run(Ask{.budget = "1", .limit_min = 1}), 0u) << i;
  world.step();
  EXPECT_EQ(world.jobs.size(), 1000u);
}

TEST_F(Admission, FloodIsToldToTryAgain) {
  // 128 calls of one user at once are served; the next one waits until one of them has ended.
  std::vector<Answer> open;
  for (int i = 0; i < 128; ++i) {
    open.push_back(world.submit(Ask{.budget = "1", .limit_min = 1}));
    ASSERT_EQ(open.back().verdict, MARKET_ACCEPTED);
  }
  const Answer again = world.submit(Ask{.budget = "1", .limit_min = 1});
  EXPECT_EQ(again.verdict, MARKET_AGAIN);
  EXPECT_THAT(again.text, HasSubstr("market: 128 submissions of yours are at work: try again"));
  EXPECT_EQ(world.submit(Ask{.budget = "1", .limit_min = 1, .uid = 1}).verdict, MARKET_ACCEPTED)
      << "another user is not concerned";
  world.market().submission_over(open[0].ticket);
  EXPECT_EQ(world.submit(Ask{.budget = "1", .limit_min = 1}).verdict, MARKET_ACCEPTED);
  EXPECT_EQ(world.submit(Ask{.budget = "1", .limit_min = 1}).verdict, MARKET_AGAIN);
  world.market().submission_over(open[0].ticket);  // a second time: nothing more
  EXPECT_EQ(world.submit(Ask{.budget = "1", .limit_min = 1}).verdict, MARKET_AGAIN);
}

TEST_F(Admission, QuestionsWithoutAnEndAreToldToWait) {
  // 60 a minute: none holds a place for longer than until the next pass.
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(world.test_only(Ask{.budget = "1", .limit_min = 1}).verdict, MARKET_ACCEPTED);
    world.step();
  }
  const Answer again = world.test_only(Ask{.budget = "1", .limit_min = 1});
  EXPECT_EQ(again.verdict, MARKET_AGAIN);
  EXPECT_THAT(again.text, HasSubstr("try again in 60 s"));
  EXPECT_EQ(world.submit(Ask{.budget = "1", .limit_min = 1, .uid = 1}).verdict, MARKET_ACCEPTED);
  world.now += 60;
  world.step();
  EXPECT_EQ(world.test_only(Ask{.budget = "1", .limit_min = 1}).verdict, MARKET_ACCEPTED);
}

TEST_F(Admission, SigmoidTakesTheBestPostedPair) {
  // Worth 100 when done within two hours, next to nothing after four; 16 credits for the whole
  // cluster.
  const Answer worth_it = world.submit(Ask{.value = "100:2:00:00:4:00:00", .cpus = 16});
  EXPECT_EQ(worth_it.verdict, MARKET_ACCEPTED) << worth_it.text;
  const std::string text = refused(Ask{.value = "15:2:00:00:4:00:00", .cpus = 16});
  EXPECT_THAT(text, HasSubstr("value is below its price"));
}

TEST(AdmissionPolicy, UnbidRefused) {
  World world("unbid = \"refuse\";\n");
  const Answer answer = world.submit(Ask{});
  EXPECT_EQ(answer.verdict, MARKET_REJECTED);
  EXPECT_EQ(answer.text, "market: this partition takes jobs with a bid only: add --budget=CREDITS");
}

TEST(AdmissionPolicy, UnbidRefusedWhereverItIsTried) {
  World world("unbid = \"refuse\";\npartitions = [\"main\", \"fat\"];\n");
  const auto submitted_to = [&](const char* partitions) {
    market_submission_t submission{};
    submission.partition = partitions;
    return world.market().submit(submission, kStart).verdict;
  };
  EXPECT_EQ(submitted_to(nullptr), MARKET_REJECTED);  // main is the default one
  EXPECT_EQ(submitted_to("fat"), MARKET_REJECTED);
  EXPECT_EQ(submitted_to("other,main"), MARKET_REJECTED);
  EXPECT_EQ(submitted_to("other"), MARKET_NO_BID);

  const auto moved_to = [&](const char* partitions, bool by_operator) {
    market_change_t change{};
    change.job_id = 7;
    change.unbid = true;
    change.is_operator = by_operator;
    change.partition = partitions;
    std::string text;
    const market_verdict verdict = world.market().modify(change, kStart, text);
    EXPECT_EQ(text.empty(), verdict != MARKET_REJECTED);
    return verdict;
  };
  EXPECT_EQ(moved_to("main", false), MARKET_REJECTED);
  EXPECT_EQ(moved_to("other,fat", false), MARKET_REJECTED);
  EXPECT_EQ(moved_to("other", false), MARKET_NO_BID);
  EXPECT_EQ(moved_to(nullptr, false), MARKET_NO_BID);
  EXPECT_EQ(moved_to("main", true), MARKET_NO_BID);
}

TEST(AdmissionPolicy, BrokenConfigurationRefusesBidsAndNothingElse) {
  std::vector<std::string> log;
  LockedMarket market("/nonexistent/market.conf", "cluster",
                      [&](LogLevel, const std::string& line) { log.push_back(line); });
  market.round(kStart);
  market.round(kStart + 1);
  market_submission_t submission{};
  EXPECT_EQ(market.submit(submission, kStart).verdict, MARKET_NO_BID);
  submission.budget = "1";
  EXPECT_EQ(market.submit(submission, kStart).verdict, MARKET_REJECTED);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_TRUE(market.pass(nullptr, 0, nullptr, 0, kStart).empty());
}

TEST(AdmissionPolicy, UnusableLedgerRunsUnbilledWhenConfigured) {
  World world("on_error = \"unbilled\";\n");
  LockedMarket market(world.folder() + "/market.conf", "cluster",
                      [](LogLevel, const std::string&) {});
  std::filesystem::rename(world.folder() + "/ledger.db", world.folder() + "/away");
  market.round(kStart);
  market_submission_t submission{};
  submission.budget = "1";
  EXPECT_EQ(market.submit(submission, kStart).verdict, MARKET_UNBILLED);
}

}  // namespace
}  // namespace market::testing
