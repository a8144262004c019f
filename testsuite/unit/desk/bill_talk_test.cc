// SPDX-License-Identifier: GPL-2.0-or-later
// A question and its answer arrive as they were sent, whatever bytes are in them; what is not one is
// refused.
#include "core/desk/bill_talk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace market {
namespace {

using Json = nlohmann::ordered_json;

TEST(BillTalk, AQuestionArrivesAsItWasAsked) {
  ledger::SegmentFilter filter;
  filter.since = 5;
  filter.until = 9;
  filter.open_too = true;
  filter.jobs = {12, 4294967294U};
  filter.accounts = {"physics"};
  filter.users = {"ann"};
  filter.partitions = {"main"};
  filter.mechanisms = {"era/1"};
  filter.states = {"FAILED"};
  const auto read =
      read_question(Json::parse(question_of(filter, {.over = true, .end = -3, .row = 77}).dump()));
  ASSERT_TRUE(read.has_value()) << read.error().text;
  EXPECT_EQ(read->filter.since, 5);
  EXPECT_EQ(read->filter.until, 9);
  EXPECT_TRUE(read->filter.open_too);
  EXPECT_EQ(read->filter.jobs, filter.jobs);
  EXPECT_EQ(read->filter.accounts, filter.accounts);
  EXPECT_EQ(read->filter.users, filter.users);
  EXPECT_EQ(read->filter.partitions, filter.partitions);
  EXPECT_EQ(read->filter.mechanisms, filter.mechanisms);
  EXPECT_EQ(read->filter.states, filter.states);
  EXPECT_EQ(read->after, (ledger::RunsCursor{.over = true, .end = -3, .row = 77}));
}

TEST(BillTalk, WhatIsNoQuestionIsRefusedByItsKey) {
  for (const auto& [key, text] : {std::pair{"after", R"({"after":[1]})"},
                                  {"after", R"({"after":"x"})"},
                                  {"since", R"({"since":"yesterday"})"},
                                  {"jobs", R"({"jobs":{"a":1}})"},
                                  {"accounts", R"({"accounts":[1]})"},
                                  {"states", R"({"states":"FAILED"})"}}) {
    const auto read = read_question(Json::parse(text));
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_THAT(read.error().text, testing::HasSubstr(key));
  }
}

// Who asks is never read from the question.
TEST(BillTalk, AQuestionCannotSayWhoAsks) {
  const auto read = read_question(
      Json::parse(R"({"uid":0,"viewer":{"sees_all":true},"sees_all":true,"is_operator":true})"));
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->viewer.sees_all);
  EXPECT_TRUE(read->viewer.accounts.empty());
}

TEST(BillTalk, ARunArrivesAsItIs) {
  ledger::NumberedRun numbered;
  numbered.row = 123456789012;
  ledger::Segment& run = numbered.run;
  run.key = {"c\"1", 7, 100, 2, "tok"};
  run.array_job_id = 5, run.array_task_id = 6, run.uid = 4294967295U;
  run.user = "bj\xc3\xb6rn", run.account = "bad \xff bytes", run.partition = "a\nb";
  run.state = "FAILED", run.mechanism = "era/1", run.tres = "cpu=1", run.note = "say \"hi\"\\";
  run.planned_start = 11, run.promised_end = 12, run.start = 13, run.end = 14;
  run.suspended = 15, run.elapsed = 16, run.billing = 0.1;
  run.quoted = Money::from_micro(9'000'000'000'000'000'000), run.charged = Money::from_micro(1);
  run.refunded = Money::from_micro(2);
  const std::string sent = answer_of({{numbered}, ledger::RunsCursor{true, 14, 123456789012}});
  EXPECT_THAT(sent, testing::Not(testing::HasSubstr("\n")));
  const auto page = read_page(Json::parse(sent));
  ASSERT_TRUE(page.has_value()) << page.error().text;
  ASSERT_EQ(page->runs.size(), 1U);
  EXPECT_EQ(page->next, (ledger::RunsCursor{true, 14, 123456789012}));
  EXPECT_EQ(page->runs[0].row, 123456789012);
  const ledger::Segment& read = page->runs[0].run;
  EXPECT_EQ(read.key, run.key);
  EXPECT_EQ(read.array_job_id, 5U);
  EXPECT_EQ(read.array_task_id, 6U);
  EXPECT_EQ(read.uid, run.uid);
  EXPECT_EQ(read.user, run.user);
  EXPECT_EQ(read.account, run.account);
  EXPECT_EQ(read.partition, run.partition);
  EXPECT_EQ(read.state, run.state);
  EXPECT_EQ(read.mechanism, run.mechanism);
  EXPECT_EQ(read.tres, run.tres);
  EXPECT_EQ(read.note, run.note);
  EXPECT_EQ(read.planned_start, 11);
  EXPECT_EQ(read.promised_end, 12);
  EXPECT_EQ(read.start, 13);
  EXPECT_EQ(read.end, 14);
  EXPECT_EQ(read.suspended, 15);
  EXPECT_EQ(read.elapsed, 16);
  EXPECT_EQ(read.billing, 0.1);
  EXPECT_EQ(read.quoted, run.quoted);
  EXPECT_EQ(read.charged, run.charged);
  EXPECT_EQ(read.refunded, run.refunded);
}

TEST(BillTalk, WhatIsNoBillIsRefused) {
  for (const char* text : {R"({"ok":true})", R"({"runs":[[1,2]]})", R"({"runs":7})"})
    EXPECT_FALSE(read_page(Json::parse(text)).has_value()) << text;
}

}  // namespace
}  // namespace market
