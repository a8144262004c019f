// SPDX-License-Identifier: GPL-2.0-or-later
// What a person is told of a job, for each mechanism and each thing that it can wait for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Four nodes of four CPUs; where prices are posted a CPU-hour costs 1/3 of a credit.
struct Cluster : World {
  explicit Cluster(const std::string& mechanism, const std::string& more = "")
      : World(fmt::format("mechanism = \"{}\"; prices = {{ {} }};\nno_funds = \"wait\";\n"
                          "planning = {{ auction_period = \"0:10\"; }};\n{}",
                          mechanism,
                          mechanism == "first_fit" ? "fixed = \"0.333333\";" : "floor = \"0.05\";",
                          more)) {
    EXPECT_TRUE(books().deposit("physics", *Money::parse("100.000001"), "", now));
    sync();
  }
  std::string why(std::uint32_t id) {
    const auto answer =
        nlohmann::json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
    return answer.value("text", answer.dump());
  }
};

struct Kind {
  const char *name, *mechanism, *budget;
  std::uint32_t cpus;
  std::function<void(Cluster&, Ask&)> ask;            // before it is submitted
  std::function<void(Cluster&, std::uint32_t)> then;  // after that
  std::vector<const char*> said;
};

void nothing(Cluster&, Ask&) {}
void look(Cluster& cluster, std::uint32_t) {
  cluster.advance(cluster.now + 20);
}
void change(Cluster& cluster, std::uint32_t id, const std::function<void(FakeJob&)>& how) {
  cluster.scheduler = Scheduler::kNone;
  how(cluster.job(id));
  look(cluster, id);
}

// 8 CPUs for an hour cost 2.666664, of which 2.67 is enough.
const Kind kKinds[] = {
    {"its planned start",
     "first_fit",
     "9",
     1,
     [](Cluster& cluster, Ask&) {
       Ask all;
       all.budget = "90", all.cpus = 16, all.limit_min = 120;
       cluster.run(all);
       cluster.advance(cluster.now + 20);
     },
     look,
     {"waits: its planned start is ", "if 1 CPU falls free", "price 0.34 = 1 billing-hours",
      "lien 0.34 on physics", "[PLANNED]"}},
    {"its begin time",
     "first_fit",
     "9",
     8,
     [](Cluster& cluster, Ask& ask) { ask.begin = cluster.now + 7200; },
     look,
     {"waits for its begin time, ", ": that is its planned start", "price 2.67 = ", "[PLANNED]"}},
    {"held",
     "first_fit",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) { change(c, id, [](FakeJob& job) { job.held = true; }); },
     {"is held: scontrol release ", "[HELD]"}},
    {"a dependency",
     "first_fit",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) {
       change(c, id, [](FakeJob& job) { job.dependent = true; });
     },
     {"waits for a job it depends on", "[DEPENDENCY]"}},
    {"a dependency never satisfied",
     "first_fit",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) {
       change(c, id, [](FakeJob& job) { job.dependent = job.dependency_failed = true; });
     },
     {"will never start: what it depends on can never be satisfied; scancel ", "[DEPENDENCY]"}},
    {"a partition that is down",
     "first_fit",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) {
       c.partitions_up = false;
       c.tell_cluster();
       change(c, id, [](FakeJob&) {});
     },
     {"waits for partition main, which is not up", "[PARTITION]"}},
    {"funds",
     "first_fit",
     "300",
     16,
     [](Cluster&, Ask& ask) { ask.limit_min = 24 * 60; },
     look,
     {"waits for funds: needs 128.00, available 100.00 on physics", "[NO_FUNDS]"}},
    {"a run at a posted price",
     "first_fit",
     "9",
     8,
     nothing,
     look,
     {"runs since ", "promised to be done by", "[RUNNING]"}},
    {"a run of tycoon",
     "tycoon",
     "9.123456",
     8,
     nothing,
     look,
     {"runs since ", "so far, you pay at most 9.13.", "[RUNNING]"}},
    {"a run of abacus",
     "abacus",
     "9",
     8,
     nothing,
     look,
     {"runs since ", "so far, you pay at most 9.00.", "[RUNNING]"}},
    {"a bid in tycoon",
     "tycoon",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) { change(c, id, [](FakeJob&) {}); },
     {"waits in the auction", "you pay at most 9.00;", "[QUEUED]"}},
    {"a bid in abacus",
     "abacus",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) { change(c, id, [](FakeJob&) {}); },
     {"your share of the cluster is 100 %, 1st of 1 waiting (abacus/2, alpha 0.5)",
      "you pay at most 9.00;", "[QUEUED]"}},
    {"a bid in dva whose dependency failed",
     "dva",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) {
       change(c, id, [](FakeJob& job) { job.dependent = job.dependency_failed = true; });
     },
     {"will never start", "[DEPENDENCY]"}},
    {"a bid in dva with a begin time",
     "dva",
     "9",
     8,
     [](Cluster& cluster, Ask& ask) { ask.begin = cluster.now + 7200; },
     look,
     {"waits for its begin time, ", "its bid does not stand", "[BEGIN]"}},
    {"a partition that is down in tycoon",
     "tycoon",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) {
       c.partitions_up = false;
       c.tell_cluster();
       change(c, id, [](FakeJob&) {});
     },
     {"waits for partition main, which is not up", "[PARTITION]"}},
    {"the queue without prices",
     "fifo",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) { change(c, id, [](FakeJob&) {}); },
     {"waits in the queue (fifo", "it costs nothing", "[QUEUED]"}},
    {"a held job of the queue without prices",
     "fifo",
     "9",
     8,
     nothing,
     [](Cluster& c, std::uint32_t id) { change(c, id, [](FakeJob& job) { job.held = true; }); },
     {"is held", "[HELD]"}},
    {"a run of the queue without prices",
     "fifo",
     "9",
     8,
     nothing,
     look,
     {"runs since ", "it costs nothing.", "[RUNNING]"}},
};

TEST(Explain, EachKindHasItsSentence) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    Cluster cluster(kind.mechanism);
    Ask ask;
    ask.budget = kind.budget;
    ask.cpus = kind.cpus;
    kind.ask(cluster, ask);
    ask.runtime = 3000;
    const std::uint32_t id = cluster.run(ask);
    ASSERT_NE(id, 0u);
    kind.then(cluster, id);
    const std::string why = cluster.why(id);
    for (const char* part : kind.said) EXPECT_THAT(why, HasSubstr(part));
    EXPECT_THAT(why, Not(::testing::ContainsRegex("[0-9]\\.[0-9][0-9][0-9][0-9][0-9]")));
    EXPECT_THAT(why, Not(::testing::ContainsRegex("[^0-9.]1 (CPUs|tasks|starts)")));
    if (std::string(kind.mechanism) == "fifo") {
      EXPECT_THAT(why, Not(HasSubstr("auction")));
    }
  }
}

// Without a deadline the cheapest start may be days away; the acceptance says so.
TEST(Explain, AnAcceptanceSaysWhyItStartsLate) {
  Cluster cluster("first_fit");
  Ask all;
  all.budget = "90", all.cpus = 16, all.limit_min = 120, all.runtime = 7000;
  cluster.run(all);
  cluster.advance(cluster.now + 20);
  Ask ask;
  ask.budget = "9";
  const char* const hint = "add --deadline to start earlier";
  EXPECT_THAT(cluster.test_only(ask).text, AllOf(HasSubstr("accepted for 0.34 credits"),
                                                 HasSubstr(hint), HasSubstr("cheapest within ")));
  ask.deadline = cluster.now + 86400;
  EXPECT_THAT(cluster.test_only(ask).text, Not(HasSubstr(hint)));
}

TEST(Explain, AnAcceptanceSaysWhatIsPaid) {
  Ask ask;
  ask.budget = "50";
  EXPECT_THAT(Cluster("tycoon").test_only(ask).text, HasSubstr("accepted: you pay at most 50.00 "));
  EXPECT_THAT(Cluster("dva").test_only(ask).text, HasSubstr("accepted: you pay at most 50.00 "));
  EXPECT_THAT(Cluster("abacus").test_only(ask).text, HasSubstr("accepted: you pay at most 50.00 "));
  const std::string by_start = "abacus = { weight = \"start\"; };\n";
  EXPECT_THAT(Cluster("abacus", by_start).test_only(ask).text,
              HasSubstr("accepted: a completed job pays 50.00 "));
  EXPECT_THAT(Cluster("fifo").test_only(ask).text, HasSubstr("accepted: costs nothing"));
  ask.budget.clear();
  ask.value = "50:2:00:00:4:00:00";
  EXPECT_THAT(Cluster("abacus", by_start).test_only(ask).text,
              HasSubstr("accepted: a completed job pays its value then, at most 50.00 "));
}

// 0.333333 is told as 0.34, 0.999999 as 1.00: what is told is never less than what is owed.
TEST(Explain, ArraysCountTheirTasks) {
  Ask ask;
  ask.budget = "9";
  ask.array = 1;
  EXPECT_THAT(Cluster("first_fit").test_only(ask).text, HasSubstr("1 task accepted for 0.34 "));
  ask.array = 3;
  EXPECT_THAT(Cluster("first_fit").test_only(ask).text, HasSubstr("3 tasks accepted for 1.00 "));
}

TEST(Explain, PricesOfAnAuctionAreItsLevelAndWhatIsSpent) {
  Cluster cluster("tycoon");
  Ask ask;
  ask.budget = "8";
  ask.cpus = 8;
  ask.runtime = 3000;
  cluster.run(ask);
  cluster.advance(cluster.now + 30);
  const auto prices = nlohmann::json::parse(cluster.query(R"({"verb":"prices"})"));
  EXPECT_EQ(prices["live"], 1);
  EXPECT_TRUE(prices["rows"].empty());
  // 8 credits an hour would win all 16 CPUs; it uses 8, pays for half, and that is 0.5 for each.
  EXPECT_NEAR(prices["spent_per_hour"].get<double>(), 4, 0.05);
  EXPECT_NEAR(prices["level"].get<double>(), 0.5, 0.006);
  const auto none = nlohmann::json::parse(Cluster("tycoon").query(R"({"verb":"prices"})"));
  EXPECT_FALSE(none.contains("level"));
  const auto posted = nlohmann::json::parse(Cluster("first_fit").query(R"({"verb":"prices"})"));
  EXPECT_FALSE(posted["rows"].empty());
}

}  // namespace
}  // namespace market::testing
