// SPDX-License-Identifier: GPL-2.0-or-later
// Supply that changes over time: reservations of others, now and later, and the part that is never
// sold.
#include "core/market/supply.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;

std::string settings(const std::string& mechanism, const std::string& planning = "") {
  return fmt::format(
      "mechanism = \"{}\"; prices = {{ floor = \"0.1\"; cap = \"1\"; fixed = \"0.1\"; }};\n"
      "planning = {{ slot = \"1:00\"; start_slack = \"1:00\"; {} }};\n",
      mechanism, planning);
}

/// Four nodes of 16 cores.
struct Cluster : World {
  explicit Cluster(const std::string& text) : World(text, 4, 16) {
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
  }
  Time at(int hour) const { return now / kDay * kDay + kDay + hour * kHour; }

  /// Asks for one hour from `start` on, no earlier and no later; what the user is told.
  std::string told(Time start, std::uint32_t cpus, const char* budget) {
    Ask ask;
    ask.budget = budget;
    ask.cpus = cpus;
    ask.begin = start;
    ask.deadline = start + kHour + 60;
    return test_only(ask).text;
  }

  /// Last week somebody bid 0.50 a CPU-hour for 40 CPUs in every hour.
  void learn_forty_cpus() {
    for (Time hour = (now - 7 * kDay) / kHour * kHour + kHour; hour + kHour <= now; hour += kHour) {
      ledger::RecordBid record;
      record.id = fmt::format("past:{}", hour);
      record.accepted = true;
      record.bid = {hour, hour, hour + kHour, kHour, {{"cpu", 40}}, 20.0, ""};
      record.account = "physics";
      ASSERT_TRUE(books().apply({{record}}, now));
    }
    configure(settings("era"), false);
  }
};

// 40 CPUs are expected and 8 asked for: 48 of 64 cost the floor; of 32 that are left while two nodes
// are reserved they cost what the others are expected to pay.
TEST(Supply, WhatOthersWillHoldCostsMoreInItsHours) {
  Cluster cluster(settings("era"));
  cluster.learn_forty_cpus();
  for (int hour = 8; hour < 14; ++hour)
    EXPECT_THAT(cluster.told(cluster.at(hour), 8, "0.01"), HasSubstr("needs 0.80,")) << hour;
  cluster.foreign = {{"maintenance", cluster.at(10), cluster.at(12), {0, 1}}};
  cluster.tell_cluster();
  cluster.step();
  for (int hour = 8; hour < 14; ++hour) {
    const bool is_reserved = hour == 10 || hour == 11;
    EXPECT_THAT(cluster.told(cluster.at(hour), 8, "0.01"),
                HasSubstr(is_reserved ? "needs 4.00," : "needs 0.80,"))
        << hour;
  }
  cluster.foreign.clear();
  cluster.tell_cluster();
  cluster.step();
  EXPECT_THAT(cluster.told(cluster.at(10), 8, "0.01"), HasSubstr("needs 0.80,"));
}

// 57 of 64 CPUs are for sale with a tenth to spare: the 58th is not, at any price and at any time.
TEST(Supply, WhatIsSpareIsNeverSold) {
  for (const char* mechanism : {"era", "first_fit", "on_demand"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(settings(mechanism, "spare = \"0.10\";"));
    EXPECT_THAT(cluster.told(cluster.now, 58, "1000"), HasSubstr("nothing is for sale"));
    EXPECT_THAT(cluster.told(cluster.now, 57, "1000"), HasSubstr("accepted"));
    cluster.step();
    Ask ask;
    ask.budget = "1000";
    ask.cpus = 1;
    ask.deadline = cluster.now + kHour + 60;
    int sold = 0;
    while (cluster.run(ask) != 0) ++sold;
    EXPECT_EQ(sold, 57);
    cluster.step();
    EXPECT_EQ(cluster.orders_of[MARKET_HOLD], 0);
  }
}

// With random bids over days, under each rule that promises starts, no more than 32 of 64 CPUs are
// ever planned at a time with half of them to spare, and nothing of a reserved node.
TEST(Supply, NoRuleSellsTheSpareOrReservedPart) {
  for (const char* mechanism : {"era", "first_fit", "on_demand", "contracts"}) {
    SCOPED_TRACE(mechanism);
    Cluster cluster(settings(mechanism, "spare = \"0.50\";"));
    cluster.scheduler = Scheduler::kNone;
    cluster.foreign = {{"a", cluster.now + 2 * kHour, cluster.now + 6 * kHour, {0, 1}},
                       {"b", cluster.now + 4 * kHour, cluster.now + 8 * kHour, {1, 2}}};
    cluster.tell_cluster();
    cluster.step();
    std::mt19937_64 random(7);
    std::map<Time, int> changes;
    int accepted = 0;
    for (int i = 0; i < 150; ++i) {
      Ask ask;
      ask.budget = "1000";
      ask.cpus = 1 + static_cast<std::uint32_t>(random() % 16);
      ask.limit_min = 30 + static_cast<std::uint32_t>(random() % 90);
      ask.deadline = cluster.now + 3 * kHour + static_cast<Time>(random() % (9 * kHour));
      const Answer answer = cluster.submit(ask);
      if (answer.verdict != MARKET_ACCEPTED) continue;
      ++accepted;
      const auto note = read_note(answer.note);
      ASSERT_TRUE(note);
      changes[note->start] += static_cast<int>(ask.cpus);
      changes[note->start + 60 * Time{ask.limit_min}] -= static_cast<int>(ask.cpus);
    }
    EXPECT_GT(accepted, mechanism == std::string("on_demand") ? 2 : 15);
    int now = 0, most = 0;
    for (const auto& [time, change] : changes) most = std::max(most, now += change);
    EXPECT_LE(most, 32);
  }
}

Tres cpus(std::int64_t count) {
  return {{"cpu", count}};
}

// Two reservations of one node, the second of four cores more: from 10 to 20 the first two, from 20
// to 30 all six, then four; of a whole node its memory and GPUs too.
TEST(Supply, OverlappingReservationsCountOnce) {
  Node node;
  node.cores = 8;
  node.mem_mb = 1000;
  node.gres = {{"gpu:a100", 2}};
  CoreSet two = CoreSet::first(2), four;
  for (std::uint32_t core = 1; core < 5; ++core) four.insert(core);
  const auto held = held_over_time({{{{0, two, 0, {}}}, 10, 30},
                                    {{{0, four, 0, {}}}, 20, 40},
                                    {{{1, CoreSet::first(8), 0, {}}}, 5, 6},
                                    {{{1, CoreSet::first(8), 0, {}}}, 5, 6},
                                    {{{0, two, 0, {}}}, 50, 50}},
                                   {node, node});
  ASSERT_EQ(held.size(), 4u);
  EXPECT_EQ(held[0].busy.tres, cpus(2));
  EXPECT_EQ(held[0].busy.from, 10);
  EXPECT_EQ(held[0].busy.until, 20);
  EXPECT_EQ(held[1].busy.tres, cpus(5));
  EXPECT_EQ(held[1].busy.until, 30);
  EXPECT_EQ(held[2].busy.tres, cpus(4));
  EXPECT_EQ(held[2].busy.until, 40);
  EXPECT_EQ(held[3].node, 1u);
  EXPECT_EQ(held[3].busy.tres, (Tres{{"cpu", 8}, {"mem", 1000}, {"gres/gpu:a100", 2}}));
}

// A reservation that comes again, as Slurm's daily ones do, holds its nodes each time.
TEST(Supply, AReservationThatComesAgainHoldsItsNodesEachTime) {
  Cluster cluster(settings("first_fit"));
  for (int day = 0; day < 3; ++day) {
    cluster.foreign.push_back(
        {"daily", cluster.at(10) + day * kDay, cluster.at(12) + day * kDay, {0, 1, 2, 3}});
  }
  cluster.tell_cluster();
  cluster.step();
  for (int day = 0; day < 3; ++day) {
    EXPECT_THAT(cluster.told(cluster.at(10) + day * kDay, 1, "1"),
                HasSubstr("nothing is for sale"));
    EXPECT_THAT(cluster.told(cluster.at(12) + day * kDay, 1, "1"), HasSubstr("accepted"));
  }
  // The places are known too, not only the sum.
  EXPECT_THAT(cluster.told(cluster.at(10) + kDay - kHour - 60, 64, "100"), HasSubstr("accepted"));
}

// Two of four nodes are reserved and drained: the others are for sale, at the floor.
TEST(Supply, ADrainedNodeThatIsReservedIsMissingOnce) {
  Cluster cluster(settings("first_fit"));
  cluster.foreign = {{"maintenance", cluster.now, cluster.now + kDay, {0, 1}}};
  cluster.node_up[0] = cluster.node_up[1] = false;
  cluster.tell_cluster();
  cluster.step();
  EXPECT_THAT(cluster.told(cluster.now, 32, "100"), HasSubstr("accepted"));
}

}  // namespace
}  // namespace market::testing
