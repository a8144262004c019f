// SPDX-License-Identifier: GPL-2.0-or-later
// Amounts of very different size in one instance: what is large must not take digits from what is
// small.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/solve/solve.h"

namespace market {
namespace {

using nlohmann::json;

json result_of(std::string_view mechanism, const json& input) {
  const auto result = solve(mechanism, input.dump());
  EXPECT_TRUE(result.has_value()) << result.error().text;
  return result ? json::parse(*result) : json();
}

bool close(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

json era_request(std::int64_t width, std::int64_t duration, std::int64_t arrival,
                 std::int64_t deadline, double value) {
  return {{"id", "a"},          {"width", width},       {"duration", duration},
          {"arrival", arrival}, {"deadline", deadline}, {"value", value}};
}

TEST(WideRanges, EraAcceptsAValueThatEqualsThePrice) {
  for (const double dear : {1.0, 100.0, 1e6, 1e9, 1e12, 1e299}) {
    for (const double price : {0.1, 0.3, 0.7, 1e-7, 1e-300}) {
      const json demand = {{{3, price}}, {{3, dear}}};
      for (const double value : {price, std::nextafter(price, 0)}) {
        const json decision =
            result_of("era", {{"capacity", 3},
                              {"horizon", 2},
                              {"demand", demand},
                              {"requests", {era_request(1, 1, 0, 1, value)}}})["decisions"][0];
        EXPECT_EQ(decision["quote"], price) << "beside " << dear;
        EXPECT_EQ(decision["accepted"], value == price);
      }
    }
  }
}

TEST(WideRanges, EraTakesTheFreeSlotBesideTheDearest) {
  for (const double dear : {1e12, 1e100, 1e280, 1e299}) {
    const json demand = {{{1, dear}}, json::array(), {{1, dear}}};
    const json decision =
        result_of("era", {{"capacity", 1},
                          {"horizon", 3},
                          {"demand", demand},
                          {"requests", {era_request(1, 1, 0, 3, 0)}}})["decisions"][0];
    EXPECT_EQ(decision["start"], 1) << dear;
    EXPECT_EQ(decision["price"], 0.0) << dear;
  }
  EXPECT_FALSE(solve("era", json({{"capacity", 3},
                                  {"horizon", 2},
                                  {"demand", {{{3, 1e308}}, {{3, 1e308}}}},
                                  {"requests", {era_request(3, 2, 0, 2, 1)}}})
                                .dump()));
}

/// 100 × one request: the quote is Algorithm 1's sum, unit by unit and slot by slot, whatever
/// another slot costs.
RC_GTEST_PROP(WideRangesProperty, EraQuotesTheSumOfUnits, ()) {
  const double dear = std::pow(10.0, *rc::gen::inRange(0, 16));
  json demand = json::array();
  double sum = 0;
  const int width = *rc::gen::inRange(1, 9);
  const int duration = *rc::gen::inRange(1, 6);
  for (int slot = 0; slot < duration; ++slot) {
    const int high = *rc::gen::inRange(1, 9);
    const int low = *rc::gen::inRange(1, 9);
    const double low_price = *rc::gen::inRange(1, 100) / 100.0;
    const double high_price = low_price + *rc::gen::inRange(1, 100) / 100.0;
    demand.push_back({{high, high_price}, {low, low_price}});
    for (int unit = 1; unit <= width; ++unit) {
      if (unit + high > 10) {
        sum += high_price;
      } else if (unit + high + low > 10) {
        sum += low_price;
      }
    }
  }
  demand.push_back({{10, dear}});
  const json decision = result_of(
      "era", {{"capacity", 10},
              {"horizon", duration + 1},
              {"demand", demand},
              {"requests", {era_request(width, duration, 0, duration, 2 * sum)}}})["decisions"][0];
  RC_ASSERT(close(decision["quote"].get<double>(), sum, 1e-14));
}

json bids_of(double budget, double margin, const json& hosts) {
  return result_of("tycoon-bid", {{"budget", budget}, {"min_margin", margin}, {"hosts", hosts}});
}

TEST(WideRanges, TycoonSpendsNoMoreThanItHas) {
  for (const double others : {1e10, 1e20, 1e33, 1e65, 1e150, 1e300}) {
    // What the second host gives for a credit, 1/others, is not worth one beside 1/4.
    const json result = bids_of(1, 0,
                                {{{"id", "a"}, {"weight", 1}, {"others", 1}},
                                 {{"id", "b"}, {"weight", 1}, {"others", others}}});
    EXPECT_EQ(result["hosts"][0]["bid"], 1.0) << others;
    EXPECT_EQ(result["hosts"][1]["bid"], 0.0) << others;
    EXPECT_EQ(result["margin"], 0.25) << others;
    EXPECT_EQ(result["unspent"], 0.0) << others;
    const json first = bids_of(1, 0,
                               {{{"id", "a"}, {"weight", 1}, {"others", others}},
                                {{"id", "b"}, {"weight", 1}, {"others", 1 / others}}});
    EXPECT_LE(first["hosts"][0]["bid"].get<double>() + first["hosts"][1]["bid"].get<double>(),
              1 + 1e-9)
        << others;
    // Two that are alike get half each.
    const json alike = bids_of(1, 0,
                               {{{"id", "a"}, {"weight", 3}, {"others", others}},
                                {{"id", "b"}, {"weight", 3}, {"others", others}}});
    EXPECT_EQ(alike["hosts"][0]["bid"], 0.5) << others;
    EXPECT_EQ(alike["hosts"][1]["bid"], 0.5) << others;
  }
}

TEST(WideRanges, TycoonBidsNothingAtTheLeastMarginItself) {
  for (const double amount : {2.0, 3.0, 5.0, 7.0, 0.1, 11.0}) {
    // The margin of the first credit is weight / others, which is the least one exactly.
    const json result = bids_of(2, 1, {{{"id", "a"}, {"weight", amount}, {"others", amount}}});
    EXPECT_EQ(result["hosts"][0]["bid"], 0.0) << amount;
    EXPECT_TRUE(result["margin"].is_null()) << amount;
    EXPECT_EQ(result["unspent"], 2.0) << amount;
  }
}

TEST(WideRanges, AbacusFitOfHugeAndTinyUtilities) {
  // Least squares over w >= 0 of (u, 0) on rows (0, 1), (1, 1): w = (0, u/2), residual u²/2.
  for (const double utility : {1e-300, 1.0, 1e100, 1e300}) {
    const json result = result_of(
        "abacus-fit",
        {{"utility", "linear"},
         {"observations",
          {{{"shares", {0, 1}}, {"utility", utility}}, {{"shares", {1, 1}}, {"utility", 0}}}}});
    EXPECT_EQ(result["weights"][0], 0.0) << utility;
    EXPECT_TRUE(close(result["weights"][1].get<double>(), utility / 2, 1e-12)) << utility;
    if (utility > 1e150) {
      EXPECT_TRUE(result["rss"].is_null());
    } else {
      EXPECT_TRUE(close(result["rss"].get<double>(), utility * utility / 2, 1e-12)) << utility;
    }
  }
}

TEST(WideRanges, EraPredictOfACapacityWithoutEnd) {
  for (const double capacity : {3.0, 1e10, 1e21, 1e300}) {
    const json result = result_of("era-predict", {{"method", "lp"},
                                                  {"capacity", capacity},
                                                  {"horizon", 1},
                                                  {"requests", {era_request(3, 1, 0, 1, 6)}}});
    EXPECT_EQ(result["objective"], 6.0) << capacity;
    EXPECT_EQ(result["demand"], json::parse("[[[3.0,2.0]]]")) << capacity;
  }
}

}  // namespace
}  // namespace market
