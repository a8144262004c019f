// SPDX-License-Identifier: GPL-2.0-or-later
// A small cluster with two markets, for tests of what is between them.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "fake_cluster.h"

namespace market::testing {

/// Eight nodes of 4 CPUs, the first four of partition main, the others of partition side.
struct TwoMarkets : World {
  explicit TwoMarkets(const std::string& main, const std::string& side,
                      const std::string& more = "")
      : World(settings(main, side, more), 8, 4) {
    (void)books().deposit("physics", *Money::parse("1000000"), "", now);
    partitions = {{"main", {0, 1, 2, 3}}, {"side", {4, 5, 6, 7}}};
    tell_cluster();
    sync();
    step();
  }
  static std::string settings(const std::string& main, const std::string& side,
                              const std::string& more = "") {
    return fmt::format(
        "prices = {{ floor = \"1\"; cap = \"4\"; fixed = \"1\"; }};\n{}\nmarkets = (\n"
        "  {{ name = \"first\"; partitions = [ \"main\" ]; {} }},\n"
        "  {{ name = \"second\"; partitions = [ \"side\" ]; {} }} );\n",
        more, main, side);
  }
  Ask ask(const char* partition, const char* budget, std::uint32_t cpus = 4) {
    Ask ask;
    ask.partition = partition;
    ask.budget = budget;
    ask.cpus = cpus;
    ask.runtime = 600;
    return ask;
  }
  std::string why(const char* partition, const char* budget, std::uint32_t cpus = 4) {
    return submit(ask(partition, budget, cpus)).text;
  }
  nlohmann::json told(const std::string& question) {
    return nlohmann::json::parse(query(question));
  }
  std::string prices(const char* partition) {
    return told(fmt::format(R"({{"verb":"prices","partition":"{}"}})", partition))["rows"].dump();
  }
};

inline const char* const kEra = "mechanism = \"era\";";
inline const char* const kFixed = "mechanism = \"first_fit\";";
inline const char* const kTycoon = "mechanism = \"tycoon\";";

}  // namespace market::testing
