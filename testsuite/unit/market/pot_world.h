// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster whose users have pots.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "fake_cluster.h"

namespace market::testing {

constexpr std::uint32_t kRoot = 0, kDaemon = 1;

inline std::string pot_settings(const std::string& tycoon = "fund_max = \"1\";",
                                const std::string& more = "") {
  return fmt::format(
      "mechanism = \"tycoon\"; tycoon = {{ account = \"user\"; {} }};\n"
      "planning = {{ auction_period = \"0:10\"; }};\n{}",
      tycoon, more);
}

struct PotWorld : World {
  explicit PotWorld(const std::string& text = pot_settings()) : World(text, 4, 4) {
    (void)books().deposit("physics", *Money::parse("1000"), "", now);
    sync();
    step();
  }
  nlohmann::json send(const nlohmann::json& question, std::uint32_t uid, bool is_operator) {
    return nlohmann::json::parse(query(question.dump(), uid, is_operator));
  }
  /// As smarket does: the same token until the answer is one.
  nlohmann::json change(nlohmann::json question, std::uint32_t uid = kRoot,
                        bool is_operator = false) {
    question["verb"] = "fund";
    question["token"] = fmt::format("token{}", ++tokens);
    if (!question.contains("hosts")) question["hosts"] = "main";
    nlohmann::json answer = send(question, uid, is_operator);
    if (!answer.value("waits", false)) return answer;
    sync();
    return send(question, uid, is_operator);
  }
  nlohmann::json fund(const std::string& credits, const std::string& interval,
                      std::uint32_t uid = kRoot) {
    return change(
        {{"action", "fund"}, {"credits", credits}, {"interval", interval}, {"account", "physics"}},
        uid);
  }
  void set_interval(const std::string& interval, std::uint32_t uid = kRoot) {
    const auto answer = change({{"action", "interval"}, {"interval", interval}}, uid);
    EXPECT_TRUE(answer.value("ok", false)) << answer;
  }
  /// A job without a bid.
  std::uint32_t start(std::uint32_t cpus, std::uint32_t limit_min, Time runtime,
                      std::uint32_t uid = kRoot) {
    Ask ask;
    ask.cpus = cpus;
    ask.limit_min = limit_min;
    ask.runtime = runtime;
    ask.uid = uid;
    return run(ask);
  }
  double pot(const std::string& user = "root") {
    const auto pots = books().pots();
    for (const ledger::PotInfo& info : *pots)
      if (info.balance.account == "@cluster:main/cpu/" + user + "/physics")
        return info.balance.posted.credits();
    return -1;
  }
  Money charged(std::uint32_t id) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    Money sum;
    const auto segments = books().segments(filter);
    for (const ledger::Segment& segment : *segments) sum += segment.charged - segment.refunded;
    return sum;
  }
  Money charged_in_all() {
    Money sum;
    const auto segments = books().segments({});
    for (const ledger::Segment& segment : *segments) sum += segment.charged - segment.refunded;
    return sum;
  }
  std::string why(std::uint32_t id, std::uint32_t uid = kRoot) {
    return send({{"verb", "why"}, {"job", std::to_string(id)}}, uid, false).value("text", "");
  }
  void run_until_settled(Time until) {
    advance(until);
    sync();
  }
  int tokens = 0;
};

}  // namespace market::testing
