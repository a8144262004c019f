// SPDX-License-Identifier: GPL-2.0-or-later
// The only place that touches the ledger's file, market.conf and the user database. Works in
// rounds: read what changed, write what is queued, report. A round never holds the façade's mutex
// while it waits for a disk.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/config/config.h"
#include "core/ledger/ledger.h"
#include "core/market/books_report.h"
#include "core/market/inquiry.h"

namespace market {

/// Where the work comes from and where reports go; all are called without any lock of the ledger's
/// thread held.
struct BooksClient {
  std::function<std::vector<Queued>()> take;
  std::function<void(BooksReport)> report;
  /// Some of the questions that wait; empty functions: nobody asks any.
  std::function<std::vector<Inquiry>()> take_inquiries{};
  std::function<void(const Inquiry&, const InquiryAnswer&)> answer{};
};

class LedgerThread {
 public:
  LedgerThread(std::string config_path, std::string cluster, BooksClient client);
  ~LedgerThread() { stop(); }
  LedgerThread(const LedgerThread&) = delete;
  LedgerThread& operator=(const LedgerThread&) = delete;

  /// Starts the thread; throws std::system_error when there is none to be had.
  void start();
  /// Ends it after the round in progress.
  void stop();
  /// There is work: begin a round now; when the ledger fails, within a few seconds.
  void wake();
  /// As wake(), at once also when the ledger fails, and every second from then on: it ends soon.
  void flush();
  /// Read the configuration again.
  void reload();

  /// One round in the caller's thread; `now` dates the entries. Only when the thread was not
  /// started.
  void round(Time now);

 private:
  void run();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  bool read_config(BooksReport& report, Time now);
  void read_bank_key();
  bool open_ledger(BooksReport& report);
  bool in_place(BooksReport& report);
  bool find_seed(BooksReport& report);
  bool find_observers(BooksReport& report, Time now);
  void write(BooksReport& report, Time now);
  void answer(const std::vector<Inquiry>& inquiries);
  void pay_incomes(BooksReport& report, Time now);
  void read(BooksReport& report, Time now);
  bool read_utilities(BooksReport& report, bool all, Time now);
  std::vector<KnownUtility> learn(const std::vector<ledger::UtilityRun>& runs, Time now) const;
  bool bids_due(Time now) const;
  std::vector<AccountView> view(std::vector<ledger::AccountInfo> accounts, Time now);
  std::optional<std::uint32_t> uid_of(const std::string& user, Time now);
  void failed(BooksReport& report, std::string why);

  const std::string config_path_, cluster_;
  const BooksClient client_;

  std::optional<Config> config_;
  std::string config_error_;
  std::optional<ledger::Ledger> ledger_;
  std::vector<Queued> waiting_;  ///< taken from the façade, not yet written
  std::int64_t data_version_ = -1;
  bool first_read_ = true;
  Time bids_read_ = 0;            ///< 0: never under this configuration
  bool bids_forgotten_ = false;   ///< since they were read
  ledger::PriorBids prior_;       ///< as they were read
  Time incomes_paid_ = 0;         ///< when it was last looked for incomes that are due
  bool observers_known_ = false;  ///< to the ledger, as the settings name them
  int failures_ = 0;
  struct KnownUser {
    std::optional<std::uint32_t> uid;
    Time read = 0;
  };
  std::unordered_map<std::string, KnownUser> users_;

  std::mutex mutex_;  ///< of the fields below
  std::condition_variable work_;
  bool stop_ = false, woken_ = false, urgent_ = false, flushing_ = false;
  std::atomic<bool> reload_{true};
  std::thread thread_;
};

}  // namespace market
