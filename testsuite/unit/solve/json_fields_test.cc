// SPDX-License-Identifier: GPL-2.0-or-later
// The one line that a user of `smarket solve` gets for each kind of broken input.
#include "core/solve/json_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/solve/solve.h"

namespace market {
namespace {

std::string error_of(std::string_view mechanism, std::string_view text) {
  const auto result = solve(mechanism, text);
  return result ? "none: " + *result : result.error().text;
}

std::string era_with(const std::string& request) {
  return R"({"capacity":4,"horizon":3,"requests":[)" + request + "]}";
}

TEST(Solve, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(error_of("auction", "{}").starts_with("mechanism: must be one of "));
  EXPECT_EQ(error_of("era", "{"), "input: not JSON (at byte 2)");
  EXPECT_EQ(error_of("era", "[]"), "input: must be an object");
  EXPECT_EQ(error_of("era", "{}"), "capacity: is required");
  EXPECT_EQ(error_of("era", R"({"capacity":"4"})"), "capacity: must be a number");
  EXPECT_EQ(error_of("era", R"({"capacity":0})"), "capacity: must be > 0");
  EXPECT_EQ(error_of("era", R"({"capacity":1e999})"), "input: a number in it is out of range");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":1.5})"), "horizon: must be a whole number");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":3,"request":[]})"),
            "request: unknown field; allowed are capacity, horizon, demand, promised, requests");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"a\nb":3})").find('\n'), std::string::npos);
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":3,"requests":{}})"),
            "requests: must be a list");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":2,"promised":[1,-1],"requests":[]})"),
            "promised[1]: must be >= 0");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":1,"demand":[[[1,2],[1,3]]],"requests":[]})"),
            "demand[0][1][1]: prices must not increase");
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":1,"demand":[[[1]]],"requests":[]})"),
            "demand[0][0]: must be [quantity, price]");
}

TEST(Solve, RefusesAFieldThatIsGivenTwice) {
  EXPECT_EQ(error_of("era", R"({"capacity":4,"horizon":3,"capacity":4,"requests":[]})"),
            "capacity: is given twice");
  EXPECT_EQ(
      error_of(
          "era",
          era_with(
              R"({"id":"a","width":1,"duration":1,"arrival":0,"deadline":2,"value":1},{"id":"b","id":"b"})")),
      "requests[1].id: is given twice");
  EXPECT_EQ(error_of("contracts",
                     R"({"weights":[[1]],"settle":{"surrogate":[[],{}],"actual":[{"a":1},{"a":1,
                        "b":[0,{"c":[]},{"d":{},"d":{}}]}]}})"),
            "settle.actual[1].b[2].d: is given twice");
}

TEST(Solve, NothingFollowsTheObject) {
  using namespace std::string_literals;
  const std::string good = era_with("");
  EXPECT_TRUE(solve("era", good));
  const std::string at_end = "input: not JSON (at byte " + std::to_string(good.size() + 1) + ")";
  for (const std::string& rest : {"x"s, "{}"s, ","s, "\0"s, "\0 more"s}) {
    EXPECT_EQ(error_of("era", good + rest), at_end);
  }
  EXPECT_EQ(error_of("era", "\0"s), "input: not JSON (at byte 1)");
}

TEST(Solve, RefusesWhatIsNestedTooDeep) {
  const std::string open(1000000, '[');
  EXPECT_EQ(error_of("era", R"({"demand":[[)" + open),
            "demand[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: is nested too deep");
  EXPECT_TRUE(error_of("era", open).ends_with(": is nested too deep"));
}

TEST(Solve, MessagesStayShort) {
  std::string name;
  for (int i = 0; i < 100000; ++i) name += "\u00e9";  // two bytes each
  const std::string error = error_of("era", R"({"capacity":4,"x)" + name + R"(":3})");
  EXPECT_LT(error.size(), 300u);
  EXPECT_TRUE(
      error.ends_with("...: unknown field; allowed are capacity, horizon, demand, "
                      "promised, requests"));
  EXPECT_TRUE(nlohmann::json::accept("\"" + error + "\"")) << "not UTF-8";
}

TEST(Solve, NamesTheRequestThatIsWrong) {
  EXPECT_EQ(error_of("era", era_with("7")), "requests[0]: must be an object");
  EXPECT_EQ(error_of("era", era_with(R"({"id":""})")),
            "requests[0].id: must be a non-empty string");
  const std::string good =
      R"({"id":"a","width":1,"duration":1,"arrival":0,"deadline":2,"value":1})";
  EXPECT_EQ(error_of("era", era_with(good + "," + good)), "requests[1].id: must be unique");
  EXPECT_EQ(
      error_of("era",
               era_with(R"({"id":"a","width":0,"duration":1,"arrival":0,"deadline":2,"value":1})")),
      "requests[0].width: must be from 1 to 9007199254740992");
  EXPECT_EQ(
      error_of("era",
               era_with(R"({"id":"a","width":1,"duration":1,"arrival":0,"deadline":4,"value":1})")),
      "requests[0].deadline: must not be after the horizon");
  EXPECT_EQ(
      error_of("era",
               era_with(R"({"id":"a","width":1,"duration":1,"arrival":2,"deadline":2,"value":1})")),
      "requests[0].deadline: must be after the arrival");
  EXPECT_EQ(
      error_of(
          "era",
          era_with(R"({"id":"a","width":1,"duration":1,"arrival":0,"deadline":2,"value":-1})")),
      "requests[0].value: must be >= 0");
}

TEST(Solve, WindowsTooShortForTheRequestAreAResultNotAnError) {
  const auto result = solve(
      "era",
      era_with(
          R"({"id":"a","width":1,"duration":9007199254740992,"arrival":0,"deadline":2,"value":1})"));
  ASSERT_TRUE(result);
  EXPECT_TRUE(nlohmann::json::parse(*result)["decisions"][0]["quote"].is_null());
}

// The value decides acceptance and nothing else.
TEST(SolveEra, TheQuoteDoesNotDependOnTheValue) {
  for (const char* value : {"0", "1.5", "3.999", "4", "1e9"}) {
    const auto result =
        solve("era", std::string(R"({"capacity":4,"horizon":1,"demand":[[[4,2]]],"requests":[
        {"id":"a","width":2,"duration":1,"arrival":0,"deadline":1,"value":)") +
                         value + "}]}");
    ASSERT_TRUE(result);
    EXPECT_EQ(nlohmann::json::parse(*result)["decisions"][0]["quote"], 4.0);
  }
}

TEST(Range, SaysWhatIsAllowed) {
  EXPECT_EQ(solving::kUnitInterval.rule(), "must be >= 0 and <= 1");
  EXPECT_EQ((solving::Range{.low = 0, .high = 1, .low_open = true, .high_open = true}.rule()),
            "must be > 0 and < 1");
  EXPECT_FALSE(solving::kPositive.contains(0));
  EXPECT_TRUE(solving::kNotNegative.contains(0));
}

}  // namespace
}  // namespace market
