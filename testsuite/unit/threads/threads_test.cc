// SPDX-License-Identifier: GPL-2.0-or-later
// The façade with its ledger's thread running, called from many threads at once, while somebody
// else deposits: no call may hurt another, and in the end every run is billed once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/face/locked_market.h"
#include "core/ledger/ledger.h"

namespace market::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kNodes = 16, kCores = 32;
constexpr std::size_t kMostJobs = 1500;

struct TableJob {
  std::uint32_t id = 0;
  Time submit = 0, start = 0;
  int state = MARKET_JOB_PENDING;
  std::string note;
};

class Threads : public ::testing::Test {
 protected:
  Threads() {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    const std::string database = folder_ + "/ledger.db";
    std::ofstream(folder_ + "/market.conf")
        << "database = \"" << database
        << "\";\nmechanism = \"first_fit\"; charge = \"reserved\";\nprices = { fixed = \"1\"; };\n";
    auto opened = ledger::Ledger::open(database, ledger::Mode::kCreate);
    if (!opened) throw std::runtime_error(opened.error().text);
    books_ = std::make_unique<ledger::Ledger>(std::move(*opened));
    (void)books_->add_account("physics", "", std::time(nullptr));
    (void)books_->set_members("physics", {"root"}, {});
    (void)books_->deposit("physics", *Money::parse("10000"), "", std::time(nullptr));
    market_ = std::make_unique<LockedMarket>(folder_ + "/market.conf", "cluster",
                                             [](LogLevel, const std::string&) {});
    tell_cluster();
    market_->start();
  }
  ~Threads() override {
    market_.reset();
    books_.reset();
    std::filesystem::remove_all(folder_);
  }

  void tell_cluster() {
    std::vector<market_node_t> nodes;
    std::vector<std::uint32_t> members;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < kNodes; ++i) names.push_back(fmt::format("n{}", i));
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      nodes.push_back({names[i].c_str(), kCores, 1, 0, "", "", true});
      members.push_back(i);
    }
    market_partition_t partition{"main", true, true, 0, 0, members.data(), kNodes, {}};
    market_cluster_t cluster{nodes.data(), kNodes, &partition, 1, nullptr, 0, false, false, false};
    market_->update_cluster(cluster, std::time(nullptr));
  }

  static market_job_t record_of(const TableJob& job, Time now) {
    market_job_t record{};
    record.job_id = job.id;
    record.array_task_id = UINT32_MAX;
    record.state = job.state;
    record.submit = job.submit;
    record.start = job.start;
    record.end = job.state == MARKET_JOB_RUNNING ? now + 3000 : 0;
    record.time_limit_min = 60;
    record.user = "root";
    record.account = "physics";
    record.partition = "main";
    record.note = job.note.c_str();
    record.tres_req = record.tres_alloc = "cpu=1,node=1,billing=1";
    record.size.min_cpus = record.size.tasks = 1;
    return record;
  }

  void submit_one() {
    const Time now = std::time(nullptr);
    market_submission_t submission{};
    submission.size.min_cpus = submission.size.tasks = 1;
    submission.account = "physics";
    submission.time_limit_min = 60;
    submission.budget = "5";
    const Answer answer = market_->submit(submission, now);
    if (answer.verdict != MARKET_ACCEPTED) return;
    const std::lock_guard lock(table_lock_);
    table_.push_back({static_cast<std::uint32_t>(++ids_), now, 0, MARKET_JOB_PENDING, answer.note});
  }

  // Every third pending job starts after each pass; a note is stored where it is ordered.
  void pass() {
    const std::lock_guard lock(table_lock_);
    const Time now = std::time(nullptr);
    std::vector<market_job_t> jobs;
    for (const TableJob& job : table_) jobs.push_back(record_of(job, now));
    for (const market_order_t& order : market_->pass(jobs.data(), jobs.size(), nullptr, 0, now)) {
      if (order.kind == MARKET_BIND) market_->order_failed(order, "no such reservation", now);
      if (order.kind != MARKET_SET_NOTE) continue;
      for (TableJob& job : table_) {
        if (job.id == order.job_id) job.note = order.text;
      }
    }
    ++passes_;
    for (TableJob& job : table_) {
      if (job.state != MARKET_JOB_PENDING || job.id % 3 != passes_ % 3) continue;
      job.state = MARKET_JOB_RUNNING;
      job.start = now - 10;
    }
  }

  void end_some(std::size_t count) {
    const std::lock_guard lock(table_lock_);
    const Time now = std::time(nullptr);
    for (; count > 0 && !table_.empty(); --count) {
      TableJob& job = table_.front();
      market_job_t ended = record_of(job, now);
      ended.state = MARKET_JOB_COMPLETED;
      ended.start = now - 10;
      ended.end = now;
      EXPECT_TRUE(market_->job_ended(ended, now));
      table_.pop_front();
    }
  }

  void ask(const char* question) {
    market_submission_t submission{};
    submission.query = question;
    submission.is_operator = true;
    EXPECT_EQ(market_->submit(submission, std::time(nullptr)).verdict, MARKET_ANSWERED);
  }

  std::string folder_;
  std::unique_ptr<ledger::Ledger> books_;
  std::unique_ptr<LockedMarket> market_;
  std::mutex table_lock_;  // as slurmctld's lock on jobs
  std::list<TableJob> table_;
  std::atomic<std::uint32_t> ids_{0};
  std::uint64_t passes_ = 0;
};

// A mechanism is made anew again and again while bids come and jobs start and end: in the end
// nothing is sold any more, and the whole cluster can be had at once.
TEST_F(Threads, NoPromiseIsLostOrLeftWhenTheMechanismIsMadeAnew) {
  std::ofstream(folder_ + "/market.conf")
      << "database = \"" << folder_
      << "/ledger.db\";\nmechanism = \"era\"; charge = \"reserved\";\n"
      << "prices = { floor = \"0.1\"; cap = \"0.1\"; };\n";
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  const auto repeat = [&](std::chrono::milliseconds pause, auto work) {
    threads.emplace_back([&stop, pause, work] {
      while (!stop) {
        work();
        std::this_thread::sleep_for(pause);
      }
    });
  };
  repeat(10ms, [&] { market_->reconfigure(); });
  repeat(5ms, [&] { pass(); });
  repeat(1ms, [&] {
    if (ids_ < kMostJobs) submit_one();
  });
  repeat(3ms, [&] { end_some(3); });
  std::this_thread::sleep_for(2s);
  for (int i = 0; i < 600 && ids_ <= 20; ++i) std::this_thread::sleep_for(100ms);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  pass();  // what was accepted last becomes jobs
  end_some(table_.size());
  EXPECT_GT(ids_, 20u);
  market_submission_t all{};
  all.query = R"({"verb":"quote","size":{"tasks":512},"time_limit_s":3600,"account":"physics"})";
  const Time now = std::time(nullptr);
  const auto quote = nlohmann::json::parse(market_->submit(all, now).text);
  ASSERT_TRUE(quote["ok"]) << quote;
  EXPECT_EQ(quote["rows"][0]["price"], "51.20") << "512 CPUs for an hour at 0.1";
  EXPECT_LE(quote["rows"][0]["start"], now) << "all of them now";
  market_->stop(60000);
}

TEST_F(Threads, EveryRunIsBilledOnceWhateverGoesOnAtOnce) {
  std::atomic<bool> stop{false};
  std::atomic<int> deposits{0};
  std::vector<std::thread> threads;
  const auto repeat = [&](std::chrono::milliseconds pause, auto work) {
    threads.emplace_back([&stop, pause, work] {
      while (!stop) {
        work();
        std::this_thread::sleep_for(pause);
      }
    });
  };
  repeat(20ms, [&] { pass(); });
  for (int i = 0; i < 3; ++i) {
    repeat(1ms, [&] {
      if (ids_ < kMostJobs) submit_one();
    });
  }
  repeat(7ms, [&] { end_some(3); });
  repeat(5ms, [&] { ask(R"({"verb":"status"})"); });
  repeat(9ms, [&] {
    ask(R"({"verb":"quote","size":{"tasks":4},"time_limit_s":3600,"account":"physics"})");
    ask(R"({"verb":"why","job":"1"})");
  });
  repeat(40ms, [&] {
    EXPECT_TRUE(books_->deposit("physics", *Money::parse("1"), "", std::time(nullptr)));
    ++deposits;
  });
  repeat(150ms, [&] {
    market_->reconfigure();
    tell_cluster();
    market_->site_factor(1, "");
  });
  std::this_thread::sleep_for(2s);
  for (int i = 0; i < 600 && (ids_ <= 20 || deposits <= 3); ++i) std::this_thread::sleep_for(100ms);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  end_some(table_.size());
  market_->stop(60000);

  EXPECT_GT(ids_, 20u);
  EXPECT_GT(deposits, 3);
  const auto runs = books_->segments(ledger::SegmentFilter{});
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), ids_);
  for (const auto& run : *runs) EXPECT_EQ(run.charged, *Money::parse("1"));
  const auto accounts = books_->accounts();
  ASSERT_TRUE(accounts);
  for (const auto& account : *accounts) {
    if (account.balance.account != "physics") continue;
    EXPECT_EQ(account.balance.posted,
              *Money::parse(std::to_string(10000 + deposits - static_cast<int>(ids_))));
    EXPECT_EQ(account.balance.liens, Money());
  }
  const auto check = books_->check();
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->faults.empty());
}

}  // namespace
}  // namespace market::testing
