// SPDX-License-Identifier: GPL-2.0-or-later
// Between the start of slurmctld, which newer versions of Slurm make of each reconfigure too, and the first pass nobody
// knows what was promised: bids are told to try again, which sbatch does by itself, and it is over soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kFree[] = "on_error = \"unbilled\";\n";  // what a bid could make use of meanwhile
constexpr std::uint32_t kUsualInterval = 1000;          // of market.conf's default

class Starting : public ::testing::Test {
 protected:
  Answer bid() {
    market_submission_t submission{};
    submission.size.min_cpus = submission.size.tasks = 1;
    submission.account = "physics";
    submission.time_limit_min = 1;
    submission.budget = "1";
    return market.submit(submission, kStart);
  }
  std::string status() {
    market_submission_t submission{};
    submission.is_operator = true;
    submission.query = R"({"verb":"status"})";
    return market.submit(submission, kStart).text;
  }
  void expect_starting() {
    EXPECT_EQ(bid().verdict, MARKET_AGAIN);
    EXPECT_THAT(bid().text, HasSubstr("market: it is starting: try again"));
    EXPECT_THAT(status(), HasSubstr("not available: starting"));
    EXPECT_LE(market.interval_ms(), kUsualInterval / 10);
  }
  void expect_refusal(const char* why) {
    EXPECT_EQ(bid().verdict, MARKET_REJECTED);
    EXPECT_THAT(bid().text, HasSubstr(why));
    EXPECT_EQ(market.interval_ms(), kUsualInterval);
  }

  void first_pass() {
    market_node_t node{"n1", 4, 1, 0, "", "", true};
    const std::uint32_t members[] = {0};
    market_partition_t partition{"main", true, true, 0, 0, members, 1, {}};
    market_cluster_t cluster{};
    cluster.nodes = &node;
    cluster.partitions = &partition;
    cluster.node_count = cluster.partition_count = 1;
    market.update_cluster(cluster, kStart);
    market.pass(nullptr, 0, nullptr, 0, kStart);
  }

  World world{kFree};
  LockedMarket market{world.folder() + "/market.conf", "cluster",
                      [](LogLevel, const std::string&) {}};
};

TEST_F(Starting, BidsAreToldToTryAgainUntilTheFirstPass) {
  expect_starting();
  market.round(kStart);  // settings and books are read
  expect_starting();
  first_pass();
  EXPECT_THAT(status(), HasSubstr(R"("usable":true)"));
  EXPECT_EQ(market.interval_ms(), kUsualInterval);
}

// A disk that is slow for once, or a file that another program holds: sbatch asks again, and nobody is turned away.
TEST_F(Starting, OneFailedRoundOfTheBooksIsAMoment) {
  market.round(kStart);
  first_pass();
  const std::string books = world.folder() + "/ledger.db", aside = world.folder() + "/aside.db";
  std::filesystem::rename(books, aside);
  market.round(kStart);
  EXPECT_EQ(bid().verdict, MARKET_AGAIN);
  EXPECT_THAT(bid().text, HasSubstr("its books are opened anew: try again"));
  market.round(kStart);
  EXPECT_EQ(bid().verdict, MARKET_UNBILLED);  // as on_error says
  std::filesystem::rename(aside, books);
  market.round(kStart);
  EXPECT_THAT(status(), HasSubstr(R"("usable":true)"));
}

TEST_F(Starting, SettingsThatCannotBeReadAreNoStart) {
  { std::ofstream(world.folder() + "/market.conf") << "nonsense\n"; }
  expect_starting();
  market.round(kStart);
  expect_refusal("its configuration cannot be read");
}

TEST_F(Starting, BooksThatCannotBeUsedAreNoStart) {
  std::filesystem::rename(world.folder() + "/ledger.db", world.folder() + "/aside.db");
  expect_starting();
  market.round(kStart);
  EXPECT_EQ(bid().verdict, MARKET_UNBILLED);  // as on_error says
  EXPECT_THAT(bid().text, HasSubstr("its books cannot be used"));
  EXPECT_EQ(market.interval_ms(), kUsualInterval);
}

}  // namespace
}  // namespace market::testing
