// SPDX-License-Identifier: GPL-2.0-or-later
// Bills over the market's questions: a ticket first, the runs after the ledger's thread has looked,
// one's own alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/desk/bill_talk.h"
#include "core/desk/inquiries.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kRoot = 0, kStranger = 65534;
constexpr const char* kOneCredit = "mechanism = \"first_fit\";\nprices = { fixed = \"1\"; };\n";

class OwnBills : public ::testing::Test {
 protected:
  OwnBills() : world(kOneCredit) {
    EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100"), "", kStart));
    world.sync();
    job = world.bid("60", 4, 60, 60);
    world.advance(world.now + 300);
  }
  ordered_json ask(const std::string& question, std::uint32_t uid, bool is_operator = false) {
    return ordered_json::parse(world.query(question, uid, is_operator));
  }
  /// The runs that the user is told, after the ledger's thread has looked.
  std::size_t runs_told(std::uint32_t uid, bool is_operator = false) {
    const ordered_json ticket = ask(R"({"verb":"bill"})", uid, is_operator);
    EXPECT_NE(ticket.value("ticket", 0), 0) << ticket;
    const std::string again = ordered_json{{"verb", "bill"}, {"ticket", ticket["ticket"]}}.dump();
    EXPECT_EQ(ask(again, uid, is_operator), ticket) << "before it has looked";
    world.sync();
    const auto page = read_page(ask(again, uid, is_operator));
    EXPECT_TRUE(page.has_value());
    EXPECT_TRUE(ask(again, uid, is_operator).value("lost", false)) << "an answer comes once";
    return page ? page->runs.size() : 0;
  }
  World world{};
  std::uint32_t job = 0;
};

TEST_F(OwnBills, AreToldToTheirUserAndToOperators) {
  const std::uint32_t owner = world.job(job).uid;
  EXPECT_EQ(runs_told(owner), 1U);
  EXPECT_EQ(runs_told(kStranger), 0U);
  EXPECT_EQ(runs_told(kStranger, true), 1U);
}

TEST_F(OwnBills, AreNotToldByAnothersTicket) {
  const auto ticket = ask(R"({"verb":"bill"})", world.job(job).uid)["ticket"];
  world.sync();
  const std::string theft = ordered_json{{"verb", "bill"}, {"ticket", ticket}}.dump();
  EXPECT_EQ(ask(theft, kStranger).value("ok", true), false);
  EXPECT_EQ(ask(theft, kStranger, true).value("ok", true), false);
}

// The third question of a user is told to come again; another user's is taken.
TEST_F(OwnBills, CannotBePiledUp) {
  for (std::size_t i = 0; i < Inquiries::kOfAUser; ++i)
    EXPECT_NE(ask(R"({"verb":"bill"})", kStranger)["ticket"], 0);
  EXPECT_EQ(ask(R"({"verb":"bill"})", kStranger)["ticket"], 0);
  EXPECT_NE(ask(R"({"verb":"bill"})", kRoot)["ticket"], 0);
}

TEST_F(OwnBills, OfAWrongQuestionAreRefusedAtOnce) {
  EXPECT_FALSE(ask(R"({"verb":"bill","since":"x"})", kStranger).value("ok", true));
  EXPECT_FALSE(ask(R"({"verb":"bill","ticket":99})", kStranger).value("ok", true));
}

}  // namespace
}  // namespace market::testing
