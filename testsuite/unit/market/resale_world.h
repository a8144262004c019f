// SPDX-License-Identifier: GPL-2.0-or-later
// A market where what is bought and not used waits for its resale: 64 CPU-hours at 0.60 cost 38.40, of
// which 6.40 are the floor of 0.10.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fake_cluster.h"

namespace market::testing {

inline constexpr Time kLater = kStart + 2 * kHour;  // when the hours begin that are bought
inline constexpr Time kOver = kLater + kHour + 400;
inline constexpr std::uint32_t kUser = 0, kColleague = 1;

inline Money credits(const char* text) {
  return *Money::parse(text);
}

inline std::string priced(const char* price, const std::string& more = "charge = \"resale\";\n") {
  return fmt::format(
      "mechanism = \"first_fit\";\nprices = {{ floor = \"0.1\"; fixed = \"{}\"; }};\n{}", price,
      more);
}

/// Four nodes of 16 cores, of which each bid takes all.
struct Resale : World {
  explicit Resale(const char* price = "0.6", const std::string& more = "charge = \"resale\";\n")
      : World(priced(price, more), 4, 16) {
    (void)books().add_account("chemistry", "", now);
    (void)books().set_members("chemistry", {"daemon"}, {});
    for (const char* account : {"physics", "chemistry"})
      (void)books().deposit(account, credits("1000"), "", now);
    sync();
  }
  std::uint32_t buy(Time begin = kLater, const char* account = "physics", std::uint32_t cpus = 64) {
    Ask ask;
    ask.budget = "40";
    ask.cpus = cpus;
    ask.begin = begin;
    ask.account = account;
    ask.uid = std::string(account) == "physics" ? kUser : kColleague;
    Answer answer;
    const std::uint32_t id = run(ask, &answer);
    EXPECT_NE(id, 0u) << answer.text;
    step();
    sync();
    return id;
  }
  void cancel(std::uint32_t id) {
    end(job(id), MARKET_JOB_CANCELLED);
    step();
    sync();
  }
  void reprice(const char* price) {
    configure(priced(price), false);
    step();
  }
  void limit(std::uint32_t id, std::uint32_t minutes) {
    market_change_t wish{};
    wish.time_limit_min = minutes;
    ASSERT_NE(change(id, kUser, wish), MARKET_REJECTED);
    job(id).limit_min = minutes;
    step();
    sync();
  }
  std::string paid(const char* account = "physics") {
    return (credits("1000") - balance(account).posted).to_string();
  }
  std::string set_aside(const char* account = "physics") {
    return balance(account).liens.to_string();
  }
  void expect_all_settled() {
    for (const char* account : {"physics", "chemistry"}) EXPECT_EQ(set_aside(account), "0.00");
    EXPECT_TRUE(books().open_rests("cluster")->rests.empty());
    const auto check = books().check();
    EXPECT_TRUE(check->faults.empty()) << check->faults.front();
  }
};

}  // namespace market::testing
