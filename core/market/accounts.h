// SPDX-License-Identifier: GPL-2.0-or-later
// Money as the market sees it: what every account can spend, the liens of its jobs, and the entries
// that are still to be written into the books.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/books_report.h"
#include "core/market/state.h"
#include "core/util/log.h"

namespace market {

/// A lien that the books refused, or a change of one.
struct RefusedLien {
  std::uint32_t job_id = 0;
  std::string run;    ///< as SegmentKey::text()
  Money previous;     ///< what was set aside before
  bool paid = false;  ///< the run was paid for before a crash that Slurm forgot it in
};

class Accounts {
 public:
  /// `wake_books` is called when there are entries to take.
  Accounts(std::string cluster_name, Log log, std::function<void()> wake_books, bool observes);

  // ---- what can be spent
  /// Posted and liens, decided or written.
  const Funds& funds() const { return funds_; }
  Money available(std::string_view account) const { return funds_.available(account); }
  bool exists(std::string_view account) const { return funds_.find(account) != nullptr; }
  /// What `account` can pay for this job: what is available and the job's own lien on it.
  Money can_pay(std::string_view account, const Job& job) const;
  /// Whether the account exists and the user may spend from it. Where Slurm enforces associations,
  /// it has let only such bids through.
  bool may_pay(std::string_view account, std::uint32_t uid) const;
  void trust_associations(bool enforced) { associations_enforced_ = enforced; }
  bool associations_enforced() const { return associations_enforced_; }

  // ---- liens
  /// For an acceptance that is not yet a job.
  void set_aside(const std::string& account, Money amount);
  void give_back(const std::string& account, Money amount);
  /// Makes the job's lien `amount` on its bid's account; `billing`: its billing units.
  void set_lien(Job& job, Money amount, double billing);
  void void_lien(Job& job, const std::string& note);
  /// Charges what no lien of its own was set aside for.
  void charge(const Job& job, ledger::Segment segment);
  /// Charges a run; its lien returns. `resettled`: the balances have it already where no lien is
  /// left.
  void settle(Job& job, ledger::Segment segment, ledger::Payouts parts, bool resettled);
  /// Credits move between accounts and pots, or intervals change.
  void change_pots(ledger::ChangePots change);
  /// Credits leave for a host of another cluster.
  void send_credits(ledger::SendCredits sent);
  /// Tells what a run would have been charged; what was set aside for it returns. `resettled` as in
  /// settle().
  void observe(Job& job, ledger::ObserveRun run, bool resettled);
  /// What somebody gave back is set aside until its hours are over.
  void offer_rest(const ledger::Rest& rest);
  /// What a purchase brings returns; `rests` are those it is about, among others.
  void count_sale(ledger::CountSale sale, const std::vector<ledger::Rest>& rests);
  /// The hours of a rest are over; `lien`: what is set aside for it.
  void charge_rest(ledger::Rest rest, Money lien);
  /// Nobody is to pay for it after all, in a market that observed.
  void forget_rest(const ledger::Rest& rest);
  /// The job's present run as the books will know it, not ended.
  ledger::Segment segment_of(const Job& job, double billing) const;
  /// Whether an owner's account is missing and was not said to be.
  bool is_newly_missing(const std::string& account);

  // ---- entries
  /// An entry that moves no money: a lesson.
  void record(ledger::Operation operation);
  std::vector<Queued> take_entries();
  /// Entries that the books have not confirmed.
  std::size_t unwritten() const { return unwritten_; }
  /// Whether the entries that so many live jobs can ever need have room.
  bool has_room_for(std::size_t live_jobs, std::size_t rests) const;
  /// What the books wrote and hold; the liens they refused.
  std::vector<RefusedLien> take_results(BooksReport& news);

  // ---- liens of the books, and the jobs they are for
  bool liens_read() const { return liens_read_; }
  /// Until liens from before have found their jobs or returned.
  bool recovering() const { return recovering_; }
  void take_open_liens(std::vector<ledger::OpenLien> liens);
  /// Keys of the runs about which an entry waits to be written.
  std::set<std::string> decided_runs() const;
  /// Makes books that were away, or are an older copy, say what was agreed with a live job. False
  /// of a job whose bill they do not have: it is to be made again from its note.
  bool reconcile(Job& job, const std::set<std::string>& decided, double billing);
  /// The job takes over the lien that the books have for it; `settled`: its note is of the run
  /// before.
  void claim_lien(Job& job, bool settled);
  /// Takes out the liens of earlier runs of the job.
  std::vector<ledger::Segment> take_older_liens(const Job& job, std::uint32_t restart);
  /// Returns liens whose job did not show up since they were read.
  void return_orphans(std::uint64_t pass_number, Time now);

 private:
  /// One run among those of its job's number; `key`: SegmentKey::text().
  struct RunOfJob {
    std::uint32_t job_id = 0;
    std::string key;
    auto operator<=>(const RunOfJob& other) const = default;
  };

  void enqueue(Queued queued);
  const ledger::OpenLien* lien_of(const Job& job) const;

  const std::string cluster_name_;
  const Log log_;
  const std::function<void()> wake_books_;
  const bool observes_;
  bool associations_enforced_ = false;
  Funds funds_;
  std::deque<Queued> queue_;
  std::size_t unwritten_ = 0;             // queued or at who keeps the books
  std::vector<Queued> unread_;            // written, but the balances were not read since
  std::set<std::string> missing_owners_;  // accounts of owners that were said not to exist
  std::map<RunOfJob, ledger::OpenLien> open_liens_;  // without a job so far
  bool liens_read_ = false, recovering_ = true;
  Time recovering_since_ = 0;          // 0: no pass has been since the open liens were read
  std::uint64_t recovering_from_ = 0;  // the pass before that one
};

}  // namespace market
