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
#include "core/market/shadow_books.h"
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
  bool only_observes(std::string_view partitions) const;
  bool has_pots(std::string_view partitions) const;
  CommentAnswer read_comment(std::string_view comment, bool has_bid) const;
  Answer submit(const market_submission_t& submission, Time now);
  void submission_over(std::uint64_t ticket);
  market_verdict modify(const market_change_t& change, Time now, std::string& text);
  market_verdict enter(const market_entry_t& entry, Time now, std::uint32_t& most_min,
                       std::string& text);
  void tell_preemptors(const market_preemptor_t* preemptors, std::size_t count);
  void look(market_mark_t* marks, std::size_t count, Time now);
  const std::vector<market_order_t>& pass(const market_job_t* jobs, std::size_t job_count,
                                          const char* const* resv_names, std::size_t resv_count,
                                          Time now);
  market_stage_t stage() const;
  const std::vector<market_order_t>& take_over(const market_job_t* jobs, std::size_t job_count,
                                               Time now);
  const std::vector<std::uint16_t>& ranks_of_nodes();
  void order_failed(const market_order_t& order, std::string_view why, Time now);
  std::uint32_t site_factor(std::uint32_t job_id, std::string_view note);
  std::optional<EndTexts> job_ended(const market_job_t& job, Time now);
  std::string broken_invariant() const;

 private:
  enum class Side { kActs, kObserves };
  Market& of(Side side) MARKET_LOCK_ATTRIBUTE(requires_capability(mutex_)) {
    return side == Side::kActs ? market_ : observer_;
  }
  std::size_t unwritten() const MARKET_LOCK_ATTRIBUTE(requires_capability(mutex_)) {
    return market_.unwritten() + observer_.unwritten();
  }
  std::vector<Queued> take_entries();
  void report(BooksReport news);
  bool tell(Side side, BooksReport news);
  void tell_observer(BooksReport news);
  Exchanges successors(Side side, BooksReport& news);
  std::vector<Inquiry> take_inquiries();
  void answer(const Inquiry& inquiry, const InquiryAnswer& found);

  const Log log_;

  mutable Mutex mutex_;
  std::condition_variable_any written_;
  Market market_ MARKET_GUARDED_BY(mutex_);
  std::vector<std::uint16_t> ranks_given_;     ///< to the market's thread, which alone asks
  Market observer_ MARKET_GUARDED_BY(mutex_);  // of the markets that only observe
  Desk desk_ MARKET_GUARDED_BY(mutex_);
  std::vector<market_order_t> orders_ MARKET_GUARDED_BY(mutex_);
  ExchangeMaker maker_, observers_maker_;  // these two lines are of the ledger's thread alone
  ShadowBooks shadow_;

  LedgerThread ledger_thread_;  // last: it calls back into the rest
};

}  // namespace market
