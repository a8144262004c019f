// SPDX-License-Identifier: GPL-2.0-or-later
// The façade: verbs quote, submit, plan, update, settle over some markets (exchange.h), one cluster
// and one set of accounts. Single-threaded: whoever owns it locks (face/locked_market.h). It knows
// no file, no clock and no thread. core/README.md tells what each of its rooms does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/admission.h"
#include "core/market/answer.h"
#include "core/market/comment.h"
#include "core/market/confirmation.h"
#include "core/market/exchange_maker.h"
#include "core/market/invariants.h"
#include "core/market/node_ranks.h"
#include "core/market/planner.h"
#include "core/market/settlement.h"
#include "core/market/site.h"

namespace market {

class Market {
 public:
  static constexpr std::uint32_t kStartingMs = 20;

  /// `wake_books` is called when there are entries to take.
  Market(std::string cluster_name, Log log, std::function<void()> wake_books,
         Role role = Role::kActs);

  // ---- who keeps the books and market.conf
  /// Of the settings in force; the defaults before there are any.
  const Config& config() const { return site_.config; }
  /// Markets that have nodes.
  std::size_t stocked_markets() const { return site_.stocked_markets; }
  /// What rules for `markets` must know that are made now; what is sold from here on is kept for
  /// take_sales() until the next tell_books().
  std::vector<Stand> stands_of(const std::vector<MarketSettings>& markets);
  std::vector<Sale> take_sales();
  /// The entries for the books since the last call, in order.
  std::vector<Queued> take_entries() { return site_.accounts.take_entries(); }
  /// Entries that the books have not confirmed.
  std::size_t unwritten() const { return site_.accounts.unwritten(); }
  /// What whoever keeps the books found, and the exchanges of settings or lessons that are new;
  /// empty: those in force stay, and so do the settings. Returns what was replaced.
  Exchanges tell_books(BooksReport& news, Exchanges next);

  // ---- Slurm; the comments of core/face/market.h hold
  /// Shorter until the first pass that counts.
  std::uint32_t interval_ms() const {
    return site_.is_starting() ? kStartingMs : site_.config.interval_ms;
  }
  void update_cluster(const market_cluster_t& told, Time now);
  /// While no settings are known submit() refuses the bid, with a better reason than this could.
  CommentAnswer read_comment(std::string_view comment, bool has_bid) const {
    CommentAnswer answer =
        judge_comment(comment, has_bid, !site_.has_config || site_.config.bids_in_comment);
    if (answer.verdict == MARKET_REJECTED && site_.has_config && site_.config.only_observes())
      answer.verdict = MARKET_NO_BID;
    return answer;
  }
  Answer submit(const market_submission_t& submission, Time now) {
    return admission_.submit(submission, now);
  }
  /// The same in a market that observes.
  Answer observe(const market_submission_t& submission, Time now) {
    return admission_.observe(submission, now);
  }
  /// A job's owner changes it; nobody is asked.
  void note_change(const market_change_t& change, Time now) {
    confirmation_.note_change(change, now);
  }
  /// Whether it has settings.
  bool is_open() const { return site_.has_config; }
  /// Whether bids of all these partitions are for markets that only observe.
  bool only_observes(std::string_view partitions) const;
  /// Whether jobs without a bid may pay from pots in one of these partitions.
  bool has_pots(std::string_view partitions) const;
  /// Forgets the bids of partitions in which it trades no more; of all when it has no settings.
  void forget_untraded(Time now);
  /// It has no market any more, until it is told settings again.
  void rest(Time now);
  /// The call that brought the submission has ended: its job is in Slurm's list, or never will be.
  void submission_over(std::uint64_t ticket) { site_.jobs.submission_over(ticket); }
  /// MARKET_NO_BID, MARKET_ACCEPTED, or MARKET_REJECTED with the reason in `text`.
  market_verdict modify(const market_change_t& change, Time now, std::string& text);
  /// As market_enter().
  market_verdict enter(const market_entry_t& entry, Time now, std::uint32_t& most_min,
                       std::string& text) const;
  bool wants_ended_jobs() const { return site_.accounts.recovering(); }
  bool wants_preemptors() const { return settlement_.wants_preemptors(); }
  void tell_preemptors(const market_preemptor_t* preemptors, std::size_t count) {
    settlement_.tell_preemptors(preemptors, count);
  }
  /// `runs_too`: others than this market must be told of all runs.
  void look(market_mark_t* marks, std::size_t count, Time now, bool runs_too) {
    site_.jobs.look(marks, count, now, runs_too);
    if (!runs_too) site_.cluster.look_at_others(marks, count, now);
  }
  /// Whether there is a market of its role, so that its passes must be told of what runs.
  bool has_markets() const;
  /// The orders live until the next pass.
  const std::vector<market_order_t>& pass(const market_job_t* jobs, std::size_t job_count,
                                          const char* const* resv_names, std::size_t resv_count,
                                          Time now) {
    return planner_.pass(jobs, job_count, resv_names, resv_count, now);
  }
  /// Without books or cluster nothing is decided; what was promised keeps its reservations in Slurm.
  bool may_decide() const { return site_.may_decide(); }
  /// Whether the first pass could come now, and take_over() before it.
  bool takes_over() const { return planner_.takes_over(); }
  const std::vector<market_order_t>& take_over(const market_job_t* jobs, std::size_t job_count,
                                               Time now) {
    return planner_.take_over(jobs, job_count, now);
  }
  /// See node_ranks.h; they live until the next call.
  const std::vector<std::uint16_t>& ranks_of_nodes() const { return ranks_; }
  void order_failed(const market_order_t& order, std::string_view why, Time now) {
    planner_.order_failed(order, why, now);
  }
  std::uint32_t site_factor(std::uint32_t job_id, std::string_view note) {
    return planner_.site_factor(job_id, note);
  }
  bool wants_count(std::uint32_t job_id, std::string_view note) const {
    return confirmation_.wants_count(job_id, note);
  }
  /// Nothing when the job is not the market's.
  std::optional<EndTexts> job_ended(const market_job_t& job, Time now) {
    return settlement_.job_ended(job, now);
  }

  /// See invariants.h; for tests.
  std::string broken_invariant() const { return market::broken_invariant(site_); }

  // ---- the desk (core/desk)
  Site& site() { return site_; }
  Admission& admission() { return admission_; }
  const Confirmation& confirmation() const { return confirmation_; }

 private:
  void rank_nodes();
  void move_runs();
  void say_once(std::string& last, const std::string& what, const std::string& error);
  void say_config(const BooksReport& news);
  void take_results(BooksReport& news);
  void take_asks(BooksReport& news);
  void take_requests(BooksReport& news);
  void compare_liens(std::vector<ledger::OpenLien> liens);

  Site site_;
  std::vector<std::uint16_t> ranks_;
  Admission admission_{site_};
  Confirmation confirmation_{site_, settlement_};
  Settlement settlement_{site_, confirmation_};
  Planner planner_{site_, confirmation_, settlement_};
};

}  // namespace market
