// SPDX-License-Identifier: GPL-2.0-or-later
// Who may spend, and who sees what: members, owners, coordinators, operators, and nobody else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kRoot = 0, kDaemon = 1, kStranger = 65534;
// One CPU-hour costs one credit.
constexpr const char* kOneCredit = "mechanism = \"first_fit\";\nprices = { fixed = \"1\"; };\n";

/// Who asks: what Slurm's associations say of them.
struct Asker {
  std::uint32_t uid = kStranger;
  bool is_operator = false;
  std::vector<const char*> own, coordinated;
};

class Rights : public ::testing::TestWithParam<bool> {
 protected:
  // root and daemon belong to physics; 100 credits, of which a job of root has 60 set aside.
  Rights() : world(kOneCredit) {
    world.associations = GetParam();
    world.tell_cluster();
    EXPECT_TRUE(world.books().add_account("biology", "", kStart));
    for (const char* account : {"physics", "biology"})
      EXPECT_TRUE(world.books().deposit(account, *Money::parse("100"), "", kStart));
    world.sync();
  }
  std::string ask(const Asker& asker, const std::string& question) {
    market_submission_t submission = of(asker);
    submission.query = question.c_str();
    return world.market().submit(submission, world.now).text;
  }
  Answer bid(const Asker& asker, const char* account) {
    market_submission_t submission = of(asker);
    submission.account = account;
    submission.budget = "60";
    submission.size.tasks = submission.size.min_cpus = 4;
    submission.time_limit_min = 900;
    return world.market().submit(submission, world.now);
  }
  static market_submission_t of(const Asker& asker) {
    market_submission_t submission{};
    submission.uid = asker.uid;
    submission.is_operator = asker.is_operator;
    submission.own = {asker.own.data(), static_cast<std::uint32_t>(asker.own.size())};
    submission.coordinated = {asker.coordinated.data(),
                              static_cast<std::uint32_t>(asker.coordinated.size())};
    return submission;
  }
  std::string quote(const Asker& asker, const char* account) {
    return ask(asker, fmt::format(R"({{"verb":"quote","size":{{"tasks":1}},"time_limit_s":3600,)"
                                  R"("account":"{}"}})",
                                  account));
  }
  // A member as far as the market's way of knowing members goes.
  Asker member() const {
    return GetParam() ? Asker{.uid = kStranger, .own = {"physics"}} : Asker{.uid = kDaemon};
  }
  World world;
};

INSTANTIATE_TEST_SUITE_P(Associations, Rights, ::testing::Bool(), [](const auto& enforced) {
  return enforced.param ? "Enforced" : "NotEnforced";
});

TEST_P(Rights, StrangersGetOneAnswerForEveryAccount) {
  const Asker stranger{};
  const std::string real = quote(stranger, "physics"), none = quote(stranger, "nosuch");
  EXPECT_THAT(real, HasSubstr(R"("account_error":"you are not a member of account physics")"));
  EXPECT_THAT(real, Not(HasSubstr("100.00")));
  const auto anonymous = [](std::string text, const std::string& name) {
    for (std::size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), "X");
    return text;
  };
  EXPECT_EQ(anonymous(real, "physics"), anonymous(none, "nosuch"));
  EXPECT_EQ(anonymous(bid(stranger, "physics").text, "physics"),
            anonymous(bid(stranger, "nosuch").text, "nosuch"));
  EXPECT_EQ(json::parse(ask(stranger, R"({"verb":"balance"})"))["accounts"].size(), 0u);
}

TEST_P(Rights, StrangersSetNothingAside) {
  EXPECT_EQ(bid(Asker{}, "physics").verdict, MARKET_REJECTED);
  EXPECT_EQ(bid(member(), "physics").verdict, MARKET_ACCEPTED);  // all 100 were left
}

TEST_P(Rights, MembersSeeAndSpend) {
  const Asker one = member();
  EXPECT_THAT(quote(one, "physics"), HasSubstr(R"("account":"physics","available":"100.00")"));
  const json balance = json::parse(ask(one, R"({"verb":"balance"})"));
  ASSERT_EQ(balance["accounts"].size(), 1u);
  EXPECT_EQ(balance["accounts"][0]["account"], "physics");
  EXPECT_EQ(bid(one, "PHYSICS").verdict, MARKET_ACCEPTED);  // Slurm stores names in lower case
  EXPECT_EQ(bid(one, "biology").verdict, MARKET_REJECTED);
}

TEST_P(Rights, CoordinatorsAndOperatorsSeeAndDoNotSpend) {
  const Asker coordinator{.coordinated = {"biology"}}, an_operator{.is_operator = true};
  for (const Asker& asker : {coordinator, an_operator}) {
    EXPECT_THAT(quote(asker, "biology"), HasSubstr("100.00"));
    EXPECT_THAT(ask(asker, R"({"verb":"balance"})"), HasSubstr("biology"));
    EXPECT_EQ(bid(asker, "biology").verdict, MARKET_REJECTED);
  }
  EXPECT_THAT(ask(coordinator, R"({"verb":"balance"})"), Not(HasSubstr("physics")));
}

TEST_P(Rights, WhyIsForThoseConcerned) {
  Asker owner = member();
  Answer answer = bid(owner, "physics");
  ASSERT_EQ(answer.verdict, MARKET_ACCEPTED);
  market_job_t job{};
  job.job_id = 7;
  job.array_task_id = UINT32_MAX;
  job.uid = owner.uid;
  job.submit = kStart;
  job.time_limit_min = 900;
  job.user = "games";
  job.account = "physics";
  job.partition = "main";
  job.note = answer.note.c_str();
  job.tres_req = "cpu=4,node=1,billing=4";
  job.size.min_cpus = job.size.tasks = 4;
  world.market().pass(&job, 1, nullptr, 0, kStart);
  const char* const why = R"({"verb":"why","job":"7"})";
  const char* const rebid = R"({"verb":"rebid","job":"7","budget":"70"})";
  for (const Asker& asker : {owner, Asker{.uid = kRoot, .is_operator = true},
                             Asker{.uid = 5, .coordinated = {"physics"}}, member()}) {
    EXPECT_THAT(ask(asker, why), HasSubstr("60.00"));
  }
  // Neither whether the job carries a bid, nor of what kind, is for others.
  const Asker other{.uid = 5, .own = {"biology"}, .coordinated = {"biology"}};
  for (const std::string question : {why, rebid}) {
    std::string unknown = question;
    unknown.replace(unknown.find("\"7\""), 3, "\"8\"");
    std::string told = ask(other, question);
    EXPECT_THAT(told, HasSubstr("\"ok\":false"));
    told.replace(told.find("job 7"), 5, "job 8");
    EXPECT_EQ(told, ask(other, unknown));
  }
}

TEST_P(Rights, TheAccountIsChosenAmongOnesOwn) {
  const Answer sole = bid(member(), nullptr);
  EXPECT_EQ(sole.verdict, MARKET_ACCEPTED);
  EXPECT_EQ(sole.account, "physics");
  EXPECT_THAT(bid(Asker{}, nullptr).text, HasSubstr("no member"));
}

}  // namespace
}  // namespace market::testing
