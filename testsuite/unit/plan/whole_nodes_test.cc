// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/whole_nodes.h"

#include <gtest/gtest.h>

namespace market {
namespace {

// Two nodes of 4 cores with 2 threads, 1000 MB and 2 GPUs; a third with more memory has a feature.
NodePlan plan_of(bool memory = true) {
  std::vector<Node> nodes;
  for (const char* name : {"n1", "n2", "big"}) {
    Node node;
    node.name = name;
    node.cores = 4;
    node.threads_per_core = 2;
    node.mem_mb = memory ? 1000 : 0;
    node.gres = {{"gpu:a100", 2}};
    node.partitions = {"main"};
    node.features = {"small"};
    nodes.push_back(node);
  }
  if (memory) nodes[2].mem_mb = 4000;
  nodes[2].features = {"large"};
  NodePlan plan;
  plan.set_nodes(std::move(nodes));
  return plan;
}

Demand demand_for(SizeOptions size) {
  return demand_of(size).value();
}

TEST(WholeNodes, ExclusiveCountsAllOfItsNodesAndOnlyOnce) {
  const NodePlan plan = plan_of();
  // 9 CPUs need two nodes of 8.
  Demand demand = demand_for({.min_cpus = 9, .features = "small", .exclusive = true});
  const Tres expected = {{"cpu", 16}, {"mem", 2000}, {"node", 2}, {"gres/gpu:a100", 4}};
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(count_whole_nodes(demand, "main", plan));
    EXPECT_EQ(demand.tres, expected);
    EXPECT_EQ(demand.shape.max_nodes, 2u);
  }
}

TEST(WholeNodes, GpusAskedForAreAmongThoseTaken) {
  const NodePlan plan = plan_of();
  Demand demand = demand_for(
      {.min_cpus = 1, .tres_per_node = "gres:gpu:1", .features = "small", .exclusive = true});
  ASSERT_TRUE(count_whole_nodes(demand, "main", plan));
  EXPECT_EQ(demand.tres, (Tres{{"cpu", 8}, {"mem", 1000}, {"node", 1}, {"gres/gpu:a100", 2}}));
}

TEST(WholeNodes, AllMemoryCountsMemoryAndLeavesTheRest) {
  const NodePlan plan = plan_of();
  Demand demand = demand_for({.min_cpus = 3, .features = "small", .all_memory = true});
  ASSERT_TRUE(count_whole_nodes(demand, "main", plan));
  EXPECT_EQ(demand.tres, (Tres{{"cpu", 3}, {"mem", 1000}, {"node", 1}}));
  const auto placement = plan.place(demand.shape, "main", 0, 100);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front().mem_mb, 1000u);
}

TEST(WholeNodes, AllMemoryNeedsANodeOfWhichNobodyHasMemory) {
  NodePlan plan = plan_of();
  Demand demand = demand_for({.min_cpus = 1, .features = "large", .all_memory = true});
  plan.book("other", {Seat{2, CoreSet::first(1), 1, {}}}, 0, 50);
  EXPECT_FALSE(plan.place(demand.shape, "main", 0, 100));
  EXPECT_TRUE(plan.place(demand.shape, "main", 50, 100));
}

TEST(WholeNodes, UnequalNodesAreRefusedUntilTheyAreNarrowedDown) {
  const NodePlan plan = plan_of();
  Demand any = demand_for({.min_cpus = 1, .exclusive = true});
  const auto refused = count_whole_nodes(any, "main", plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "--exclusive: the nodes that could take the job differ, and so would its price; choose "
            "equal ones with --constraint or --nodelist");
  Demand memory = demand_for({.min_cpus = 1, .all_memory = true});
  EXPECT_FALSE(count_whole_nodes(memory, "main", plan));
  Demand named = demand_for({.min_cpus = 1, .req_nodes = "big", .exclusive = true});
  ASSERT_TRUE(count_whole_nodes(named, "main", plan));
  EXPECT_EQ(named.tres.at("mem"), 4000);
  // A node too small for the job is none it could get.
  Demand large = demand_for({.min_cpus = 1, .mem_per_node_mb = 2000, .exclusive = true});
  ASSERT_TRUE(count_whole_nodes(large, "main", plan));
  EXPECT_EQ(large.tres.at("mem"), 4000);
}

TEST(WholeNodes, MemoryThatIsNotConsumableIsNotCounted) {
  const NodePlan plan = plan_of(false);
  Demand demand = demand_for({.min_cpus = 3, .all_memory = true});
  ASSERT_TRUE(count_whole_nodes(demand, "main", plan));
  EXPECT_EQ(demand.tres, (Tres{{"cpu", 3}, {"node", 1}}));
}

}  // namespace
}  // namespace market
