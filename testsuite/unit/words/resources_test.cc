// SPDX-License-Identifier: GPL-2.0-or-later
// TRES text and what sbatch's size options amount to, against totals worked out by hand.
#include "core/words/resources.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace market {
namespace {

// What sbatch puts into the job description for each of its ways to ask for GPUs.
SizeOptions gres_option() {
  return {.tasks = 0, .min_cpus = 4, .tres_per_node = "gres:gpu:4"};
}

Tres tres_of(const SizeOptions& size) {
  const auto demand = demand_of(size);
  EXPECT_TRUE(demand) << demand.error().text;
  return demand ? demand->tres : Tres{};
}

TEST(ParseTres, SlurmsOwnText) {
  EXPECT_EQ(parse_tres("cpu=4,mem=4G,node=1,billing=4,gres/gpu=4,gres/gpu:a100=4").value(),
            (Tres{{"cpu", 4}, {"mem", 4096}, {"node", 1}, {"gres/gpu:a100", 4}}));
  EXPECT_EQ(parse_tres("cpu=64,mem=62.50G,node=4").value(),
            (Tres{{"cpu", 64}, {"mem", 64000}, {"node", 4}}));
  EXPECT_EQ(parse_tres("cpu=1,mem=500M,node=1,gres/gpu=6,gres/gpu:a100=2,gres/gpu:t4=1").value(),
            (Tres{{"cpu", 1},
                  {"mem", 500},
                  {"node", 1},
                  {"gres/gpu", 3},
                  {"gres/gpu:a100", 2},
                  {"gres/gpu:t4", 1}}));
  EXPECT_EQ(parse_tres("").value(), Tres{});
  EXPECT_EQ(parse_tres("mem=0,cpu=2,energy=18446744073709551614").value(), (Tres{{"cpu", 2}}));
  EXPECT_EQ(parse_tres("cpu=2,mem=1T,license/abc=3").value(),
            (Tres{{"cpu", 2}, {"mem", 1048576}, {"license/abc", 3}}));
  EXPECT_EQ(parse_tres("mem=2048K").value(), (Tres{{"mem", 2}}));
}

TEST(ParseTres, Refusals) {
  for (const char* text : {"cpu", "cpu=", "=4", "cpu=-1", "cpu=nan", "cpu=1e3", "cpu=4,,node=1",
                           "cpu=4;node=1", "cpu=1.5", "mem=4X", "mem=M", "mem=1.234G",
                           "cpu=99999999999999999999999", "mem=99999999999E", "c\xffpu=1"}) {
    EXPECT_FALSE(parse_tres(text)) << text;
  }
}

TEST(DemandOf, FourGpusAreFourGpusHoweverTheyAreAskedFor) {
  const Tres gres = tres_of({.tasks = 4, .min_cpus = 4, .tres_per_node = "gres:gpu:4"});
  const Tres gpus = tres_of({.tasks = 4, .min_cpus = 4, .tres_per_job = "gres:gpu:4"});
  const Tres per_node = tres_of(
      {.min_nodes = 1, .max_nodes = 1, .tasks = 4, .min_cpus = 4, .tres_per_node = "gres:gpu:4"});
  const Tres per_task = tres_of({.tasks = 4, .min_cpus = 4, .tres_per_task = "gres:gpu:1"});
  EXPECT_EQ(gres, (Tres{{"cpu", 4}, {"node", 1}, {"gres/gpu", 4}}));
  EXPECT_EQ(gpus, gres);
  EXPECT_EQ(per_node, gres);
  EXPECT_EQ(per_task, gres);
  EXPECT_EQ(tres_of({.tres_per_node = "gres:gpu:4"}), tres_of({.tres_per_job = "gres:gpu:4"}));
  EXPECT_EQ(tres_of({.tres_per_job = "gres:gpu:a100:4"}).at("gres/gpu:a100"), 4);
  EXPECT_EQ(tres_of(gres_option()), gres);
}

TEST(DemandOf, FormsForTheSameGresDoNotAddUp) {
  EXPECT_EQ(
      tres_of(
          {.min_nodes = 2, .tasks = 2, .tres_per_job = "gres:gpu:8", .tres_per_node = "gres:gpu:4"})
          .at("gres/gpu"),
      8);
  EXPECT_EQ(tres_of({.min_nodes = 2,
                     .tasks = 8,
                     .tres_per_node = "gres:gpu:4",
                     .tres_per_task = "gres:gpu:1"})
                .at("gres/gpu"),
            8);
}

TEST(DemandOf, GresText) {
  EXPECT_EQ(tres_of({.tres_per_node = "gres:gpu"}).at("gres/gpu"), 1);
  EXPECT_EQ(tres_of({.tres_per_node = "gres:gpu:a100"}).at("gres/gpu:a100"), 1);
  EXPECT_EQ(tres_of({.tres_per_node = "gpu:a100:2,gpu:t4:1"}).at("gres/gpu:t4"), 1);
  EXPECT_EQ(tres_of({.min_nodes = 2, .tres_per_node = "gres:bandwidth:2K"}).at("gres/bandwidth"),
            4096);
  EXPECT_EQ(tres_of({.tres_per_node = "gres:none"}), (Tres{{"cpu", 1}, {"node", 1}}));
  EXPECT_EQ(tres_of({.tres_per_node = "gres:gpu:0"}), (Tres{{"cpu", 1}, {"node", 1}}));
}

TEST(DemandOf, CpusAndMemory) {
  EXPECT_EQ(tres_of({}), (Tres{{"cpu", 1}, {"node", 1}}));
  EXPECT_EQ(tres_of({.tasks = 64}), (Tres{{"cpu", 64}, {"node", 1}}));
  EXPECT_EQ(tres_of({.tasks = 8, .cpus_per_task = 4}).at("cpu"), 32);
  EXPECT_EQ(tres_of({.min_nodes = 4, .max_nodes = 4}), (Tres{{"cpu", 4}, {"node", 4}}));
  EXPECT_EQ(tres_of({.min_nodes = 2, .max_nodes = 2, .tasks_per_node = 8}).at("cpu"), 16);
  EXPECT_EQ(
      tres_of({.min_nodes = 2, .tasks = 16, .min_cpus = 16, .mem_per_node_mb = 1000}).at("mem"),
      2000);
  EXPECT_EQ(tres_of({.tasks = 16, .min_cpus = 16, .mem_per_cpu_mb = 500}).at("mem"), 8000);
  EXPECT_EQ(tres_of({.cpus_per_task = 2, .min_cpus = 2, .mem_per_node_mb = 32768}),
            (Tres{{"cpu", 2}, {"mem", 32768}, {"node", 1}}));
}

TEST(DemandOf, Shape) {
  const auto demand = demand_of({.min_nodes = 2,
                                 .max_nodes = 3,
                                 .tasks = 8,
                                 .cpus_per_task = 2,
                                 .tasks_per_node = 4,
                                 .mem_per_cpu_mb = 100,
                                 .tres_per_job = "gres:gpu:6",
                                 .tres_per_node = "gres:nic:1",
                                 .req_nodes = "n1,n2",
                                 .exc_nodes = "n4",
                                 .features = "avx&cpu=genoa",
                                 .exclusive = true});
  ASSERT_TRUE(demand);
  const Shape& shape = demand->shape;
  EXPECT_EQ(shape.min_nodes, 2u);
  EXPECT_EQ(shape.max_nodes, 3u);
  EXPECT_EQ(shape.cpus, 16u);
  EXPECT_EQ(shape.cpus_per_task, 2u);
  EXPECT_EQ(shape.tasks_per_node, 4u);
  EXPECT_EQ(shape.mem_per_cpu_mb, 100u);
  EXPECT_EQ(shape.gres_total, (GresCounts{{"gpu", 6}}));
  EXPECT_EQ(shape.gres_per_node, (GresCounts{{"nic", 1}}));
  EXPECT_EQ(shape.req_nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(shape.exc_nodes, (std::vector<std::string>{"n4"}));
  EXPECT_EQ(shape.features, (std::vector<std::string>{"avx", "cpu=genoa"}));
  EXPECT_TRUE(shape.exclusive);
}

TEST(DemandOf, RefusalsNameTheOption) {
  const auto error_of = [](const SizeOptions& size) {
    const auto demand = demand_of(size);
    return demand ? std::string() : demand.error().text;
  };
  const auto names = [&](const SizeOptions& size, const char* option) {
    const std::string error = error_of(size);
    return error.find(option) != std::string::npos && error.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(names({.features = "a|b"}, "--constraint"));
  EXPECT_TRUE(names({.features = "[a&b]"}, "--constraint"));
  EXPECT_TRUE(names({.features = "a*2"}, "--constraint"));
  EXPECT_TRUE(names({.tres_per_socket = "gres:gpu:1"}, "--gpus-per-socket"));
  EXPECT_TRUE(names({.tres_per_job = "gres:gpu:-1"}, "--gpus"));
  EXPECT_TRUE(names({.tres_per_job = "gres:gpu:nan:x:y"}, "--gpus"));
  EXPECT_TRUE(names({.tres_per_node = "gres:\xff\xfe:4"}, "--gres"));
  EXPECT_TRUE(names({.tres_per_node = "gres:gpu:99999999999999999999"}, "--gres"));
  EXPECT_TRUE(names({.tres_per_task = "gres:"}, "--gpus-per-task"));
  EXPECT_TRUE(names({.tres_per_node = "gres:gpu:4,gres:gpu:a100:2"}, "--gres"));
  EXPECT_TRUE(names({.req_nodes = "n[1-4]"}, "--nodelist"));
  EXPECT_TRUE(names({.exc_nodes = "n1,,n2"}, "--exclude"));
  EXPECT_TRUE(names({.min_nodes = 4, .max_nodes = 2}, "--nodes"));
  EXPECT_TRUE(names({.tasks = 4000000000u}, "-n"));
  EXPECT_TRUE(names({.tasks = 2000000000u, .cpus_per_task = 1000}, "-n"));
  EXPECT_TRUE(names({.mem_per_node_mb = std::numeric_limits<std::uint64_t>::max()}, "--mem"));
  EXPECT_TRUE(names({.tasks = 1000000, .mem_per_cpu_mb = 1ull << 40}, "--mem"));
}

RC_GTEST_PROP(DemandOf, NoTextBreaksIt, (std::string text, std::uint32_t count)) {
  SizeOptions size;
  size.min_nodes = size.tasks = count;
  size.tres_per_job = size.tres_per_node = size.tres_per_task = "gres:gpu:" + text;
  size.features = size.req_nodes = text;
  const auto demand = demand_of(size);
  if (demand) {
    for (const auto& [name, amount] : demand->tres) RC_ASSERT(amount > 0);
  } else {
    RC_ASSERT(demand.error().text.find('\n') == std::string::npos);
  }
  (void)parse_tres(text);
}

}  // namespace
}  // namespace market
