// SPDX-License-Identifier: GPL-2.0-or-later
// Cases with several right results: contracts (tied matchings) and the LP predictor (many optima).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/solve/solve.h"

namespace market {
namespace {

using nlohmann::json;

constexpr double kRelative = 1e-6;

double slack(double expected) {
  return std::max(1e-9, kRelative * std::abs(expected));
}

std::vector<json> cases_of(const std::string& mechanism) {
  const json data =
      json::parse(std::ifstream(std::string(MARKET_TEST_DATA) + "/" + mechanism + ".json"));
  std::vector<json> cases;
  for (const json& content : data["cases"]) {
    if (!content.value("error", false)) cases.push_back(content);
  }
  return cases;
}

std::map<std::size_t, double> prices_by_surrogate(const json& result) {
  std::map<std::size_t, double> prices;
  for (std::size_t replica = 0; replica < result["prices"].size(); ++replica) {
    prices[result["matching"][replica]] = result["prices"][replica];
  }
  return prices;
}

TEST(ContractsCases, TotalAndPricesPerSurrogateAgree) {
  const auto cases = cases_of("contracts");
  ASSERT_GE(cases.size(), 8U);
  for (const json& content : cases) {
    SCOPED_TRACE(content["name"].get<std::string>());
    const auto solved = solve("contracts", content["input"].dump());
    ASSERT_TRUE(solved.has_value()) << solved.error().text;
    const json result = json::parse(*solved);
    const json& expected = content["expected"];
    EXPECT_NEAR(result["total"], expected["total"], slack(expected["total"]));
    const auto prices = prices_by_surrogate(result);
    ASSERT_EQ(prices.size(), expected["prices"].size()) << "each surrogate is matched once";
    for (const auto& [surrogate, price] : prices_by_surrogate(expected)) {
      EXPECT_NEAR(prices.at(surrogate), price, slack(price)) << "surrogate " << surrogate;
    }
    if (!expected.contains("settlement")) continue;
    for (const char* field : {"contract_price", "final_price", "surrogate"}) {
      const double value = expected["settlement"][field];
      EXPECT_NEAR(result["settlement"][field], value, slack(value)) << field;
    }
  }
}

/// The demand that an allocation of `requests` amounts to, by slot and price.
std::vector<std::map<double, double>> demand_from(const json& requests, const json& allocation,
                                                  std::size_t horizon) {
  std::vector<std::map<double, double>> demand(horizon);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json& request = requests[i];
    const double price = request["value"].get<double>() /
                         (request["width"].get<double>() * request["duration"].get<double>());
    for (std::size_t k = 0; k < allocation[i]["units"].size(); ++k) {
      demand[request["arrival"].get<std::size_t>() + k][price] +=
          allocation[i]["units"][k].get<double>();
    }
  }
  return demand;
}

void check_constraints(const json& input, const json& result) {
  std::vector<double> used(input["horizon"].get<std::size_t>(), 0.0);
  double objective = 0;
  for (std::size_t i = 0; i < input["requests"].size(); ++i) {
    const json& request = input["requests"][i];
    const json& units = result["allocation"][i]["units"];
    EXPECT_EQ(result["allocation"][i]["id"], request["id"]);
    ASSERT_EQ(units.size(),
              request["deadline"].get<std::size_t>() - request["arrival"].get<std::size_t>());
    const double width = request["width"], duration = request["duration"];
    double total = 0;
    for (std::size_t k = 0; k < units.size(); ++k) {
      const double amount = units[k];
      EXPECT_GE(amount, -1e-9);
      EXPECT_LE(amount, width * (1 + 1e-9));
      used[request["arrival"].get<std::size_t>() + k] += amount;
      total += amount;
    }
    EXPECT_LE(total, width * duration * (1 + 1e-9));
    objective += total * request["value"].get<double>() / (width * duration);
  }
  for (const double amount : used) EXPECT_LE(amount, input["capacity"].get<double>() * (1 + 1e-9));
  EXPECT_NEAR(result["objective"], objective, slack(objective));
}

TEST(LpPredictorCases, ObjectiveConstraintsAndDemandAgree) {
  std::size_t checked = 0;
  for (const json& content : cases_of("era-predict")) {
    const json& input = content["input"];
    if (input["method"] != "lp") continue;
    SCOPED_TRACE(content["name"].get<std::string>());
    ++checked;
    const auto solved = solve("era-predict", input.dump());
    ASSERT_TRUE(solved.has_value()) << solved.error().text;
    const json result = json::parse(*solved);
    const double best = content["expected"]["objective"];
    EXPECT_NEAR(result["objective"], best, slack(best));
    check_constraints(input, result);
    const auto demand = demand_from(input["requests"], result["allocation"], input["horizon"]);
    for (std::size_t slot = 0; slot < demand.size(); ++slot) {
      double before = INFINITY;
      std::size_t steps = 0;
      for (const auto& [price, quantity] : demand[slot]) steps += quantity > 1e-9 ? 1 : 0;
      ASSERT_EQ(result["demand"][slot].size(), steps);
      for (const json& step : result["demand"][slot]) {
        EXPECT_LT(step[1].get<double>(), before);
        before = step[1];
        EXPECT_NEAR(step[0], demand[slot].at(before), 1e-9);
      }
    }
  }
  EXPECT_EQ(checked, 4U);
}

}  // namespace
}  // namespace market
