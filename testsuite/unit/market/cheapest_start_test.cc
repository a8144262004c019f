// SPDX-License-Identifier: GPL-2.0-or-later
// Which start a bid gets: of all in its window the cheapest that has a place, of equal ones the first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;

constexpr Time kDay = 24 * kHour;

struct Start {
  Time start = 0;
  Money price;
};

/// Prices of every hour of 30 days, which differ from hour to hour of the week where `learned`: what bids of last week
/// were worth. Random jobs have places already.
struct Month : World {
  Month(std::uint64_t seed, bool learned, const char* late)
      : World(fmt::format("mechanism = \"era\"; prices = {{ floor = \"0.1\"; cap = \"10\"; "
                          "late_penalty = \"{}\"; }};\n"
                          "planning = {{ slot = \"1:00:00\"; horizon = \"30-0\"; }};\n",
                          late),
              4, 4) {
    scheduler = Scheduler::kNone;
    (void)books().deposit("physics", *Money::parse("1000000"), "", now);
    SeededRandom random(seed);
    if (learned) learn(random);
    for (int i = 0; i < 150; ++i) {
      Ask ask;
      ask.budget = "5000";
      ask.cpus = static_cast<std::uint32_t>(1 + random.below(16));
      ask.limit_min = static_cast<std::uint32_t>(60 * (1 + random.below(12)));
      const std::uint64_t days = i % 3 == 0 ? 28 : 4;
      ask.begin = kStart + static_cast<Time>(random.below(days * 24)) * kHour;
      run(ask);
    }
    step();
  }

  void learn(SeededRandom& random) {
    std::vector<ledger::Operation> operations;
    for (int i = 0; i < 200; ++i) {
      const Time then = kStart - 7 * kDay + static_cast<Time>(random.below(7 * 24)) * kHour;
      ledger::RecordBid record;
      record.id = fmt::format("past:{}", i);
      record.bid = {then, then, then + 6 * kHour, 5 * kHour, {{"cpu", 16}}, random.uniform(4, 400)};
      record.cluster = "cluster";
      record.partition = "main";
      record.account = "physics";
      record.accepted = true;
      operations.emplace_back(record);
    }
    (void)books().apply(operations, now);
    crash();
  }

  /// The rows of a quote from `begin` on: the first start, and the cheapest where another one is cheaper.
  std::vector<Start> quote(std::uint32_t cpus, Time limit, Time begin) {
    const json answer = json::parse(query(fmt::format(
        R"({{"verb":"quote","account":"physics","size":{{"tasks":{0},"min_cpus":{0}}},"time_limit_s":{1},"begin":"uts{2}"}})",
        cpus, limit, begin)));
    std::vector<Start> rows;
    if (!answer.value("ok", false)) return rows;
    for (const json& row : answer["rows"])
      rows.push_back({row["start"].get<Time>(), *Money::parse(row["price"].get<std::string>())});
    return rows;
  }

  /// By the definition, from the first starts at or after every start.
  std::optional<Start> cheapest(std::uint32_t cpus, Time limit) {
    std::optional<Start> best;
    for (Time from = now; from < now + 30 * kDay; from += kHour) {
      const auto rows = quote(cpus, limit, from);
      if (rows.empty()) break;
      if (!best || rows.front().price < best->price) best = rows.front();
    }
    return best;
  }
};

class CheapestStart : public ::testing::TestWithParam<std::tuple<bool, const char*>> {};

TEST_P(CheapestStart, IsThatOfTheDefinition) {
  int far = 0, found = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Month month(seed, std::get<0>(GetParam()), std::get<1>(GetParam()));
    for (const std::uint32_t cpus : {1U, 7U, 16U}) {
      for (const Time limit : {kHour, 5 * kHour}) {
        const auto expected = month.cheapest(cpus, limit);
        const auto rows = month.quote(cpus, limit, month.now);
        SCOPED_TRACE(fmt::format("seed {}, {} CPUs for {} s", seed, cpus, limit));
        ASSERT_EQ(rows.empty(), !expected.has_value());
        if (!expected) continue;  // never is so much free for so long
        ++found;
        EXPECT_EQ(rows.back().price.to_string(), expected->price.to_string());
        EXPECT_EQ(rows.back().start, expected->start);
        far += rows.back().start > month.now + 12 * kHour;
      }
    }
  }
  const bool must_be_far = std::get<0>(GetParam()) && std::get<1>(GetParam()) == std::string("0");
  EXPECT_TRUE(far > 0 || !must_be_far);
  EXPECT_GT(found, 12);
}

INSTANTIATE_TEST_SUITE_P(Prices, CheapestStart,
                         ::testing::Combine(::testing::Bool(), ::testing::Values("0", "0.05")));

/// All hours cost the same, so the first start is the cheapest. Nothing starts.
struct Flat : World {
  Flat()
      : World(
            "mechanism = \"era\"; prices = { floor = \"1\"; cap = \"1\"; };\n"
            "planning = { slot = \"10:00\"; horizon = \"30-0\"; };\n") {
    scheduler = Scheduler::kNone;
    (void)books().deposit("physics", *Money::parse("1000000"), "", now);
    sync();
  }
  /// Of two hours for `cpus` on one node, as it is found by the time alone.
  Time first_start(int cpus) {
    const json answer = json::parse(query(fmt::format(
        R"({{"verb":"quote","account":"physics","size":{{"tasks":{0},"min_cpus":{0},"min_nodes":1,"max_nodes":1}},"time_limit_s":7200}})",
        cpus)));
    EXPECT_TRUE(answer.value("ok", false)) << answer.dump();
    return answer["rows"].front()["start"].get<Time>();
  }
  /// That of a bid for the same.
  Time start_of_bid(std::uint32_t cpus) {
    Ask ask;
    ask.budget = "100";
    ask.cpus = cpus;
    ask.min_nodes = ask.max_nodes = 1;
    ask.limit_min = 120;
    const std::uint32_t id = run(ask);
    EXPECT_NE(id, 0U);
    step();
    sync();
    ledger::SegmentFilter open;
    open.open_too = true;
    const auto segments = books().segments(open);
    for (const ledger::Segment& one : *segments)
      if (one.key.job_id == id) return one.planned_start;
    return 0;
  }
};

TEST(FirstOfEqualStarts, IsFoundBehindWhatIsSold) {
  for (const Time hours : {1, 50, 100, 300, 650}) {
    for (const Time later : {0, 130}) {
      SCOPED_TRACE(fmt::format("{} hours, {} s later", hours, later));
      Flat world;
      ASSERT_NE(world.bid("100000", 16, static_cast<std::uint32_t>(hours * 60), 0), 0U);
      world.step();
      world.now += later;
      const Time first = world.first_start(1);
      EXPECT_GE(first, kStart + hours * kHour);
      EXPECT_LT(first, kStart + hours * kHour + 1800);
      EXPECT_EQ(world.start_of_bid(1), first);
    }
  }
}

// Of each node one core is: there is room for what is asked for, but no place.
TEST(FirstOfEqualStarts, IsFoundBehindWhatHasNoPlace) {
  for (const Time hours : {1, 50, 100, 300}) {
    for (const Time later : {0, 130}) {
      SCOPED_TRACE(fmt::format("{} hours, {} s later", hours, later));
      Flat world;
      for (const std::string& node : world.node_names) {
        Ask ask;
        ask.budget = "100000";
        ask.limit_min = static_cast<std::uint32_t>(hours * 60);
        ask.required = node;
        ASSERT_NE(world.run(ask), 0U);
      }
      world.step();
      world.now += later;
      const Time first = world.first_start(4);
      EXPECT_GE(first, kStart + hours * kHour);
      EXPECT_EQ((first - world.now) % 600, 0);
      EXPECT_EQ(world.start_of_bid(4), first);
    }
  }
}

}  // namespace
}  // namespace market::testing
