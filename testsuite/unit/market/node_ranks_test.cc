// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "fake_cluster.h"

namespace market::testing {
namespace {

using Ranks = std::vector<std::uint16_t>;

std::string owners(const char* mechanism) {
  return std::string("mechanism = \"") + mechanism +
         "\"; prices = { floor = \"0.05\"; };\n"
         "owners = ( { nodes = \"n1\"; account = \"lab-a\"; ask = \"0.4\"; },\n"
         "           { nodes = \"n2\"; account = \"lab-b\"; ask = \"0.03\"; },\n"
         "           { nodes = \"n4\"; account = \"lab-a\"; ask = \"0.4\"; } );\n";
}

// 0.4, 0.03, the site's floor of 0.05, 0.4.
TEST(NodeRanks, AreTheOrderOfTheAsksUnderEveryRule) {
  for (const char* mechanism : {"dva", "era", "fifo"}) {
    World world(owners(mechanism), 4, 4);
    world.step();
    EXPECT_EQ(world.market().ranks_of_nodes(), Ranks({2, 0, 1, 2})) << mechanism;
  }
}

TEST(NodeRanks, FollowTheNodesAndTheSettings) {
  World world(owners("era"), 4, 4);
  world.step();
  world.reorder_nodes({"n2", "n1", "n5"});
  world.tell_cluster();
  EXPECT_EQ(world.market().ranks_of_nodes(), Ranks({0, 2, 1}));
  world.configure("mechanism = \"era\";\n", false);
  world.step();
  EXPECT_EQ(world.market().ranks_of_nodes(), Ranks());
}

// What an owner asks for CPUs alone counts as what it makes of the whole node.
TEST(NodeRanks, CountPricesOfOneTres) {
  World world(owners("dva"), 4, 4);
  for (const char* lab : {"lab-a", "lab-b"}) (void)world.books().add_account(lab, "", world.now);
  world.sync();
  world.step();
  world.query(R"({"verb":"ask","token":"t1","nodes":"n2","price":"0","tres":"cpu:0.9"})");
  world.sync();
  world.step();
  EXPECT_EQ(world.market().ranks_of_nodes(), Ranks({1, 2, 0, 1}));
}

TEST(NodeRanks, AreNoneWhereTheMarketOnlyObserves) {
  World world("mode = \"observe\";\n" + owners("dva"), 4, 4);
  world.step();
  EXPECT_EQ(world.market().ranks_of_nodes(), Ranks());
}

TEST(NodeRanks, AreNoneWhereAllAskTheSame) {
  World world(
      "mechanism = \"era\"; owners = ( { nodes = \"n[1-4]\"; account = \"lab-a\"; ask = \"0.4\"; } "
      ");\n",
      4, 4);
  world.step();
  EXPECT_EQ(world.market().ranks_of_nodes(), Ranks());
}

}  // namespace
}  // namespace market::testing
