// SPDX-License-Identifier: GPL-2.0-or-later
// Machines of slurm.conf and of scontrol.
#include "core/sim/slurm_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testsuite/unit/sim/files.h"

namespace market::sim {
namespace {

using test::TemporaryFile;
using ::testing::HasSubstr;

std::vector<std::string> partitions(const Machine& machine) {
  std::vector<std::string> texts;
  for (const MachinePartition& partition : machine.partitions) {
    std::string text = partition.name + ":";
    for (const std::uint32_t node : partition.nodes) text += " " + machine.nodes[node].name;
    texts.push_back(text);
  }
  return texts;
}

TEST(SlurmConf, NodesPartitionsDefaultsAndSets) {
  const TemporaryFile more(
      "NodeName=gpu1 CPUs=32 Gres=gpu:a100:4(S:0-1),gpu:2,shard:16 Feature=fast,new\n");
  const TemporaryFile file(
      "ClusterName=c # NodeName=not\n"
      "nodename=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000\n"
      "NodeName=n[1-2],m07 \\\n"
      "  State=UNKNOWN\n"
      "NodeName=later[1-9] State=FUTURE\n"
      "Include " +
      more.path() +
      "\n"
      "NodeSet=quick Feature=fast\n"
      "NodeSet=all2 Nodes=n2,quick\n"
      "PartitionName=DEFAULT MaxTime=1-0 Nodes=ALL\n"
      "PartitionName=long Nodes=n[1-2],later1\n"
      "PartitionName=main Default=yes\n"
      "PartitionName=mixed Nodes=all2\n"
      "PartitionName=empty Nodes=later2\n");
  const auto machine = read_slurm_conf(file.path());
  ASSERT_TRUE(machine) << machine.error().text;
  ASSERT_EQ(machine->nodes.size(), 4u);
  EXPECT_EQ(machine->nodes[2].name, "m07");
  EXPECT_EQ(machine->nodes[2].cores, 32u);
  EXPECT_EQ(machine->nodes[2].mem_mb, 64000u);
  EXPECT_EQ(machine->nodes[3].gpus, 6u);
  EXPECT_EQ(partitions(*machine),
            (std::vector<std::string>{"main: n1 n2 m07 gpu1", "long: n1 n2", "mixed: n2 gpu1"}));
}

TEST(SlurmConf, WithoutPartitionsThereIsOne) {
  const TemporaryFile file("NodeName=a,b CPUs=3\n");
  EXPECT_EQ(partitions(*read_slurm_conf(file.path())), (std::vector<std::string>{"main: a b"}));
}

TEST(SlurmConf, FaultsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nNodeName=n[1- CPUs=2\n", "line 2: NodeName=n[1-: a bracket is not closed"},
      {"NodeName=n1\nNodeName=n1\n", "line 2: NodeName=n1: n1 comes twice"},
      {"NodeName=n1 CPUs=0\n", "line 1: NodeName=n1: 0 CPUs; allowed are 1 to 65536"},
      {"NodeName=n1\nPartitionName=p Nodes=n[1-2]\n", "partition p: n2 is no node"},
      {"ClusterName=x\n", "no node"},
      {"Include /does/not/exist\n", "line 1: /does/not/exist: No such file"},
      {"NodeName=n1\nNodeSet=s Nodes=s\nPartitionName=p Nodes=s\n", "s is no node"},
  };
  for (const auto& [text, fault] : cases) {
    const TemporaryFile file(text);
    const auto machine = read_slurm_conf(file.path());
    ASSERT_FALSE(machine) << text;
    EXPECT_THAT(machine.error().text, HasSubstr(fault));
    EXPECT_THAT(machine.error().text, HasSubstr("/"));
  }
}

TEST(SlurmConf, AFileThatIncludesItselfEnds) {
  const TemporaryFile file("NodeName=n1\n");
  { std::ofstream(file.path()) << "Include " << file.path() << "\n"; }
  EXPECT_THAT(read_slurm_conf(file.path()).error().text, HasSubstr("include each other too deep"));
}

// As scontrol of Slurm 22.05 prints it.
TEST(SlurmConf, OfScontrol) {
  const auto machine = machine_of_scontrol(
      "NodeName=n1 Arch=x86_64 CoresPerSocket=4 CPUAlloc=0 CPUTot=8 AvailableFeatures=(null) "
      "Gres=gpu:2 NodeAddr=n1 OS=Linux 6.1 #1 SMP RealMemory=1000 State=IDLE\n"
      "NodeName=n2 CPUTot=4 Gres=(null) RealMemory=500 State=DOWN\n"
      "PartitionName=slow AllowGroups=ALL Default=NO Nodes=n2 State=UP\n"
      "PartitionName=main Default=YES Nodes=n[1-2]\n"
      "PartitionName=none Default=NO Nodes=(null)\n",
      "scontrol");
  ASSERT_TRUE(machine) << machine.error().text;
  EXPECT_EQ(machine->nodes[0].cores, 8u);
  EXPECT_EQ(machine->nodes[0].gpus, 2u);
  EXPECT_EQ(machine->nodes[1].gpus, 0u);
  EXPECT_EQ(machine->nodes[1].mem_mb, 500u);
  EXPECT_EQ(partitions(*machine), (std::vector<std::string>{"main: n1 n2", "slow: n2"}));
}

}  // namespace
}  // namespace market::sim
