// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm allocates for a size. The figures are AllocTRES of real clusters of Slurm 22.05 with
// these nodes and settings.
#include "core/market/slurm_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/plan/fit_reason.h"

namespace market {
namespace {

using ::testing::HasSubstr;

/// Two equal nodes, as tested.
NodePlan two_nodes(std::uint32_t cores, std::uint32_t threads, std::uint64_t mem_mb,
                   std::int64_t gpus = 0) {
  std::vector<Node> nodes(2);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i + 1);
    nodes[i].cores = cores;
    nodes[i].threads_per_core = threads;
    nodes[i].mem_mb = mem_mb;
    nodes[i].partitions = {"main"};
    if (gpus > 0) nodes[i].gres = {{"gpu:a100", gpus}};
  }
  NodePlan plan;
  plan.set_nodes(std::move(nodes));
  return plan;
}

struct Case {
  const char* options;
  SizeOptions size;
  std::int64_t cpus;
  std::int64_t mem_mb = 0;  ///< 0: not looked at
};

/// `nodes_cost`, so that the number of nodes is settled too.
void expect_counts(const std::vector<Case>& cases, const market_partition_rules_t& rules,
                   const NodePlan& plan) {
  for (const Case& one : cases) {
    const auto demand = count_as_slurm(one.size, rules, "main", plan, true);
    ASSERT_TRUE(demand) << one.options << ": " << demand.error().text;
    EXPECT_EQ(demand->tres.at("cpu"), one.cpus) << one.options;
    if (one.mem_mb != 0) {
      EXPECT_EQ(demand->tres.at("mem"), one.mem_mb) << one.options;
    }
    EXPECT_EQ(fit_reason(demand->shape, "main", plan), std::nullopt) << one.options;
    const auto place = plan.place_empty(demand->shape, "main");
    ASSERT_TRUE(place) << one.options;
    EXPECT_EQ(place->size(), static_cast<std::size_t>(demand->tres.at("node"))) << one.options;
  }
}

std::string refusal(const SizeOptions& size, const market_partition_rules_t& rules,
                    const NodePlan& plan) {
  const auto demand = count_as_slurm(size, rules, "main", plan, true);
  if (!demand) return demand.error().text;
  return fit_reason(demand->shape, "main", plan).value_or("");
}

TEST(SlurmCount, CoresAreWhole) {
  const std::vector<Case> cases = {
      {"-n1", {.tasks = 1, .min_cpus = 1}, 2},
      {"-n3", {.tasks = 3, .min_cpus = 3}, 4},
      {"-n3 -N2", {.min_nodes = 2, .max_nodes = 2, .tasks = 3}, 4},
      {"-n4 -N2", {.min_nodes = 2, .max_nodes = 2, .tasks = 4}, 4},
      {"-n5 -N2", {.min_nodes = 2, .max_nodes = 2, .tasks = 5}, 6},
      {"-n2 -c3", {.tasks = 2, .cpus_per_task = 3}, 6},
      {"-n3 -c2", {.tasks = 3, .cpus_per_task = 2}, 6},
      {"-c3", {.cpus_per_task = 3, .min_cpus = 3}, 4},
      {"-N2 -c3", {.min_nodes = 2, .max_nodes = 2, .tasks = 2, .cpus_per_task = 3}, 8},
      {"-n1 --threads-per-core=1", {.tasks = 1, .threads_per_core = 1}, 2},
      {"-n3 --threads-per-core=1", {.tasks = 3, .threads_per_core = 1}, 6},
      {"-n2 --ntasks-per-core=1", {.tasks = 2, .tasks_per_core = 1}, 4},
      {"-n2 -c3 --ntasks-per-core=1", {.tasks = 2, .cpus_per_task = 3, .tasks_per_core = 1}, 8},
      {"-n3 --ntasks-per-core=2", {.tasks = 3, .tasks_per_core = 2}, 4},
      {"-n1 --mincpus=3", {.tasks = 1, .cpus_per_node = 3}, 4},
      {"-n1 -c3 --mincpus=2", {.tasks = 1, .cpus_per_task = 3, .cpus_per_node = 2}, 4},
      {"-N2 --ntasks-per-node=3",
       {.min_nodes = 2, .max_nodes = 2, .tasks = 6, .tasks_per_node = 3},
       8},
      {"-n3 --mem-per-cpu=100", {.tasks = 3, .mem_per_cpu_mb = 100}, 4, 400},
      {"-n1 --threads-per-core=1 --mem-per-cpu=100",
       {.tasks = 1, .mem_per_cpu_mb = 100, .threads_per_core = 1},
       2,
       100},
      {"-n2 --ntasks-per-core=1 --mem-per-cpu=100",
       {.tasks = 2, .mem_per_cpu_mb = 100, .tasks_per_core = 1},
       4,
       400},
      {"-n17 --mem=100", {.tasks = 17, .mem_per_node_mb = 100}, 18, 200},
      {"-n20 --mem=100", {.tasks = 20, .mem_per_node_mb = 100}, 20, 200},
      {"-n1 --exclusive", {.tasks = 1, .exclusive = true}, 16, 16000},
      {"-n1 --mem=0", {.tasks = 1, .all_memory = true}, 2, 16000},
  };
  expect_counts(cases, {}, two_nodes(8, 2, 16000));
  // A node of its own needs memory for all its CPUs.
  EXPECT_THAT(
      refusal({.tasks = 1, .mem_per_cpu_mb = 1001, .exclusive = true}, {}, two_nodes(8, 2, 16000)),
      HasSubstr("--mem-per-cpu"));
}

TEST(SlurmCount, OneTaskOnEachCoreIsADefaultOfTheSite) {
  market_partition_rules_t rules{};
  rules.one_task_per_core = true;
  expect_counts({{"-n1", {.tasks = 1}, 2},
                 {"-n3", {.tasks = 3}, 6},
                 {"-n5 -N2", {.min_nodes = 2, .max_nodes = 2, .tasks = 5}, 10},
                 {"-n2 -c3", {.tasks = 2, .cpus_per_task = 3}, 8},
                 {"-n3 -c2", {.tasks = 3, .cpus_per_task = 2}, 6},
                 {"-n3 --ntasks-per-core=2", {.tasks = 3, .tasks_per_core = 2}, 4},
                 {"-n1 --mincpus=3", {.tasks = 1, .cpus_per_node = 3}, 6}},
                rules, two_nodes(8, 2, 16000));
  EXPECT_THAT(refusal({.tasks = 17}, rules, two_nodes(8, 2, 16000)), HasSubstr("34 CPUs"));
  // Slurm gave 14 where each node needs 4 cores.
  EXPECT_THAT(refusal({.min_nodes = 2, .max_nodes = 2, .tasks = 2, .cpus_per_node = 4}, rules,
                      two_nodes(8, 2, 16000)),
              HasSubstr("--nodes"));
}

TEST(SlurmCount, WhereThreadsAreSoldNothingIsRounded) {
  market_partition_rules_t rules{};
  rules.unit = MARKET_UNIT_CPU;
  expect_counts({{"-n1", {.tasks = 1}, 1},
                 {"-n3 -N2", {.min_nodes = 2, .max_nodes = 2, .tasks = 3}, 3},
                 {"-n3 --threads-per-core=1", {.tasks = 3, .threads_per_core = 1}, 3},
                 {"-n3 --mem-per-cpu=100", {.tasks = 3, .mem_per_cpu_mb = 100}, 3, 300}},
                rules, two_nodes(8, 2, 16000));
}

TEST(SlurmCount, MemoryAboveTheLimitTakesCpus) {
  market_partition_rules_t rules{};
  rules.max_mem_per_cpu_mb = 1000;
  const SizeOptions two{.min_nodes = 2, .max_nodes = 2, .tasks = 2};
  SizeOptions per_node = two;
  per_node.mem_per_node_mb = 3000;
  SizeOptions per_cpu = two;
  per_cpu.mem_per_cpu_mb = 1500;
  SizeOptions pairs = per_node;
  pairs.tasks = 4;
  pairs.tasks_per_node = 2;
  expect_counts(
      {{"-n1 --mem-per-cpu=3000", {.tasks = 1, .mem_per_cpu_mb = 3000}, 3, 3000},
       {"-n2 --mem-per-cpu=3000", {.tasks = 2, .mem_per_cpu_mb = 3000}, 6, 6000},
       {"-n1 --mem-per-cpu=1001", {.tasks = 1, .mem_per_cpu_mb = 1001}, 2, 1002},
       {"-N2 --mem-per-cpu=1500", per_cpu, 4, 3000},
       {"-n1 --mem=3000", {.tasks = 1, .mem_per_node_mb = 3000}, 3, 3000},
       {"-n2 --mem=3000", {.tasks = 2, .mem_per_node_mb = 3000}, 3, 3000},
       {"-n1 -c2 --mem=3000", {.tasks = 1, .cpus_per_task = 2, .mem_per_node_mb = 3000}, 2, 3000},
       {"-n4 --mem=3000", {.tasks = 4, .mem_per_node_mb = 3000}, 4, 3000},
       {"-n3 -c2 --mem=7000", {.tasks = 3, .cpus_per_task = 2, .mem_per_node_mb = 7000}, 6, 7000},
       {"-N2 --mem=3000", per_node, 6, 6000},
       {"-N2 --ntasks-per-node=2 --mem=3000", pairs, 6, 6000},
       {"--ntasks-per-node=2 --mem=5000", {.tasks_per_node = 2, .mem_per_node_mb = 5000}, 5, 5000},
       {"-n1 --mincpus=2 --mem-per-cpu=1500",
        {.tasks = 1, .mem_per_cpu_mb = 1500, .cpus_per_node = 2},
        2,
        1500}},
      rules, two_nodes(8, 1, 16000));
  const NodePlan plan = two_nodes(8, 1, 16000);
  // Slurm gives 10 CPUs or 9, by how the five tasks fall on the nodes; it gave 7 for four of them.
  EXPECT_THAT(
      refusal({.min_nodes = 2, .max_nodes = 2, .tasks = 5, .mem_per_cpu_mb = 1500}, rules, plan),
      HasSubstr("--nodes"));
  // Three CPUs on each node and pairs of them: six, four of them on one node.
  per_node.cpus_per_task = 2;
  EXPECT_THAT(refusal(per_node, rules, plan), HasSubstr("--nodes"));
  pairs.cpus_per_task = 2;
  pairs.mem_per_node_mb = 5000;
  EXPECT_THAT(refusal(pairs, rules, plan), HasSubstr("--ntasks-per-node with -c"));
  EXPECT_THAT(refusal({.tasks = 1, .mem_per_node_mb = 9000}, rules, plan), HasSubstr("9 CPUs"));
  EXPECT_THAT(refusal({.tasks = 1, .all_memory = true}, rules, plan), HasSubstr("MaxMemPerCPU"));
  market_partition_rules_t per_node_limit{};
  per_node_limit.max_mem_per_node_mb = 2000;
  EXPECT_THAT(refusal({.tasks = 1, .mem_per_node_mb = 2001}, per_node_limit, plan),
              HasSubstr("--mem: MaxMemPerNode is 2000"));
  EXPECT_THAT(refusal({.max_nodes = 1, .tasks = 3, .mem_per_cpu_mb = 1000}, per_node_limit, plan),
              HasSubstr("--mem-per-cpu"));
}

SizeOptions gpus(const char* per_job, std::uint32_t tasks = 1) {
  SizeOptions size;
  size.tasks = tasks;
  size.tres_per_job = per_job;
  return size;
}

TEST(SlurmCount, GpusBringCpusAndMemory) {
  market_partition_rules_t rules{};
  rules.def_cpus_per_gpu = 3;
  rules.def_mem_per_gpu_mb = 700;
  const NodePlan plan = two_nodes(8, 1, 16000, 2);
  SizeOptions asked = gpus("gres:gpu:2");
  asked.cpus_per_tres = "gres:gpu:4";
  SizeOptions with_c = gpus("gres:gpu:1", 3);
  with_c.cpus_per_task = 2;
  SizeOptions named = gpus("gres:gpu:1");
  named.mem_per_cpu_mb = 100;
  named.memory_named = true;
  SizeOptions per_task{.tasks = 3};
  per_task.tres_per_task = "gres:gpu:1";
  per_task.cpus_per_tres = "gres:gpu:2";
  SizeOptions two{.min_nodes = 2, .max_nodes = 2, .tasks = 2};
  two.tres_per_node = "gres:gpu:2";
  SizeOptions both{.min_nodes = 2, .max_nodes = 2, .tres_per_node = "gres:gpu:2"};
  both.tres_per_task = "gres:gpu:1";
  SizeOptions by_gpu = gpus("gres:gpu:2", 0);
  by_gpu.tasks_per_gpu = 2;
  by_gpu.cpus_per_task = 1;
  SizeOptions from_tasks{.tasks = 4};
  from_tasks.tasks_per_gpu = 2;
  from_tasks.cpus_per_task = 1;
  SizeOptions memory = gpus("gres:gpu:2");
  memory.mem_per_tres = "gres:gpu:300";
  expect_counts({{"--gpus=1", gpus("gres:gpu:1"), 3, 700},
                 {"--gpus=2", gpus("gres:gpu:2"), 6, 1400},
                 {"-n2 --gpus=2", gpus("gres:gpu:2", 2), 6, 1400},
                 {"--gpus=a100:1", gpus("gres:gpu:a100:1"), 3, 700},
                 {"--gpus=2 --cpus-per-gpu=4", asked, 8, 1400},
                 {"-n3 -c2 --gpus=1", with_c, 6, 700},
                 {"--gpus=1 --mem-per-cpu=100", named, 3, 300},
                 {"--gpus=2 --mem-per-gpu=300", memory, 6, 600},
                 {"-n3 --gpus-per-task=1 --cpus-per-gpu=2", per_task, 6, 2100},
                 {"-N2 --gpus-per-node=2", two, 12, 2800},
                 {"-N2 --gpus-per-node=2 --gpus-per-task=1", both, 12, 2800},
                 {"-c1 --gpus=2 --ntasks-per-gpu=2", by_gpu, 4, 1400},
                 {"-n4 -c1 --ntasks-per-gpu=2", from_tasks, 4, 1400}},
                rules, plan);
  by_gpu.cpus_per_task = 0;
  EXPECT_THAT(refusal(by_gpu, rules, plan), HasSubstr("--ntasks-per-gpu where DefCpuPerGPU"));
  by_gpu.cpus_per_task = 2;  // four tasks of two: Slurm gave 4 CPUs
  EXPECT_THAT(refusal(by_gpu, rules, plan), HasSubstr("--ntasks-per-gpu cannot"));
  asked.tasks = 9;
  EXPECT_THAT(refusal(asked, rules, plan), HasSubstr("--cpus-per-gpu=4"));
  SizeOptions none{.tasks = 1};
  none.cpus_per_tres = "gres:gpu:2";
  EXPECT_THAT(refusal(none, rules, plan), HasSubstr("--cpus-per-gpu"));
  both.max_nodes = both.min_nodes = 1;
  both.tasks = 1;
  EXPECT_THAT(refusal(both, rules, plan), HasSubstr("do not agree"));
}

// Three GPUs on nodes of two: without -n Slurm takes two nodes, with -n 1 one, and never starts it.
TEST(SlurmCount, GpusOfSeveralNodes) {
  const NodePlan plan = two_nodes(8, 1, 0, 2);
  const auto demand = count_as_slurm(gpus("gres:gpu:3", 0), {}, "main", plan, true);
  ASSERT_TRUE(demand);
  EXPECT_EQ(demand->tres, (Tres{{"cpu", 2}, {"node", 2}, {"gres/gpu", 3}}));
  EXPECT_EQ(fit_reason(demand->shape, "main", plan), std::nullopt);
  EXPECT_THAT(refusal(gpus("gres:gpu:3"), {}, plan), HasSubstr("needs 3 gpu"));
  EXPECT_THAT(refusal(gpus("gres:gpu:5", 0), {}, plan), HasSubstr("needs 5 gpu"));
}

// Slurm runs so many tasks on each node, also where -n is less, or never starts the job.
TEST(SlurmCount, TasksPerNodeFillTheNodes) {
  const NodePlan plan = two_nodes(8, 1, 0);
  expect_counts({{"-n4", {.tasks = 4, .tasks_per_node = 2}, 4},
                 {"-N2 -n2", {.min_nodes = 2, .max_nodes = 2, .tasks = 2, .tasks_per_node = 2}, 4},
                 {"-n2", {.tasks = 2, .tasks_per_node = 3}, 3},
                 {"-c2", {.cpus_per_task = 2, .tasks_per_node = 2}, 4}},
                {}, plan);
  EXPECT_THAT(refusal({.tasks = 5, .tasks_per_node = 2}, {}, plan),
              HasSubstr("--ntasks-per-node=2: -n 5"));
  EXPECT_THAT(refusal({.tasks_per_node = 9}, {}, plan), HasSubstr("--ntasks-per-node"));
}

TEST(SlurmCount, APartitionOfWholeNodes) {
  market_partition_rules_t rules{};
  rules.exclusive = true;
  const NodePlan plan = two_nodes(8, 1, 16000, 2);
  const auto demand = count_as_slurm({.tasks = 10}, rules, "main", plan, false);
  ASSERT_TRUE(demand);
  EXPECT_EQ(demand->tres, (Tres{{"cpu", 16}, {"mem", 32000}, {"node", 2}, {"gres/gpu:a100", 4}}));
}

// By hand: on n1 the task takes a core of one thread, on n2 one of two.
TEST(SlurmCount, OfUnlikeNodesTheCheaperOnesAreMeant) {
  NodePlan plan = two_nodes(8, 1, 0);
  std::vector<Node> nodes = plan.nodes();
  nodes[0].threads_per_core = 2;
  plan.set_nodes(nodes);
  const auto demand = count_as_slurm({.tasks = 1}, {}, "main", plan, false);
  ASSERT_TRUE(demand);
  EXPECT_EQ(demand->tres.at("cpu"), 1);
  const auto place = plan.place_empty(demand->shape, "main");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->front().node, 1u);
  const auto named = count_as_slurm({.tasks = 1, .req_nodes = "n1"}, {}, "main", plan, false);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->tres.at("cpu"), 2);
  // Two CPUs are two on both.
  const auto both = count_as_slurm({.tasks = 2}, {}, "main", plan, false);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->shape.threads_per_core, 0u);
}

TEST(SlurmCount, WhatIsNotKnownIsRefusedByName) {
  const NodePlan plan = two_nodes(8, 2, 16000);
  const std::pair<std::uint32_t, const char*> options[] = {
      {MARKET_OVERCOMMIT, "--overcommit"},
      {MARKET_CORE_SPEC, "--core-spec"},
      {MARKET_EXCLUSIVE_USER, "--exclusive="},
      {MARKET_CONTIGUOUS, "--contiguous"},
      {MARKET_SPREAD, "--spread-job"},
      {MARKET_SOCKETS, "--cores-per-socket"},
      {MARKET_TASKS_PER_SOCKET, "--ntasks-per-socket"},
      {MARKET_PLANE, "--distribution"},
      {MARKET_GRES_BINDING, "--gres-flags"}};
  for (const auto& [bit, name] : options) {
    SizeOptions size{.tasks = 1};
    size.uncounted = bit;
    EXPECT_THAT(refusal(size, {}, plan), HasSubstr(name));
  }
  market_partition_rules_t sockets{};
  sockets.unit = MARKET_UNIT_SOCKET;
  EXPECT_THAT(refusal({.tasks = 1}, sockets, plan), HasSubstr("SelectTypeParameters"));
  // 14 CPUs or 12, by how the tasks fall.
  EXPECT_THAT(refusal({.min_nodes = 2, .max_nodes = 2, .tasks = 4, .cpus_per_task = 3}, {}, plan),
              HasSubstr("-c a multiple"));
}

TEST(FitReason, EachLackIsItsOwn) {
  const NodePlan plan = two_nodes(8, 1, 16000, 2);
  const auto why = [&](SizeOptions size) { return refusal(size, {}, plan); };
  EXPECT_THAT(why({.features = "nosuch"}), HasSubstr("--constraint=nosuch: no node"));
  EXPECT_THAT(why({.req_nodes = "n7"}), HasSubstr("--nodelist: n7"));
  EXPECT_THAT(why({.exc_nodes = "n1,n2"}), HasSubstr("--exclude"));
  EXPECT_THAT(why({.cpus_per_task = 9}), HasSubstr("needs 9 CPUs on one node"));
  EXPECT_THAT(why({.mem_per_node_mb = 17000}), HasSubstr("17000 MB"));
  EXPECT_THAT(why({.tres_per_node = "gres:gpu:3"}), HasSubstr("needs 3 gpu on each node"));
  EXPECT_THAT(why({.min_nodes = 3}), HasSubstr("needs 3 nodes"));
  EXPECT_THAT(why({.tasks = 17}), HasSubstr("needs 17 CPUs, and partition main has 16"));
  EXPECT_EQ(why({.tasks = 16}), "");
}

// Whatever is asked for is counted or refused with a line, and a count is placed as it is counted.
RC_GTEST_PROP(SlurmCount, CountsAreThoseOfTheirPlaces, ()) {
  const auto upto = [](std::uint32_t most) {
    return *rc::gen::inRange<std::uint32_t>(0, most + 1);
  };
  const std::uint32_t threads = 1 + upto(1);
  const NodePlan plan = two_nodes(8, threads, 16000, 2);
  market_partition_rules_t rules{};
  rules.max_mem_per_cpu_mb = upto(1) * 1000;
  rules.def_cpus_per_gpu = upto(3);
  rules.one_task_per_core = upto(1) == 1;
  SizeOptions size;
  size.min_nodes = upto(2);
  size.max_nodes = size.min_nodes;
  size.tasks = upto(12);
  size.cpus_per_task = upto(4);
  size.tasks_per_node = upto(3);
  size.mem_per_cpu_mb = 1 + upto(3000);
  size.cpus_per_node = upto(5);
  size.tasks_per_core = upto(2);
  size.threads_per_core = upto(threads);
  if (upto(1) == 1) size.tres_per_job = "gres:gpu:" + std::to_string(1 + upto(3));
  const auto demand = count_as_slurm(size, rules, "main", plan, upto(1) == 1);
  if (!demand) {
    RC_ASSERT(!demand.error().text.empty());
    return;
  }
  RC_ASSERT(demand->tres.at("cpu") % threads == 0);
  const auto place = plan.place_empty(demand->shape, "main");
  RC_ASSERT(place.has_value() != fit_reason(demand->shape, "main", plan).has_value());
  if (!place) return;
  std::int64_t cores = 0;
  for (const Seat& seat : *place) cores += seat.cores.count();
  RC_ASSERT(cores * threads == demand->tres.at("cpu"));
}

}  // namespace
}  // namespace market
