// SPDX-License-Identifier: GPL-2.0-or-later
// The market for many threads: one mutex around it, always taken after Slurm's, and the thread that
// reads and writes its books. Nothing waits for a disk while it holds the mutex.
#pragma once

#include <condition_variable>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/desk/desk.h"
#include "core/market/exchange_maker.h"
#include "core/market/ledger_thread.h"
#include "core/market/market.h"
#include "core/util/mutex.h"

namespace market {

/// The verbs are Market's.
class LockedMarket {
 public:
  /// Nothing is read yet: configuration and books come with the first round of the ledger's thread.
  LockedMarket(std::string config_path, std::string cluster_name, const Log& log);
  ~LockedMarket();
  LockedMarket(const LockedMarket&) = delete;
  LockedMarket& operator=(const LockedMarket&) = delete;

  /// Starts the ledger's thread. Without it, round() does its work (tests, simulation).
  void start() { ledger_thread_.start(); }
  void round(Time now) { ledger_thread_.round(now); }
  /// Waits until all that is queued has been written, at most `flush_ms`, and ends the thread.
  void stop(std::uint32_t flush_ms);
  /// Reads market.conf again, in the ledger's thread.
  void reconfigure() { ledger_thread_.reload(); }

  std::uint32_t interval_ms() const;
  bool wants_ended_jobs() const;
  bool wants_preemptors() const;
  bool wants_count(std::uint32_t job_id, std::string_view note) const;

  void update_cluster(const market_cluster_t& cluster, Time now);
  CommentAnswer read_comment(std::string_view comment, bool has_bid) const;
  Answer submit(const market_submission_t& submission, Time now);
  void submission_over(std::uint64_t ticket);
  market_verdict modify(const market_change_t& change, Time now, std::string& text);
  void tell_preemptors(const market_preemptor_t* preemptors, std::size_t count);
  const std::vector<market_order_t>& pass(const market_job_t* jobs, std::size_t job_count,
                                          const char* const* resv_names, std::size_t resv_count,
                                          Time now);
  void order_failed(const market_order_t& order, std::string_view why, Time now);
  std::uint32_t site_factor(std::uint32_t job_id, std::string_view note);
  std::optional<EndTexts> job_ended(const market_job_t& job, Time now);
  std::string broken_invariant() const;

 private:
  std::vector<Queued> take_entries();
  void report(BooksReport news);
  Exchanges successors(BooksReport& news);
  std::vector<Inquiry> take_inquiries();
  void answer(const Inquiry& inquiry, const InquiryAnswer& found);

  const Log log_;

  mutable Mutex mutex_;
  std::condition_variable_any written_;
  Market market_ MARKET_GUARDED_BY(mutex_);
  Desk desk_ MARKET_GUARDED_BY(mutex_);
  ExchangeMaker maker_;  // of the ledger's thread alone

  LedgerThread ledger_thread_;  // last: it calls back into the rest
};

}  // namespace market
