// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/node_plan.h"

#include <gtest/gtest.h>

namespace market {
namespace {

Node node(std::string name, std::uint32_t cores) {
  Node node;
  node.name = std::move(name);
  node.cores = cores;
  node.partitions = {"batch"};
  return node;
}

NodePlan four_nodes() {
  NodePlan plan;
  plan.set_nodes({node("n0", 4), node("n1", 4), node("n2", 4), node("n3", 4)});
  return plan;
}

Shape cpus(std::uint32_t count) {
  Shape shape;
  shape.cpus = count;
  return shape;
}

/// "node:cores" of each seat.
std::string text(const std::optional<Placement>& placement) {
  if (!placement) return "none";
  std::string result;
  for (const Seat& seat : *placement) {
    result += (result.empty() ? "" : " ") + std::to_string(seat.node) + ":" +
              std::to_string(seat.cores.count());
  }
  return result;
}

TEST(CoreSet, HoldsCoresAcrossWords) {
  CoreSet set = CoreSet::first(70);
  EXPECT_EQ(set.count(), 70U);
  EXPECT_TRUE(set.contains(69));
  EXPECT_FALSE(set.contains(70));
  EXPECT_EQ(CoreSet::first(64).words().size(), 1U);
  CoreSet other;
  other.insert(200);
  EXPECT_FALSE(set.overlaps(other));
  other.insert(69);
  EXPECT_TRUE(set.overlaps(other));
  set.insert(other);
  EXPECT_EQ(set.count(), 71U);
}

TEST(CoreSet, EqualSetsAreEqualWhateverTheWordsTheyCameFrom) {
  const std::uint64_t words[] = {3, 0, 0};
  EXPECT_EQ(CoreSet::from_words(words, 3), CoreSet::first(2));
}

TEST(NodePlan, FirstNodeThatHoldsTheWholeJobIsTaken) {
  NodePlan plan = four_nodes();
  plan.book("a", {{0, CoreSet::first(2), 0, {}}}, 0, 100);
  EXPECT_EQ(text(plan.place(cpus(3), "batch", 50, 60)), "1:3");
  EXPECT_EQ(text(plan.place(cpus(2), "batch", 50, 60)), "0:2");
  EXPECT_EQ(text(plan.place(cpus(4), "batch", 100, 110)), "0:4") << "a booking ends before its end";
}

TEST(NodePlan, NodesOfALowerRankAreTakenFirst) {
  NodePlan plan = four_nodes();
  plan.prefer({2, 1, 1});  // n3: 0
  EXPECT_EQ(text(plan.place(cpus(1), "batch", 0, 10)), "3:1");
  EXPECT_EQ(text(plan.place(cpus(8), "batch", 0, 10)), "3:4 1:4");
  plan.book("one", *plan.place(cpus(4), "batch", 0, 10), 0, 10);
  EXPECT_EQ(text(plan.place(cpus(1), "batch", 0, 10)), "1:1");
  EXPECT_EQ(plan.able(cpus(1), "batch"), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  plan.prefer({});
  EXPECT_EQ(text(plan.place(cpus(1), "batch", 0, 10)), "0:1");
}

TEST(NodePlan, SameCoresAreFreeOverTheWholeWindow) {
  NodePlan plan;
  plan.set_nodes({node("n0", 2)});
  CoreSet second;
  second.insert(1);
  plan.book("a", {{0, CoreSet::first(1), 0, {}}}, 0, 10);
  plan.book("b", {{0, second, 0, {}}}, 10, 20);
  EXPECT_EQ(text(plan.place(cpus(1), "batch", 0, 20)), "none")
      << "one core is free at any time, but not the same";
  EXPECT_EQ(text(plan.place(cpus(1), "batch", 0, 20, "b")), "0:1");
}

TEST(NodePlan, FewestNodesEachWithATask) {
  NodePlan plan = four_nodes();
  plan.book("a", {{0, CoreSet::first(3), 0, {}}}, 0, 100);
  EXPECT_EQ(text(plan.place(cpus(7), "batch", 0, 1)), "1:4 2:3");
  Shape spread = cpus(4);
  spread.min_nodes = 3;
  EXPECT_EQ(text(plan.place(spread, "batch", 0, 1)), "0:1 1:2 2:1");
  spread.tasks_per_node = 1;
  EXPECT_EQ(text(plan.place(spread, "batch", 0, 1)), "0:1 1:1 2:1 3:1");
  spread.max_nodes = 3;
  EXPECT_EQ(text(plan.place(spread, "batch", 0, 1)), "none");
}

TEST(NodePlan, TasksAreWholeAndCoresAreWhole) {
  NodePlan plan;
  Node threaded = node("n0", 4);
  threaded.threads_per_core = 2;
  plan.set_nodes({threaded});
  Shape shape = cpus(6);
  shape.cpus_per_task = 3;
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "0:3");
  shape.cpus = 9;
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "none") << "8 threads hold two tasks of 3";
}

TEST(NodePlan, MemoryPerNodeAndPerCpu) {
  NodePlan plan;
  Node big = node("n0", 8);
  big.mem_mb = 1000;
  plan.set_nodes({big});
  plan.book("early", {{0, CoreSet::first(1), 600, {}}}, 0, 10);
  plan.book("late", {{0, CoreSet::first(1), 600, {}}}, 10, 20);
  Shape shape = cpus(2);
  shape.mem_per_node_mb = 400;
  const auto placement = plan.place(shape, "batch", 0, 20);
  ASSERT_TRUE(placement) << "the two bookings never hold memory at the same time";
  EXPECT_EQ(placement->front().mem_mb, 400U);
  shape.mem_per_node_mb = 401;
  EXPECT_FALSE(plan.place(shape, "batch", 0, 20));
  shape.mem_per_node_mb = 0;
  shape.mem_per_cpu_mb = 200;
  EXPECT_EQ(plan.place(shape, "batch", 0, 20)->front().mem_mb, 400U);
  shape.cpus = 3;
  EXPECT_FALSE(plan.place(shape, "batch", 0, 20));
}

TEST(NodePlan, GresPerNodeAndInTotal) {
  NodePlan plan;
  Node a = node("n0", 8);
  a.gres = {{"gpu:a100", 4}};
  Node b = node("n1", 8);
  b.gres = {{"gpu:a100", 2}, {"gpu:t4", 2}};
  plan.set_nodes({a, b, node("n2", 8)});
  Shape shape = cpus(2);
  shape.gres_total = {{"gpu", 6}};
  const auto placement = plan.place(shape, "batch", 0, 1);
  EXPECT_EQ(text(placement), "0:1 1:1");
  EXPECT_EQ((*placement)[0].gres.at("gpu:a100"), 4);
  EXPECT_EQ((*placement)[1].gres.at("gpu:a100"), 2);
  shape.gres_total = {{"gpu:a100", 7}};
  EXPECT_FALSE(plan.place(shape, "batch", 0, 1));
  shape.gres_total.clear();
  shape.gres_per_node = {{"gpu:t4", 2}};
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "1:2");
  plan.book("a", {{1, CoreSet::first(1), 0, {{"gpu:t4", 1}}}}, 0, 10);
  EXPECT_FALSE(plan.place(shape, "batch", 0, 1));
}

TEST(NodePlan, WhichNodesQualify) {
  NodePlan plan;
  Node down = node("n0", 8);
  down.usable = false;
  Node other = node("n1", 8);
  other.partitions = {"debug"};
  Node fast = node("n3", 8);
  fast.features = {"fast"};
  plan.set_nodes({down, other, node("n2", 8), fast});
  Shape shape = cpus(1);
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "2:1");
  shape.exc_nodes = {"n2"};
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "3:1");
  shape.exc_nodes.clear();
  shape.features = {"fast"};
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "3:1");
  shape.features.clear();
  shape.req_nodes = {"n3"};
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "3:1");
  shape.cpus = 9;
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "2:8 3:1");
  shape.req_nodes = {"n0"};
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "none");
  EXPECT_TRUE(plan.fits_empty(shape, "batch")) << "a node that is down may come back";
  EXPECT_FALSE(plan.fits_empty(cpus(25), "batch"));
  EXPECT_FALSE(plan.fits_empty(cpus(1), "nowhere"));
}

TEST(NodePlan, ExclusiveTakesAnIdleNodeWhole) {
  NodePlan plan = four_nodes();
  plan.book("a", {{0, CoreSet::first(1), 0, {}}}, 0, 100);
  Shape shape = cpus(1);
  shape.exclusive = true;
  EXPECT_EQ(text(plan.place(shape, "batch", 0, 1)), "1:4");
}

TEST(NodePlan, BookingAgainReplacesAndCancelFrees) {
  NodePlan plan = four_nodes();
  plan.book("a", {{0, CoreSet::first(4), 0, {}}}, 0, 100);
  plan.book("a", {{1, CoreSet::first(4), 0, {}}}, 0, 100);
  EXPECT_EQ(text(plan.place(cpus(4), "batch", 0, 1)), "0:4");
  EXPECT_TRUE(plan.booked("a"));
  plan.cancel("a");
  plan.cancel("a");
  EXPECT_FALSE(plan.booked("a"));
  EXPECT_EQ(text(plan.place(cpus(16), "batch", 0, 1)), "0:4 1:4 2:4 3:4");
}

TEST(NodePlan, ABookingKeepsItsPlaceUnderAnotherKey) {
  NodePlan plan = four_nodes();
  plan.book("a", {{0, CoreSet::first(4), 0, {}}}, 0, 100);
  plan.book("b", {{1, CoreSet::first(4), 0, {}}}, 0, 100);
  plan.rename("a", "b");
  EXPECT_FALSE(plan.booked("a"));
  EXPECT_EQ(text(plan.place(cpus(12), "batch", 0, 1)), "1:4 2:4 3:4");
  EXPECT_EQ(text(plan.place(cpus(16), "batch", 0, 1, "b")), "0:4 1:4 2:4 3:4");
  plan.rename("b", "b");
  plan.rename("nobody", "b");
  EXPECT_TRUE(plan.booked("b"));
  plan.cancel("b");
  EXPECT_EQ(text(plan.place(cpus(16), "batch", 0, 1)), "0:4 1:4 2:4 3:4");
}

TEST(NodePlan, BookingsFollowTheNamesOfTheirNodes) {
  NodePlan plan = four_nodes();
  plan.book("kept", {{1, CoreSet::first(4), 0, {}}}, 0, 100);
  plan.book("lost", {{0, CoreSet::first(4), 0, {}}, {2, CoreSet::first(4), 0, {}}}, 0, 100);
  plan.set_nodes({node("n2", 4), node("n1", 4), node("n9", 4)});
  EXPECT_TRUE(plan.booked("kept"));
  EXPECT_FALSE(plan.booked("lost"));
  EXPECT_EQ(text(plan.place(cpus(8), "batch", 0, 1)), "0:4 2:4");
}

Seat part_of(std::uint32_t first_core, std::uint32_t cores, std::uint64_t mem_mb = 0) {
  Seat seat;
  for (std::uint32_t core = first_core; core < first_core + cores; ++core) seat.cores.insert(core);
  seat.mem_mb = mem_mb;
  return seat;
}

// Cores 0 and 1 until 10. From 20 on core 1 is promised; what runs at 5 is not, and its memory neither.
TEST(NodePlan, ABookingCanLastUntilWhatItHoldsIsPromised) {
  Node small = node("n0", 8);
  small.mem_mb = 100;
  NodePlan plan;
  plan.set_nodes({small});
  plan.book("own", {part_of(0, 2, 40)}, 0, 10);
  plan.book("runs", {part_of(1, 1, 90)}, 3, 60);
  EXPECT_EQ(plan.can_last("own", 5, 40), 40);
  plan.book("beside", {part_of(2, 1, 35)}, 12, 18);
  EXPECT_EQ(plan.can_last("own", 5, 40), 40);
  plan.book("promised", {part_of(1, 2)}, 20, 30);
  EXPECT_EQ(plan.can_last("own", 5, 40), 20);
  EXPECT_EQ(plan.can_last("own", 5, 15), 15);
  plan.book("fills", {part_of(4, 1, 35)}, 14, 30);
  EXPECT_EQ(plan.can_last("own", 5, 40), 14);
  plan.book("now", {part_of(0, 1)}, 9, 12);
  EXPECT_EQ(plan.can_last("own", 5, 40), 10);
  EXPECT_EQ(plan.can_last("nobody", 5, 40), 0);
}

}  // namespace
}  // namespace market
