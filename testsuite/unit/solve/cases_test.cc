// SPDX-License-Identifier: GPL-2.0-or-later
// Every case of every file in testsuite/data against solve(): numbers within 1e-6 relative or 1e-9
// absolute, everything else exactly; fields that are not expected may be there. Results of which
// any of several is right (contracts, the LP predictor) are checked in tests of their own; that
// their bad input is refused is checked here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/solve/solve.h"

namespace market {
namespace {

using nlohmann::json;

struct Case {
  std::string mechanism;
  json content;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.mechanism << ": " << c.content["name"];
}

/// Right results that differ from each other; such cases are checked in tests of their own.
bool has_many_right_answers(const Case& c) {
  if (c.content.value("error", false)) return false;
  if (c.mechanism == "contracts") return true;
  return c.mechanism == "era-predict" && c.content.contains("input") &&
         c.content["input"].value("method", "") == "lp";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(MARKET_TEST_DATA)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  const auto known = solve_mechanisms();
  for (const auto& file : files) {
    const json data = json::parse(std::ifstream(file), nullptr, false);
    if (!data.is_object() || !data.contains("mechanism")) continue;
    const std::string mechanism = data["mechanism"];
    if (std::find(known.begin(), known.end(), mechanism) == known.end()) continue;
    for (const json& content : data["cases"]) {
      const Case c{mechanism, content};
      if (!has_many_right_answers(c)) cases.push_back(c);
    }
  }
  return cases;
}

bool numbers_agree(double expected, double actual) {
  return std::abs(expected - actual) <=
         std::max(1e-9, 1e-6 * std::max(std::abs(expected), std::abs(actual)));
}

/// Where `actual` differs from `expected`; empty when it does not.
std::string difference(const json& expected, const json& actual, const std::string& path) {
  const auto different = [&] {
    return path + ": expected " + expected.dump() + ", got " + actual.dump();
  };
  if (expected.is_number() && actual.is_number()) {
    return numbers_agree(expected.get<double>(), actual.get<double>()) ? "" : different();
  }
  if (expected.is_object() && actual.is_object()) {
    for (const auto& item : expected.items()) {
      if (!actual.contains(item.key())) return path + "." + item.key() + " is missing";
      auto found = difference(item.value(), actual[item.key()], path + "." + item.key());
      if (!found.empty()) return found;
    }
    return "";
  }
  if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      auto found = difference(expected[i], actual[i], path + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
    return "";
  }
  return expected == actual ? "" : different();
}

class Cases : public testing::TestWithParam<Case> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Cases);

TEST_P(Cases, HasTheExpectedResult) {
  const Case& c = GetParam();
  const bool error = c.content.value("error", false);
  const std::string text =
      c.content.contains("raw") ? c.content["raw"].get<std::string>() : c.content["input"].dump();
  const auto result = solve(c.mechanism, text);
  if (error) {
    ASSERT_FALSE(result.has_value()) << *result;
    EXPECT_NE(result.error().text, "");
    EXPECT_EQ(result.error().text.find('\n'), std::string::npos);
    return;
  }
  ASSERT_TRUE(result.has_value()) << result.error().text;
  EXPECT_EQ(difference(c.content["expected"], json::parse(*result), ""), "");
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.mechanism + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Data, Cases, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace market
