// SPDX-License-Identifier: GPL-2.0-or-later
// Small helpers that the ledger's tests share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::ledger::test {

inline constexpr Time kNow = 1'800'000'000;
inline constexpr Time kWindow = 14 * 86400;

inline Money credits(const char* text) {
  const auto money = Money::parse(text);
  EXPECT_TRUE(money.has_value()) << text;
  return money.value_or(Money());
}

/// A folder of its own, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ledger-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline Ledger open_or_die(const std::string& path, Mode mode = Mode::kCreate) {
  auto ledger = Ledger::open(path, mode);
  if (!ledger) {
    ADD_FAILURE() << ledger.error().text;
    std::abort();
  }
  return std::move(*ledger);
}

template <class T>
void must(const Result<T>& result) {
  ASSERT_TRUE(result.has_value()) << result.error().text;
}

template <class T>
std::string why(const Result<T>& result) {
  return result ? "(it succeeded)" : result.error().text;
}

inline Segment run_of(std::uint32_t job, const std::string& account, Money quoted,
                      std::uint32_t restart = 0) {
  Segment segment;
  segment.key = {"c1", job, kNow - 100, restart};
  segment.account = account;
  segment.user = "ann";
  segment.partition = "main";
  segment.mechanism = "era/1";
  segment.quoted = quoted;
  return segment;
}

inline Settle settled(Segment segment, Money charged, Money refunded = Money(),
                      const std::string& state = "COMPLETED") {
  segment.charged = charged;
  segment.refunded = refunded;
  segment.state = state;
  segment.start = kNow - 60;
  segment.end = kNow;
  segment.elapsed = 60;
  return {segment};
}

inline Outcome apply_one(Ledger& ledger, const Operation& operation, Time now = kNow) {
  const auto outcomes = ledger.apply({operation}, now);
  if (!outcomes) {
    ADD_FAILURE() << outcomes.error().text;
    return Outcome::kRefused;
  }
  return outcomes->at(0);
}

inline Balance balance_of(const Ledger& ledger, const std::string& account) {
  const auto accounts = ledger.accounts();
  if (accounts) {
    for (const AccountInfo& info : *accounts) {
      if (info.balance.account == account) return info.balance;
    }
  }
  ADD_FAILURE() << "no balance of " << account;
  return {};
}

/// The books balance: nothing recomputed differs from what is kept.
inline void expect_balanced(const Ledger& ledger) {
  const auto report = ledger.check();
  ASSERT_TRUE(report.has_value()) << report.error().text;
  EXPECT_EQ(report->sum, Money());
  EXPECT_THAT(report->faults, testing::IsEmpty());
}

}  // namespace market::ledger::test
