// SPDX-License-Identifier: GPL-2.0-or-later
// The ledger's thread while the books cannot be used, in real time: work ends its back-off, a stop
// at once, and no crowd of bids makes it try more often.
#include "core/market/ledger_thread.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/ledger/ledger.h"

namespace market::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class BackOff : public ::testing::Test {
 protected:
  BackOff()
      : folder_(made_folder()),
        thread_(folder_ + "/market.conf", "c",
                BooksClient{[this] {
                              const std::lock_guard lock(mutex_);
                              return std::exchange(queue_, {});
                            },
                            [this](BooksReport report) {
                              const std::lock_guard lock(mutex_);
                              ++rounds_;
                              written_ += report.done.size();
                            }}) {
    std::ofstream(folder_ + "/market.conf") << "database = \"" << folder_ << "/ledger.db\";\n";
    thread_.start();
  }
  ~BackOff() override {
    thread_.stop();
    std::filesystem::remove_all(folder_);
  }
  static std::string made_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    return name;
  }
  void queue_bid() {
    const std::lock_guard lock(mutex_);
    ledger::RecordBid bid;
    bid.id = std::to_string(++bids_);
    bid.accepted = true;
    Queued queued;
    queued.operation = std::move(bid);
    queue_.push_back(std::move(queued));
  }
  int rounds() {
    const std::lock_guard lock(mutex_);
    return rounds_;
  }
  bool all_written() {
    const std::lock_guard lock(mutex_);
    return written_ == bids_;
  }
  Clock::duration until_written(Clock::duration most) {
    const auto began = Clock::now();
    while (!all_written() && Clock::now() - began < most) std::this_thread::sleep_for(5ms);
    return Clock::now() - began;
  }
  /// Tried in vain after 0, 1, 3 and 7 seconds; the next try would come after 15.
  void fail_for_a_while() {
    while (rounds() < 4) std::this_thread::sleep_for(20ms);
  }
  void mend() { (void)ledger::Ledger::open(folder_ + "/ledger.db", ledger::Mode::kCreate); }

  std::string folder_;
  std::mutex mutex_;
  std::vector<Queued> queue_;
  int rounds_ = 0;
  std::size_t written_ = 0, bids_ = 0;
  LedgerThread thread_;
};

TEST_F(BackOff, WorkEndsItButACrowdOfBidsDoesNotHammer) {
  fail_for_a_while();
  const int before = rounds();
  const auto began = Clock::now();
  while (Clock::now() - began < 3s) {  // a thousand bids
    queue_bid();
    thread_.wake();
    std::this_thread::sleep_for(3ms);
  }
  EXPECT_LE(rounds() - before, 1);
  mend();
  EXPECT_LT(until_written(20s), 4s) << "8 s of the back-off were left, less the 3 s";
  EXPECT_TRUE(all_written());
}

TEST_F(BackOff, WhatIsQueuedIsWrittenAtOnceWhenAllEnds) {
  fail_for_a_while();
  queue_bid();
  mend();
  thread_.flush();
  EXPECT_LT(until_written(20s), 900ms);
  EXPECT_TRUE(all_written());
}

TEST_F(BackOff, AFlushThatFailsIsTriedAgainEverySecond) {
  fail_for_a_while();
  queue_bid();
  thread_.flush();
  std::this_thread::sleep_for(300ms);
  mend();
  EXPECT_LT(until_written(20s), 2s);
  EXPECT_TRUE(all_written());
}

}  // namespace
}  // namespace market::testing
