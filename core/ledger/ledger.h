// SPDX-License-Identifier: GPL-2.0-or-later
// The books: accounts and immutable transfers in double entry, in SQLite. core/ledger/README.md
// describes the tables. One file although it is long: what is written and what is read are one face.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ledger/pots.h"
#include "core/ledger/utility_runs.h"
#include "core/util/result.h"
#include "core/words/bid.h"
#include "core/words/money.h"
#include "core/words/node_ask.h"
#include "core/words/past_bid.h"

namespace market::ledger {

/// One run of one job: the unit that is billed. Stable over restarts of slurmctld. A job's number and
/// second do not tell which: Slurm gives a number again when it was killed before it had saved the
/// job, and it changes the submit time of a job that it requeues, not always together with the
/// restart. A bid's token does.
struct SegmentKey {
  std::string cluster;
  std::uint32_t job_id = 0;
  Time submitted = 0;
  std::uint32_t restart = 0;
  std::string bid{};  ///< the bid's token; "" of runs from before tokens were kept
  /// "cluster:job:restart:bid", or "cluster:job:submit:restart" where the bid is not known: the stem
  /// of every idempotency key of this run.
  std::string text() const;
  auto operator<=>(const SegmentKey&) const = default;
};

/// Of a component of a heterogeneous job array_job_id is the first one's number, array_task_id this | place.
inline constexpr std::uint32_t kComponent = std::uint32_t{1} << 31;
/// What a bill shows of a run. Fields unknown as yet are 0 or empty.
struct Segment {
  SegmentKey key;
  std::uint32_t array_job_id = 0;  ///< 0: not a task of an array, and no component
  std::uint32_t array_task_id = 0;
  std::uint32_t uid = 0;
  std::string user, account, partition, state, mechanism, tres, note;
  Time planned_start = 0, promised_end = 0, start = 0, end = 0;
  Time suspended = 0;   ///< seconds
  Time elapsed = 0;     ///< seconds it ran, without the suspended ones
  Time time_limit = 0;  ///< seconds
  double billing = 0;   ///< billing units
  Money quoted, charged, refunded;
  bool is_component() const { return array_job_id != 0 && (array_task_id & kComponent) != 0; }
};

/// Sets funds aside for a run. Fails softly: Outcome::kNoFunds (see Outcome also for kPaid).
struct PlaceLien {
  Segment segment;  ///< quoted is the amount
};
/// Changes the lien of a run to a new amount or account (a rebid, another size): void and place in
/// one. Places it when there is none.
struct ChangeLien {
  Segment segment;
};
/// An owner of nodes and what it gets of a run's charge.
struct Payee {
  std::string account;
  Money amount;
};
/// What a run brought the owner of one of its nodes.
struct NodeIncome {
  std::string node, account;
  Money asked;   ///< its own ask for what the run held there × time
  Money earned;  ///< of the charge
  std::int64_t cpu_seconds = 0;
};
/// What the owners of the nodes of a run get of its charge.
struct Payouts {
  std::vector<Payee> payees;      ///< one for each account
  std::vector<NodeIncome> nodes;  ///< the same by node
  std::vector<Payee> pots{};      ///< as in Settle
};
/// The run ended: `charged` of the lien is posted, the rest returns, then `refunded` flows back.
/// Idempotent: a second settlement of the same run changes nothing. Without a lien (it was never
/// flushed) the charge is posted directly. Then the owners of the nodes it ran on get their parts
/// out of revenue; what is for an account that does not exist stays there.
struct Settle {
  Segment segment;
  std::vector<Payee> payees{};      ///< together at most charged − refunded
  std::vector<NodeIncome> nodes{};  ///< what `payees` get, by node
  std::vector<Payee> pots{};  ///< other pots that pay a part of `charged`, through the account
};
/// The lien returns whole; the run will not be billed (cancelled before start, never confirmed,
/// orphaned).
struct VoidLien {
  SegmentKey key;
  std::string note;
};
/// A bid that demand prediction learns from. A confirmed one is kept once under its id. Of refused
/// ones each uid's largest of an hour is kept, and together in a day no more than their account
/// could spend; those that come on top are Outcome::kAlreadyDone.
struct RecordBid {
  std::string id;  ///< of a confirmed bid: idempotency key
  PastBid bid;
  std::string cluster, partition, account;
  std::uint32_t uid = 0;
  bool accepted = false;
  Money price;
  Money could_spend;  ///< of a refused bid's account when it was refused
  std::string mechanism;
  std::string
      observed{};  ///< the market that only observed when it was made; "": it was for credits
};
/// Bids that were made up from a log.
struct PriorBids {
  std::int64_t count = 0;
  double value = 0;  ///< credits
  bool operator==(const PriorBids&) const = default;
};

/// A confirmed bid that its user took back before the start: nothing is learned from it any more.
struct ForgetBid {
  std::string id;
};
/// A run in a market that only observes, with what it would have cost. It moves nothing, and no
/// other bill, statement or sum knows of it. A second one of the same run changes nothing.
struct ObserveRun {
  Segment segment;  ///< as a settlement would have it; of a refused bid without amounts
  std::string market;
  bool refused = false;  ///< its bid would have been refused
  Time waited = 0;       ///< seconds from when it could have started to its start
  std::optional<Time>
      would_wait;  ///< to the start that the market planned; nothing: it planned none
};
/// Owners of nodes ask another price from now on. Idempotent by its token.
struct PostAsk {
  struct Node {
    std::string name, account;
  };
  std::string token, cluster;
  std::uint32_t uid = 0;  ///< who asked for it
  NodeAsk ask;
  std::vector<Node> nodes;
};
/// What a later sale brought of a rest.
struct Resold {
  std::string sale;  ///< names the purchase
  Time begin = 0, end = 0;
  double billing = 0;  ///< billing units that it bought of the rest
  Money amount;        ///< that the rest owes less
  bool operator==(const Resold&) const = default;
};
/// What somebody bought and does not use: from `planned_start` to `promised_end` of its segment,
/// which is no run but has a lien, and a charge when that time is over. `quoted` is what it owes as
/// things stand, `time_limit` the seconds that were given back, and its key names the bid and the
/// moment ("TOKEN.TIME").
struct Rest {
  Segment segment;
  std::string market;  ///< that sells it again
  Time made = 0;
  std::vector<Resold> resold{};
};
/// A rest begins to wait for its resale; its lien is placed.
struct OfferRest {
  Rest rest;
};
/// A purchase brought something of these rests: each owes that much less. All of it or, where the
/// purchase was counted before, nothing.
struct CountSale {
  struct Part {
    SegmentKey rest;
    Resold resold;
  };
  std::string sale;
  std::vector<Part> parts;
};
using Operation =
    std::variant<PlaceLien, ChangeLien, Settle, VoidLien, RecordBid, ForgetBid, ObserveRun, PostAsk,
                 OfferRest, CountSale, ChangePots, SendCredits, RecordUtility, ForgetUtility>;

/// What a node asks since an owner asked for it.
struct PostedAsk {
  std::string node, account;  ///< whose node it was
  NodeAsk ask;
  std::string token;
  Time since = 0;
  std::uint32_t uid = 0;
};

/// What one node brought its owner between two times.
struct NodeEarnings {
  std::string node, account;
  std::int64_t runs = 0, cpu_seconds = 0;
  Money asked, earned;
};

/// What is to be known of nodes of a cluster and their owners; runs that ended in [since, until),
/// asks of that time.
struct EarningsQuestion {
  std::string cluster;
  Time since = 0, until = 0;
  bool sees_all = false;  ///< who asks; else only of these:
  std::vector<std::string> accounts;
};
struct EarningsPage {
  std::vector<NodeEarnings> nodes;
  std::vector<PostedAsk>
      asks;  ///< in the order in which they were asked, the newest kMostAsksShown
};
constexpr std::int64_t kMostAsksShown = 100;

enum class Outcome {
  kDone,
  kAlreadyDone,
  kPaid,  ///< Slurm forgot a run that was paid for, and makes it again: nothing is set aside
  kNoFunds,
  kNoAccount,
  kRefused,  ///< cannot be written ever (negative, refunded > charged, out of range): do not try
             ///< again
};

/// What was charged under one job number for one bid. Slurm gives numbers again.
struct Submission {
  Time submitted = 0;  ///< of its first run
  std::string user, account;
  Money refundable;
};

struct AccountInfo {
  Balance balance;
  std::string note;
  std::vector<std::string> members;  ///< user names
};

struct OpenLien {
  Segment segment;
};

/// What waits for its resale.
struct OpenRests {
  std::vector<Rest> rests;
  std::vector<std::string> counted;  ///< purchases with a lien that were counted already
};

/// One line of an account's history, for statements.
struct Entry {
  std::int64_t id = 0;
  Time time = 0;  ///< when it counts: what a run's end brought, at that end
  std::string kind, account, counterpart, note, segment_key;
  std::uint32_t job_id = 0, restart = 0;  ///< of the run, where it is about one
  Money amount;                           ///< signed, as seen from `account`
};

struct SegmentFilter {
  std::optional<Time> since, until;  ///< runs that ended in [since, until)
  std::vector<std::string> accounts, users, partitions, mechanisms, states;
  std::vector<std::uint32_t> jobs;
  bool open_too = false;  ///< runs with a lien and no settlement yet
};

struct CheckReport {
  std::int64_t transfers = 0;
  std::int64_t open_liens = 0;
  Money sum;                        ///< over all accounts, must be 0
  std::vector<std::string> faults;  ///< one line each; empty when the books balance
  int schema = 0;
};

/// One time during which a market only observed.
struct Observation {
  std::string cluster, market;
  Time began = 0;
  Time ended = 0;  ///< 0: it goes on
};

struct RunsQuestion;
struct RunsPage;

enum class Mode { kReadOnly, kReadWrite, kCreate };

/// One connection. Not thread safe; each thread opens its own. No method throws.
class Ledger {
 public:
  /// Opens (kCreate: makes, mode 0600) the database, upgrading an older schema in place after a
  /// copy beside it; refuses a newer one. ":memory:" works for tests.
  static Result<Ledger> open(const std::string& path, Mode mode);
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  // What administrators do. Each is one transaction; `now` dates it; `by` names who did it.
  Result<void> add_account(const std::string& name, const std::string& note, Time now);
  Result<void> set_members(const std::string& account, const std::vector<std::string>& add,
                           const std::vector<std::string>& remove);
  Result<void> deposit(const std::string& account, Money amount, const std::string& note, Time now);
  Result<void> withdraw(const std::string& account, Money amount, const std::string& note,
                        Time now);
  Result<void> transfer(const std::string& from, const std::string& to, Money amount,
                        const std::string& note, Time now);
  /// Open loop (Tycoon, section 3.5): from `now` on the account gets `amount` out of the treasury for
  /// each `per` seconds, until then (0: for good). What it earned before is paid at once.
  Result<void> set_income(const std::string& account, Money amount, Time per, Time until, Time now);
  /// Pays what is due of all incomes, exactly however often it is called; returns how much.
  Result<Money> pay_incomes(Time now);
  /// What the cluster took in goes back to the treasury; returns how much.
  Result<Money> collect(const std::string& note, Time now);
  /// Closed loop: an account that brings nodes gets its allotment out of the treasury, once for ever.
  Result<void> allot(const std::string& account, Money amount, const std::string& note, Time now);
  /// From now on these nodes of the cluster earn for the account; "" takes all of it back. Fails where
  /// one earns for another account.
  Result<void> join(const std::string& account, const std::string& cluster,
                    const std::string& nodes, Time now);
  /// Refunds part of what the runs of a job were charged; never more than charged − refunded in
  /// total, and not after `window` seconds from the run's end unless `force`. The newest run is
  /// refunded first. Owners who were paid for a run give back their parts of its refund. Where the
  /// number stands for several submissions it is for the newest, or the one with a run that was
  /// submitted at `submitted`; returns which, as it is afterwards.
  Result<Submission> refund(const std::string& cluster, std::uint32_t job_id, Money amount,
                            Time window, bool force, const std::string& note, Time now,
                            Time submitted = 0);

  // What the market does: all operations in one transaction (group commit), outcomes in order. A
  // failure means that nothing was written and the same operations can be tried again.
  Result<std::vector<Outcome>> apply(const std::vector<Operation>& operations, Time now);

  /// Just these markets of the cluster observe from now on: times of observation begin, or go on, or
  /// end. What was learned in one is not told by past_bids() when it has ended, and what was billed
  /// not by observed_sums().
  Result<void> observe(const std::string& cluster, const std::vector<std::string>& markets,
                       Time now);

  // Reading.
  Result<std::vector<Observation>> observations() const;
  /// The runs of markets that observed; `open_too` of the filter is not used.
  Result<std::vector<ObserveRun>> observed(const SegmentFilter& filter) const;
  /// What each account would have paid in the times of observation of a cluster that go on.
  Result<std::map<std::string, Money>> observed_sums(const std::string& cluster) const;
  Result<std::vector<AccountInfo>> accounts() const;
  /// All pots, by name.
  Result<std::vector<PotInfo>> pots() const;
  /// For which accounts nodes of a cluster earn, by node.
  Result<std::map<std::string, std::string>> joined(const std::string& cluster) const;
  /// Requests about pots and asks of a cluster that were written at `since` or later.
  Result<std::vector<WrittenRequest>> requests(const std::string& cluster, Time since) const;
  /// Of runs, not of rests.
  Result<std::vector<OpenLien>> open_liens(const std::string& cluster) const;
  Result<OpenRests> open_rests(const std::string& cluster) const;
  /// Keeps bids that were made up from a log, each once under its id. Returns how many are new.
  Result<std::size_t> learn_prior(const std::vector<RecordBid>& records);
  /// Takes those of a cluster back; returns how many there were.
  Result<std::size_t> forget_prior(const std::string& cluster);
  /// Those that teach a cluster.
  Result<PriorBids> prior(const std::string& cluster) const;

  /// The bids of a cluster made in [since, until) that demand prediction learns from, in the order
  /// of their times.
  Result<std::vector<PastBid>> past_bids(const std::string& cluster, Time since, Time until) const;
  /// By name, each in the order of their ends.
  Result<std::vector<UtilityRun>> utility_runs(const UtilityQuestion& question) const;
  Result<std::vector<Segment>> segments(const SegmentFilter& filter) const;
  /// As many of the runs that somebody may see as bounded work finds (runs.h).
  Result<RunsPage> runs(const RunsQuestion& question) const;
  /// What was charged under a job's number, oldest first.
  Result<std::vector<Submission>> submissions(const std::string& cluster,
                                              std::uint32_t job_id) const;
  /// The last ask of each node of a cluster for which one was ever posted.
  Result<std::vector<PostedAsk>> asks(const std::string& cluster) const;
  Result<EarningsPage> earnings(const EarningsQuestion& question) const;
  Result<std::vector<Entry>> entries(const std::string& account, Time since, Time until) const;
  /// The seed of all draws where market.conf names none: a secret, drawn when the ledger was made.
  Result<std::string> seed() const;
  /// Recomputes everything from the transfers and compares.
  Result<CheckReport> check() const;
  /// Fails when the path no longer names the file that was opened (deleted, moved, replaced): then
  /// what is written is lost. What the file's write-ahead log holds is put into the file itself,
  /// so that the log does not meet another one.
  Result<void> require_in_place() const;
  /// A number that changes whenever another connection committed (PRAGMA data_version).
  Result<std::int64_t> data_version() const;

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace market::ledger
