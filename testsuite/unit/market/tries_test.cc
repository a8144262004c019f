// SPDX-License-Identifier: GPL-2.0-or-later
// Whoever asks for a menu again, later or for another time limit, draws no other prices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;

/// Four nodes of four CPUs, all of them sold for four hours from two on. Half of all bids of the past
/// were due minutes beyond their limit, half could wait for days.
struct Sold : World {
  explicit Sold(int seed)
      : World(fmt::format("mechanism = \"contracts\"; seed = \"{}\"; prices = {{ floor = \"0.1\"; "
                          "cap = \"10\"; }}; contracts = {{ floor = \"none\"; }};\n",
                          seed),
              4, 4) {
    scheduler = Scheduler::kBackfill;
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    SeededRandom random(static_cast<std::uint64_t>(seed));
    std::vector<ledger::Operation> operations;
    for (int i = 0; i < 100; ++i) {
      const Time then = kStart - 2 * kHour;
      const Time slack = i % 2 == 0 ? static_cast<Time>(60 + random.below(1200)) : 2 * 86400;
      ledger::RecordBid record;
      record.id = fmt::format("past:{}", i);
      record.bid = {then, then, then + kHour + slack, kHour, {{"cpu", 4}}, random.uniform(4, 36)};
      record.cluster = "cluster";
      record.partition = "main";
      record.account = "physics";
      record.accepted = true;
      operations.emplace_back(record);
    }
    (void)books().apply(operations, now);
    crash();
    for (Time hour = 2; hour < 6; ++hour) {
      Ask ask;
      ask.budget = "5000";
      ask.cpus = 16;
      ask.begin = kStart + hour * kHour;
      EXPECT_NE(run(ask), 0u);
    }
    step();
  }
  json menu(Time limit) {
    return json::parse(query(fmt::format(
        R"({{"verb":"menu","account":"physics","size":{{"tasks":8,"min_cpus":8}},"rows":100,"time_limit_s":{}}})",
        limit)))["rows"];
  }
};

Money price_of(const json& row) {
  return *Money::parse(row["price"].get<std::string>());
}

/// Credits of the cheapest row that is complete by `due`.
std::optional<Money> cheapest_by(const json& rows, Time due) {
  std::optional<Money> cheapest;
  for (const json& row : rows) {
    if (row["completes"].get<Time>() > due) continue;
    if (!cheapest || price_of(row) < *cheapest) cheapest = price_of(row);
  }
  return cheapest;
}

// "Done within an hour and a half", of an hour, while the next four hours but two are sold.
TEST(Tries, TheCheapestOfTenIsTheFirst) {
  int dear = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Sold world(seed);
    const Time within = kHour + kHour / 2;
    const auto first = cheapest_by(world.menu(kHour), world.now + within);
    ASSERT_TRUE(first);
    dear += *first > Money();
    for (int minute = 1; minute < 10; ++minute) {
      world.advance(world.now + 60);
      EXPECT_EQ(cheapest_by(world.menu(kHour), world.now + within)->to_string(), first->to_string())
          << minute;
    }
  }
  EXPECT_GE(dear, 5) << "else nothing was to be gained";
}

// 50 calls, for 60 to 109 minutes: the same start, and so the same time beyond the limit, costs the same
// for a billing-hour.
TEST(Tries, OtherTimeLimitsCostTheSameForAnHour) {
  int dear = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Sold world(seed);
    const json first = world.menu(kHour);
    const double unit = price_of(first[0]).credits() / 8;
    dear += unit > 0;
    for (Time minutes = 61; minutes < 110; ++minutes) {
      const json rows = world.menu(minutes * 60);
      ASSERT_EQ(rows[0]["start"], first[0]["start"]);
      const double hours = 8 * static_cast<double>(minutes) / 60;
      EXPECT_NEAR(price_of(rows[0]).credits() / hours, unit, 0.01 * unit) << minutes;
    }
  }
  EXPECT_GE(dear, 5);
}

}  // namespace
}  // namespace market::testing
