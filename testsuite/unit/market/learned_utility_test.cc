// SPDX-License-Identifier: GPL-2.0-or-later
// Utilities that are learned from how a user's jobs of one name did, and who can change whose.
#include "core/market/learned_utility.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

Money credits(const char* text) {
  return *Money::parse(text);
}

ledger::UtilityRun run_with(double cpu, double gpu, double seconds) {
  return {{"market", 1, "render"}, kStart, seconds, {{"cpu", cpu}, {"gres/gpu", gpu}}};
}

// 1/seconds = 0.03·cpu + 0.01·gpu, exactly: three quarters and one.
TEST(LearnedUtility, AnExactLineIsFound) {
  std::vector<ledger::UtilityRun> runs;
  for (const auto& [cpu, gpu] : {std::pair(0.5, 0.5), std::pair(0.7, 0.3), std::pair(0.2, 0.6)})
    runs.push_back(run_with(cpu, gpu, 1 / (0.03 * cpu + 0.01 * gpu)));
  const LearnedUtility learned = learn_utility(runs, Abacus{});
  EXPECT_TRUE(learned.is_used()) << learned.why_not;
  EXPECT_EQ(learned.runs, 3u);
  EXPECT_NEAR(learned.wish.weights.at("cpu"), 0.75, 1e-9);
  EXPECT_NEAR(learned.wish.weights.at("gres/gpu"), 0.25, 1e-9);
  EXPECT_NEAR(learned.rss, 0, 1e-12);
  EXPECT_EQ(utility_text(learned.wish), "cpu:0.750000,gres/gpu:0.250000");
}

// Two resources: three runs are needed (m + 1).
TEST(LearnedUtility, TooFewRunsTeachNothing) {
  const std::vector<ledger::UtilityRun> runs = {run_with(0.5, 0.5, 60), run_with(0.2, 0.8, 90)};
  const LearnedUtility learned = learn_utility(runs, Abacus{});
  EXPECT_FALSE(learned.is_used());
  EXPECT_EQ(learned.why_not, "3 needed");
  EXPECT_FALSE(learn_utility({}, Abacus{}).is_used());
}

// Equal shares, and shares that differ by a thousandth while times go by whole seconds.
TEST(LearnedUtility, SharesThatHardlyVaryTeachNothing) {
  SeededRandom random(3);
  for (const double spread : {0.0, 1e-6, 1e-3}) {
    std::vector<ledger::UtilityRun> runs;
    for (int i = 0; i < 30; ++i) {
      const double cpu = 0.4 + spread * random.uniform(), gpu = 0.3 + spread * random.uniform();
      runs.push_back(run_with(cpu, gpu, std::round(60 * (0.6 / cpu + 0.1 / gpu) / 0.7)));
    }
    EXPECT_EQ(learn_utility(runs, Abacus{}).why_not, "their shares hardly vary") << spread;
  }
  // One share alone says nothing of the other.
  std::vector<ledger::UtilityRun> runs;
  for (int i = 1; i <= 9; ++i) runs.push_back(run_with(0.1 * i, 0.05 * i, 600.0 / i));
  EXPECT_EQ(learn_utility(runs, Abacus{}).why_not, "their shares hardly vary");
}

// Times that have nothing to do with shares: from 1 to 1000 seconds.
TEST(LearnedUtility, TimesOfTheirOwnTeachNothing) {
  int used = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SeededRandom random(seed);
    std::vector<ledger::UtilityRun> runs;
    for (int i = 0; i < 30; ++i)
      runs.push_back(run_with(random.uniform(0.1, 0.9), random.uniform(0.1, 0.9),
                              std::pow(1000, random.uniform())));
    used += learn_utility(runs, Abacus{}).is_used();
  }
  EXPECT_EQ(used, 0);
}

TEST(LearnedUtility, AResidualAboveTheSettingIsNotUsed) {
  std::vector<ledger::UtilityRun> runs;
  for (int i = 0; i < 40; ++i) {
    const double cpu = 0.2 + 0.015 * i, gpu = 0.8 - 0.01 * ((i * 7) % 40);
    runs.push_back(run_with(cpu, gpu, (i % 2 == 0 ? 1.05 : 0.95) / (0.03 * cpu + 0.01 * gpu)));
  }
  Abacus settings;
  EXPECT_TRUE(learn_utility(runs, settings).is_used());  // 5 % of noise are 0.0025 of the squares
  settings.max_rss = 0.001;
  EXPECT_THAT(learn_utility(runs, settings).why_not, HasSubstr("(abacus.max_rss)"));
}

// Runs that asked for something else are of another kind.
TEST(LearnedUtility, OnlyRunsThatAskForTheSameCount) {
  std::vector<ledger::UtilityRun> runs;
  for (int i = 0; i < 5; ++i)
    runs.push_back({{"market", 1, "render"}, kStart, 60, {{"cpu", 0.1 * (i + 1)}}});
  runs.push_back(run_with(0.5, 0.5, 60));
  EXPECT_EQ(learn_utility(runs, Abacus{}).runs, 1u);
}

TEST(LearnedUtility, NamesThatCannotBeToldApartAreNone) {
  EXPECT_EQ(utility_name("render"), "render");
  EXPECT_EQ(utility_name(""), "");
  EXPECT_EQ(utility_name("a\nb"), "");
  EXPECT_EQ(utility_name(std::string(128, 'x')).size(), 128u);
  EXPECT_EQ(utility_name(std::string(129, 'x')), "");
}

/// Four nodes with four cores and four reduce slots each.
struct Cluster : World {
  explicit Cluster(const std::string& abacus = "")
      : World(fmt::format("mechanism = \"abacus\"; abacus = {{ {} }};\n"
                          "planning = {{ auction_period = \"0:01\"; }};\n",
                          abacus)) {
    for (std::uint32_t node = 0; node < 4; ++node) node_gres[node] = "reduce:4";
    tell_cluster();
    (void)books().deposit("physics", credits("100000"), "", now);
    (void)books().set_members("physics", {"root", "daemon", "bin", "sys"}, {});
    sync();
    step();
  }
  Ask ask(std::uint32_t uid, const char* budget, const std::string& name) {
    Ask one;
    one.uid = uid;
    one.budget = budget;
    one.name = name;
    one.gres = "reduce:1";
    one.limit_min = 600;
    one.runtime = 500 * 60;
    return one;
  }
  nlohmann::json why(std::uint32_t id) {
    return nlohmann::json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
  }
  nlohmann::json utilities(std::uint32_t uid, bool is_operator = false, const char* name = "") {
    return nlohmann::json::parse(
        query(fmt::format(R"({{"verb":"utilities","name":"{}"}})", name), uid, is_operator));
  }
  /// A run of the name, which bids for both alike, beside a rival of this budget and weights; its time is 60·(0.6/cpu + 0.1/reduce)/0.7.
  void run_beside(const std::string& rival_budget, const std::string& rival_utility,
                  const std::string& name = "render", int end_as = MARKET_JOB_COMPLETED,
                  std::uint32_t uid = 1) {
    Ask rival = ask(2, rival_budget.c_str(), "other");
    rival.utility = rival_utility;
    Ask one = ask(uid, "100", name);
    one.utility = "cpu:1,gres/reduce:1,log";
    const std::uint32_t other = run(rival), own = run(one);
    ASSERT_NE(own, 0u);
    step();
    step();
    const auto shares = why(own)["shares"];
    const double cpu = shares["cpu"], reduce = shares["gres/reduce"];
    now += static_cast<Time>(std::lround(60 * (0.6 / cpu + 0.1 / reduce) / 0.7));
    end(job(own), end_as);
    end(job(other), MARKET_JOB_CANCELLED);
    step();
    sync();
    forget(now);
  }
  void forty_runs(std::uint64_t seed, int runs = 40) {
    SeededRandom random(seed);
    for (int i = 0; i < runs; ++i)
      run_beside(fmt::format("{:.2f}", random.uniform(50, 200)),
                 fmt::format("cpu:{:.3f},gres/reduce:{:.3f},log", random.uniform(0.5, 2),
                             random.uniform(0.5, 2)));
  }
};

// The paper's experiment (section 7.1.4): a map slot is worth six times a reduce slot.
TEST(LearnedUtility, FortyRunsTeachARatioInThePapersBand) {
  Cluster cluster;
  cluster.forty_runs(7);
  const auto row = cluster.utilities(1)["utilities"][0];
  ASSERT_TRUE(row["used"]) << row.dump();
  EXPECT_EQ(row["runs"], 40);
  EXPECT_EQ(row["form"], "linear");
  const double ratio =
      row["weights"]["cpu"].get<double>() / row["weights"]["gres/reduce"].get<double>();
  EXPECT_GE(ratio, 5);
  EXPECT_LE(ratio, 9);
  EXPECT_THAT(row["text"].get<std::string>(),
              ::testing::MatchesRegex("render: cpu 0\\.8[0-9], gres/reduce 0\\.1[0-9] from 40 runs "
                                      "\\(linear, rss 0\\.[0-9]{3}\\); used from now on"));
}

// From the third run of two resources on; what its user names goes before; the acceptance tells.
TEST(LearnedUtility, IsUsedForTheNextBidThatNamesNone) {
  Cluster cluster;
  cluster.forty_runs(7, 12);
  const auto utility_of = [&](std::uint32_t id) -> std::string {
    cluster.step();
    const auto why = cluster.why(id);
    EXPECT_TRUE(why["ok"]) << why.dump();
    return why.contains("utility") ? why["utility"] : "";
  };
  Answer answer;
  const std::uint32_t id = cluster.run(cluster.ask(1, "100", "render"), &answer);
  EXPECT_THAT(answer.text, HasSubstr("learned from 12 runs"));
  EXPECT_THAT(utility_of(id), HasSubstr("cpu:0.8"));
  cluster.crash();
  EXPECT_THAT(utility_of(id), HasSubstr("cpu:0.8"));
  Ask named = cluster.ask(1, "100", "render");
  named.utility = "cpu:1,log";
  EXPECT_EQ(utility_of(cluster.run(named)), "cpu:1,log");
  EXPECT_EQ(utility_of(cluster.run(cluster.ask(1, "100", "train"))), "");
  EXPECT_EQ(utility_of(cluster.run(cluster.ask(3, "100", "render"))), "")
      << "another user's runs are not his";
  Ask without = cluster.ask(1, "100", "render");
  without.gres.clear();
  EXPECT_EQ(utility_of(cluster.run(without)), "") << "it asks for something else";
}

// Own rows only, of operators all; a name that nobody else's runs change, and that only its user forgets.
TEST(LearnedUtility, UsersSeeAndForgetTheirOwn) {
  Cluster cluster;
  for (int i = 0; i < 4; ++i) {
    cluster.run_beside("100", i % 2 == 0 ? "cpu:9,gres/reduce:1,log" : "cpu:1,gres/reduce:9,log");
    cluster.run_beside("100", "cpu:1,gres/reduce:1,log", "render", MARKET_JOB_COMPLETED, 3);
  }
  EXPECT_EQ(cluster.utilities(1)["utilities"].size(), 1u);
  EXPECT_EQ(cluster.utilities(1)["utilities"][0]["runs"], 4);
  EXPECT_EQ(cluster.utilities(0, true)["utilities"].size(), 2u);
  EXPECT_FALSE(cluster.utilities(2)["utilities"].size() > 0);
  EXPECT_FALSE(cluster.utilities(2, false, "render")["ok"]);
  const auto forget = [&](std::uint32_t uid) {
    return nlohmann::json::parse(
        cluster.query(R"({"verb":"forget_utility","name":"render"})", uid, uid == 0));
  };
  EXPECT_FALSE(forget(2)["ok"]);
  EXPECT_FALSE(forget(0)["ok"]) << "an operator has none of his own";
  EXPECT_EQ(forget(3)["forgotten"], 4);
  cluster.sync();
  cluster.crash();
  EXPECT_EQ(cluster.utilities(0, true)["utilities"].size(), 1u) << "also in the books";
  EXPECT_EQ(cluster.utilities(1)["utilities"][0]["runs"], 4);
}

// Ends that a user can bring about at will teach nothing, nor does a run that was sent back.
TEST(LearnedUtility, OnlyRunsThatCompleteTeach) {
  Cluster cluster;
  for (const int state : {MARKET_JOB_CANCELLED, MARKET_JOB_FAILED, MARKET_JOB_TIMEOUT,
                          MARKET_JOB_NODE_FAIL, MARKET_JOB_OUT_OF_MEMORY})
    cluster.run_beside("100", "cpu:1,log", "render", state);
  const std::uint32_t id = cluster.run(cluster.ask(1, "100", "render"));
  cluster.step();
  cluster.step();
  cluster.now += 1000;
  cluster.requeue(cluster.job(id), MARKET_JOB_REQUEUED);
  cluster.step();
  cluster.sync();
  EXPECT_TRUE(cluster.utilities(1)["utilities"].empty());
  cluster.now += 100;
  cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
  cluster.sync();
  const auto runs = cluster.books().utility_runs({"cluster"});
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_LE(runs->front().seconds, 110) << "of the run that completed alone";
}

// Who is held or waits for a dependency of his own makes his runs no longer.
TEST(LearnedUtility, TimeInWhichItCouldNotStartDoesNotCount) {
  Cluster cluster;
  cluster.scheduler = Scheduler::kNone;
  Ask one = cluster.ask(1, "100", "render");
  const std::uint32_t id = cluster.run(one);
  cluster.step();
  cluster.step();
  cluster.now += 50;  // it waits for nodes
  cluster.job(id).dependent = true;
  cluster.step();
  cluster.now += 10000;
  cluster.step();
  cluster.job(id).dependent = false;
  for (int i = 0; i < 3; ++i) {
    ++cluster.now;
    cluster.step();
  }
  cluster.scheduler = Scheduler::kEager;
  cluster.step();
  cluster.now += 100;
  cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
  cluster.sync();
  const auto runs = cluster.books().utility_runs({"cluster"});
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_NEAR(runs->front().seconds, 150, 5);
  EXPECT_NEAR(runs->front().shares.at("cpu"), 1, 1e-9) << "alone it has all";
}

// What a crash forgot would make a run look shorter than it was.
TEST(LearnedUtility, ARunWhoseBeginningIsForgottenTeachesNothing) {
  Cluster cluster;
  const std::uint32_t id = cluster.run(cluster.ask(1, "100", "render"));
  cluster.step();
  cluster.step();
  cluster.now += 500;
  cluster.crash();
  cluster.step();
  cluster.now += 50;
  cluster.end(cluster.job(id), MARKET_JOB_COMPLETED);
  cluster.sync();
  EXPECT_TRUE(cluster.books().utility_runs({"cluster"})->empty());
}

// Of an array that is one bid its last task stands for all: from the array's beginning to its end.
TEST(LearnedUtility, AnArrayThatIsOneBidIsOneRun) {
  Cluster cluster;
  Ask array = cluster.ask(1, "", "render");
  array.array_budget = "100";
  array.array = 40;
  array.runtime = 30;
  array.limit_min = 1;
  cluster.run(array);
  const Time began = cluster.now;
  for (int i = 0; i < 60; ++i) {
    cluster.step();
    cluster.sync();
    cluster.now += 5;
  }
  const auto runs = cluster.books().utility_runs({"cluster"});
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_NEAR(runs->front().seconds, static_cast<double>(runs->front().ended - began), 10);
  EXPECT_GE(runs->front().seconds, 90) << "16 of 40 at a time: three waves of 30 seconds";
}

// Who makes up names pushes out his own ones, and no others.
TEST(LearnedUtility, NamesAreBounded) {
  Cluster cluster;
  cluster.run_beside("100", "cpu:1,log", "kept", MARKET_JOB_COMPLETED, 3);
  for (int i = 0; i < static_cast<int>(ledger::kMostUtilityNames) + 10; ++i)
    cluster.run_beside("100", "cpu:1,log", fmt::format("name{}", i));
  EXPECT_EQ(cluster.utilities(1)["utilities"].size(), ledger::kMostUtilityNames);
  EXPECT_FALSE(cluster.utilities(1, false, "name0")["ok"]);
  EXPECT_TRUE(cluster.utilities(1, false, "name73")["ok"]);
  EXPECT_EQ(cluster.utilities(3)["utilities"].size(), 1u);
  EXPECT_EQ(cluster.books().utility_runs({"cluster"})->size(), ledger::kMostUtilityNames + 1);
}

// Runs that are older than `history` count no more.
TEST(LearnedUtility, OldRunsAreForgotten) {
  Cluster cluster("history = \"1-0\"; ");
  cluster.forty_runs(7, 5);
  EXPECT_EQ(cluster.utilities(1)["utilities"][0]["runs"], 5);
  cluster.now += 2 * 86400;
  cluster.sync();
  EXPECT_TRUE(cluster.utilities(1)["utilities"].empty());
}

}  // namespace
}  // namespace market::testing
