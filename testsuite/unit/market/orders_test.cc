// SPDX-License-Identifier: GPL-2.0-or-later
// Which orders of a pass may wait until Slurm had its locks back.
#include "core/market/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace market::testing {
namespace {

using ::testing::ElementsAre;

constexpr Time kSoon = 1000;

struct PutInOrder : ::testing::Test {
  void add(market_order_kind kind, std::uint32_t job, const char* name, Time start = 0) {
    market_order_t& order = orders.add(kind, job);
    order.name = name;
    order.start = start;
  }
  /// "name" of those that may not wait, "(name)" of the others; job 9 runs in its reservation.
  std::vector<std::string> put_in_order() {
    orders.put_in_order(kSoon, [](const market_order_t& order) { return order.job_id == 9; });
    std::vector<std::string> texts;
    for (const market_order_t& order : orders.list()) {
      std::string text = std::string(order.kind == MARKET_UNRESERVE ? "-" : "") + order.name;
      texts.push_back(order.may_wait ? "(" + text + ")" : text);
    }
    return texts;
  }
  Orders orders;
};

TEST_F(PutInOrder, WhatIsDueComesAtOnceAndWhatIsFarWaits) {
  add(MARKET_RESERVE, 1, "far", kSoon + 1);
  add(MARKET_HOLD, 2, "hold");
  add(MARKET_RESERVE, 3, "due", kSoon);
  add(MARKET_BIND, 3, "bind");
  EXPECT_THAT(put_in_order(), ElementsAre("hold", "due", "bind", "(far)"));
}

// Its cores could be given to others while the locks are free.
TEST_F(PutInOrder, WhatMovesComesAtOnceHoweverFar) {
  add(MARKET_UNRESERVE, 1, "moved");
  add(MARKET_RESERVE, 2, "far", kSoon + 50);
  add(MARKET_RESERVE, 1, "moved", kSoon + 100);
  EXPECT_THAT(put_in_order(), ElementsAre("-moved", "moved", "(far)"));
}

// After a restart nobody counts on it, and it is asked for again: it stays until then.
TEST_F(PutInOrder, WhatIsMadeAnewIsNotDeletedBefore) {
  add(MARKET_UNRESERVE, 0, "kept");
  add(MARKET_UNRESERVE, 0, "gone");
  add(MARKET_RESERVE, 1, "kept", kSoon + 100);
  EXPECT_THAT(put_in_order(), ElementsAre("-gone", "kept"));
}

// The other way round it is made, and then given up.
TEST_F(PutInOrder, WhatIsGivenUpAfterwardsGoes) {
  add(MARKET_RESERVE, 1, "both", kSoon);
  add(MARKET_UNRESERVE, 1, "both");
  EXPECT_THAT(put_in_order(), ElementsAre("both", "-both"));
}

// Of a run the cores are taken in any case; others may be those that the due one is to get.
TEST_F(PutInOrder, WhoseCoresADueOneCouldNeedGoesAtOnce) {
  add(MARKET_UNRESERVE, 9, "of a run");
  add(MARKET_UNRESERVE, 8, "cancelled");
  add(MARKET_RESERVE, 1, "due", kSoon);
  EXPECT_THAT(put_in_order(), ElementsAre("-cancelled", "due", "(-of a run)"));
}

}  // namespace
}  // namespace market::testing
