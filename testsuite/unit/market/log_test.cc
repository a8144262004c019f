// SPDX-License-Identifier: GPL-2.0-or-later
// What the log and `smarket check` say of market.conf is what is so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/market/orders.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGood = "prices = { floor = \"0.1\"; cap = \"1\"; };\n";
constexpr const char* kBroken = "prices = { flor = \"0.1\"; };\n";

nlohmann::json status(World& world) {
  return nlohmann::json::parse(world.query(R"({"verb":"status"})"));
}

/// Lines since the last call.
std::vector<std::string> said(World& world) {
  return std::exchange(world.log, {});
}

TEST(Log, ARefusedReconfigureSaysOnceWhatStaysInForceAndWhy) {
  World world(kGood);
  said(world);
  world.configure(kBroken, false);
  for (int i = 0; i < 5; ++i) world.sync();
  EXPECT_THAT(said(world), ElementsAre(AllOf(HasSubstr("market.conf:2: "), HasSubstr("flor"),
                                             HasSubstr("refused; the settings read "),
                                             HasSubstr(" stay in force"))));
  EXPECT_EQ(status(world)["usable"], true);
  EXPECT_EQ(status(world)["config_refused"], true);
  EXPECT_THAT(status(world)["text"].get<std::string>(),
              AllOf(HasSubstr("market.conf was refused ("), HasSubstr("flor"),
                    HasSubstr(" stay in force")));
  EXPECT_THAT(world.query(R"({"verb":"status"})", 1, false),
              AllOf(HasSubstr("market.conf was refused: "), Not(HasSubstr("flor"))))
      << "its lines are no business of users";
  EXPECT_THAT(world.query(R"({"verb":"prices"})"), HasSubstr(R"("floor":"0.1","cap":"1")"));
}

TEST(Log, AMendedFileIsNotInForceBeforeItIsRead) {
  World world(kGood);
  world.configure(kBroken, false);
  said(world);
  world.write_settings("prices = { floor = \"0.2\"; cap = \"1\"; };\n");
  for (int i = 0; i < 5; ++i) world.sync();
  EXPECT_THAT(said(world), IsEmpty());
  EXPECT_EQ(status(world)["config_refused"], true);
  world.market().reconfigure();
  world.sync();
  EXPECT_THAT(said(world), ElementsAre(HasSubstr("the settings read now are in force (era/1)")));
  EXPECT_EQ(status(world)["config_refused"], false);
  EXPECT_THAT(world.query(R"({"verb":"prices"})"), HasSubstr(R"("floor":"0.2","cap":"1")"));
}

TEST(Log, ABrokenFileAtTheStartLeavesNothingInForce) {
  World world(kGood);
  said(world);
  world.configure(kBroken, true);
  world.sync();
  EXPECT_THAT(said(world), ElementsAre(AllOf(HasSubstr("flor"),
                                             HasSubstr("refused; no settings are in force"))));
  EXPECT_EQ(status(world)["usable"], false);
}

TEST(Log, OrdersAreWords) {
  std::set<std::string> names;
  for (int kind = MARKET_SET_PRIORITY; kind <= MARKET_SET_REASON; ++kind)
    names.insert(order_name(kind));
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(order_name(MARKET_RESERVE), std::string("reserve"));
  EXPECT_FALSE(names.contains(order_name(99)));

  World world(kGood);
  market_order_t order{};
  order.kind = MARKET_RESERVE;
  order.job_id = 7;
  said(world);
  world.market().order_failed(order, "nodes busy", world.now);
  EXPECT_THAT(said(world), ElementsAre("job 7: order to reserve failed: nodes busy"));
}

}  // namespace
}  // namespace market::testing
