// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve dva` on nodes that are all equal, on more tasks than nodes, and on more pairs than
// it takes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/solve/solve.h"

namespace market {
namespace {

using nlohmann::json;

json equal_nodes(std::size_t count) {
  json nodes = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back({{"id", "n" + std::to_string(i)}, {"prices", {1}}, {"available", {2}}});
  }
  return nodes;
}

json equal_tasks(std::size_t count) {
  json tasks = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(
        {{"id", "t" + std::to_string(i)}, {"budget", 2}, {"workload", {3}}, {"demand", {1}}});
  }
  return tasks;
}

// r = 2 takes a whole node for 1.5 s; every task but the last 20 gets the first node left, and
// lists those behind it.
TEST(DvaOnEqualNodes, GoesThroughThemInOrder) {
  const json input = {{"tasks", equal_tasks(220)}, {"nodes", equal_nodes(200)}};
  const auto solved = solve("dva", input.dump());
  ASSERT_TRUE(solved.has_value()) << solved.error().text;
  const json result = json::parse(*solved);
  for (std::size_t i = 0; i < 220; ++i) {
    const json& task = result["tasks"][i];
    EXPECT_EQ(task["id"], "t" + std::to_string(i));
    ASSERT_EQ(task["candidates"].size(), i < 200 ? 200 - i : 0);
    if (i >= 200) {
      EXPECT_TRUE(task["node"].is_null());
      continue;
    }
    EXPECT_EQ(task["node"], "n" + std::to_string(i));
    EXPECT_EQ(task["total_payment"], 3.0);
    for (std::size_t k = 0; i + k < 200; ++k) {
      EXPECT_EQ(task["candidates"][k]["node"], "n" + std::to_string(i + k));
      EXPECT_EQ(task["candidates"][k]["expected_payment"], 3.0);
    }
  }
  for (const json& node : result["nodes"]) EXPECT_EQ(node["available"][0], 0.0);
}

TEST(DvaOnEqualNodes, RefusesMorePairsThanItTakes) {
  const json input = {{"tasks", equal_tasks(10001)}, {"nodes", equal_nodes(10000)}};
  const auto solved = solve("dva", input.dump());
  ASSERT_FALSE(solved.has_value());
  EXPECT_EQ(solved.error().text.rfind("tasks: ", 0), 0u) << solved.error().text;
}

TEST(DvaOnEqualNodes, MayHaveNone) {
  for (const std::size_t tasks : {0, 3}) {
    const auto solved = solve(
        "dva", json({{"tasks", equal_tasks(tasks)}, {"nodes", equal_nodes(3 - tasks)}}).dump());
    ASSERT_TRUE(solved.has_value()) << solved.error().text;
    const json result = json::parse(*solved);
    EXPECT_EQ(result["tasks"].size(), tasks);
    EXPECT_EQ(result["nodes"].size(), 3 - tasks);
  }
}

}  // namespace
}  // namespace market
