// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade remembers of one job between calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/market/node_wish.h"
#include "core/mechanism/auction.h"
#include "core/plan/node_plan.h"
#include "core/util/rare.h"
#include "core/valuation/ex_post.h"
#include "core/words/bid.h"

namespace market {

inline constexpr Time kRetry = 60;  ///< seconds between two attempts that nothing new speaks for

/// What so many tasks that start one after the other owe together; in equal parts, to a micro-credit.
struct TasksPrice {
  std::uint32_t tasks = 0;
  Money total;
  bool operator==(const TasksPrice&) const = default;
};

/// A place for an array of tasks with posted prices: `lanes` of them run at a time, wave after wave
/// (array_block.h).
struct ArrayBlock {
  std::uint32_t lanes = 0;
  Time cycle = 0;                  ///< seconds from one wave to the next
  std::vector<TasksPrice> prices;  ///< of its tasks, in the order in which they start
};

/// An array that is one bid (--array-budget, or more tasks than get places of their own): its job is
/// Slurm's record of the tasks that did not start, with what is left of the budget or price as its lien.
/// Each task that starts or is taken out becomes a job of its own with its part (array_bids.h).
struct ArrayBid {
  Money budget;                        ///< for all of `tasks`; of a block its prices tell
  std::uint32_t tasks = 0;             ///< at its submission
  std::uint32_t parted = 0;            ///< that have got their part, or gave it back
  std::uint32_t returned = 0;          ///< of those, that were taken back before the first start
  std::uint32_t lost = 0;              ///< taken back since, owed when the record ends; not parted
  std::uint32_t told = 0;              ///< that wait, as Slurm said last
  std::uint32_t running = 0;           ///< as Slurm said last
  std::uint32_t most_running = 0;      ///< at a time since it has its place
  std::uint32_t split = 0;             ///< that wait in records of their own, as after a requeue
  std::uint32_t in_place = 0;          ///< of those, that are to run in its place
  std::uint32_t limit = 0;             ///< its owner's: tasks that may run at a time; 0: all
  std::optional<std::uint32_t> dial;   ///< the limit that Slurm was told last
  std::optional<std::uint32_t> heard;  ///< its owner is just changing his own to this
  Time first_start = 0;                ///< 0: none yet

  /// Tasks that have got their part and did not give it back; of a block it counts prices from here.
  std::uint32_t started() const { return parted - returned; }
  /// Tasks that wait, as the market knows.
  std::uint32_t waiting() const { return tasks - std::min(tasks, parted + lost); }
};

/// What makes a job a task of such an array.
struct ArrayPart {
  std::uint32_t array = 0;  ///< the number of the array's job
  bool owed = false;        ///< also when it never starts, since a task of its array did
  Time first_start = 0;     ///< of a task of its array; 0: none yet
  std::optional<std::uint32_t> limit_due{};  ///< its owner's for the array, not in Slurm yet
};

/// What was agreed for one run of one job or array task.
struct Terms {
  Money price;
  Time start = 0;         ///< planned; moves when the job can start earlier or its place is lost
  Time promised_end = 0;  ///< completion promised at acceptance; 0: none, as in every auction
  std::string rule;       ///< name and version of the rule that made the price
  /// What a run that starts late owes of the price. None: the rule `late` decides.
  Rare<ExPost> ex_post{};
  /// What multiplied the posted price and which draw it rests on, or which draw let an auction's job
  /// start; for people. Empty: nothing.
  RareText markup{};
  Time accepted = 0;         ///< its user has so long from here to think better of it
  Time bought = 0;           ///< this place; later than `accepted` when its user changed the job
  Rare<ArrayBlock> block{};  ///< of an array's record; `price` is what its waiting tasks owe

  /// The bid takes part in an auction: `price` is the most it can cost.
  bool auctioned() const { return promised_end == 0; }
  /// The promise is made anew for `from`; `busy`: seconds from then to the completion.
  void promise_anew(Time from, Time busy) {
    promised_end = from + busy;
    if (ex_post) ex_post->start = from;
  }
};

/// What a run in an auction owes so far.
struct Accrued {
  double credits = 0;
  Time seconds = 0;                 ///< that it owes them for, without suspended ones
  Time kept_at = 0;                 ///< when the run's note was last told a new rate
  std::optional<double> kept_rate;  ///< that rate
  bool resumed = false;             ///< taken over from the note of the run
};

/// A run that Slurm ended for another job.
struct PreemptedRun {
  Time start = 0, end = 0, suspended = 0;
  std::string tres;
  bool for_own = false;  ///< for one of the same user or account
};

/// A bid that is one of a list: all of them become jobs that may start, or none.
struct ListPart {
  std::string name;
  std::uint32_t parts = 0;  ///< of the whole list
  Time until = 0;           ///< what is not complete by then is cancelled
  bool user_held = false;   ///< submitted with --hold: the market's release must not undo that
  bool given_up = false;    ///< its cancel was counted
};

/// A job that stands for a place in which jobs run that pay nothing of their own. It stays held, and
/// its charge is that of a run which takes all of its time.
struct Reserved {
  std::string accounts{};  ///< comma list: who may run in it besides its owner; empty: nobody
  Time length = 0;         ///< seconds of it, whatever Slurm's record says; 0: as that says
  double lost = 0;       ///< seconds of it that nodes which failed took, by their part of the CPUs
  Time looked_at = 0;    ///< `lost` is up to here
  double kept_lost = 0;  ///< as the note tells it
};

/// Which component of a heterogeneous job a job is.
struct Component {
  std::uint32_t of = 0;           ///< the number of the first component
  std::uint32_t index = 0;        ///< from 0
  std::optional<Money> budget{};  ///< bid for all of them; none: its note is of an older version
};

/// The texts of a bid, as they go into the job's note.
struct BidTexts {
  std::string budget;
  RareText value{};
  RareText quote{};  ///< "7f3a:3": `budget` is the price of that row of a menu
  RareText rate{};   ///< of --budget-rate
  RareText workload{}, malleable{};
  RareText work{};  ///< of --work: `budget` is what that is worth in its class
  RareText utility{}, array_budget{};
};

enum class Phase {
  kWaiting,    ///< held by the market: no lien, no place
  kConfirmed,  ///< accepted, lien set aside, not running
  kRunning,
  kEnded,  ///< the run was settled; the job may come back with a new run
};

/// Why a bid waits, or why its plan changed.
enum class Cause { kNone, kNoFunds, kOutbid, kResources, kNotReady, kWorthless, kNotStarted };

/// What the owner bid and was told, and what is set aside for it. Written by Confirmation, and by
/// Accounts (the lien).
struct Agreement {
  Bid bid;
  BidTexts texts;
  Terms terms;
  Time bid_made = 0;  ///< a sigmoid's delay counts from here
  Money needed;       ///< price that was asked when it last had to wait
  /// Of what it owes in an auction: others moved it there at a price told.
  std::optional<Money> cap;
  Money lien;  ///< set aside now; zero when none
  std::string lien_account;
  bool told = false;       ///< its owner was told terms.price for it as it is: it never rises
  bool revoked = false;    ///< the ledger refused the lien
  bool taught = false;     ///< prices learn from this bid
  bool counted = false;    ///< what this purchase brings of others' rests was told to them
  bool user_held = false;  ///< submitted with --hold: the market's release must not undo that
  /// The place that the change at hand gives back.
  Rare<ledger::Rest> given_back;
  Rare<ListPart> list{};      ///< while the other bids of its list are no jobs yet
  Rare<Reserved> reserved{};  ///< it stands for a place
};

/// Where and when it is to run, and what Slurm made of that. Written by Planner.
struct Place {
  Placement placement;      ///< while booked
  bool booked = false;      ///< has a booking and a promise for terms.start
  bool reserved = false;    ///< Slurm holds a reservation for this run
  bool bound = false;       ///< told to run inside it, or runs inside it
  bool retime = false;      ///< the next plan also moves the promise
  bool missed = false;      ///< not ready at its start: the next plan asks for the price again
  bool count_due = true;    ///< Slurm did not count its CPUs yet
  bool from_block = false;  ///< taken out of its array's record, and runs in that one's place
  Time reserved_until = 0, bound_at = 0;
  Time until = 0;                ///< of a block: when it ends, slack included
  std::uint32_t first_task = 0;  ///< of a block: the task that is planned for its start
  int reserve_failures = 0;
  int start_failures = 0;  ///< planned starts at which Slurm did not start it, since its last run
  RareText start_failure;  ///< why, the last time
  Time retry_at = 0, not_before = 0;
  Money tried_available;
  Time count_at = 0;               ///< not before
  std::uint32_t counted_cpus = 0;  ///< Slurm's count where that is more than what was sold
  std::uint32_t counted_nodes = 0;
  Time would_start = 0;           ///< of a market that observes: when it had it start; 0: not known
  Time lost_at = 0;               ///< since when there is no place for it; 0: it has one
  Rare<std::string> adopt_seats;  ///< taken over after a crash and not yet placed again
};

/// What a node's owner gets of a run at most.
struct NodePay {
  std::string node;
  double rate = 0;         ///< credits per second
  double asked = 0;        ///< its own ask for what the run holds of it, credits per second
  std::uint32_t cpus = 0;  ///< that the run holds
  bool operator==(const NodePay&) const = default;
};

/// What a run pays for one good of its host, in tycoon with pots.
struct GoodRate {
  std::string tres;
  double rate = 0;   ///< credits per second
  double floor = 0;  ///< that its rate never falls below
  double owes = 0;   ///< credits so far
  bool operator==(const GoodRate&) const = default;
};

/// Its shares since it could start, for who learns utilities (average_shares.h).
struct AverageShares {
  std::map<std::string, double, std::less<>>
      sums;  ///< of share × seconds, by TRES that it asks for
  double seconds = 0;
  Time since = 0;        ///< they are counted up to here; 0: its clock stands
  bool partial = false;  ///< what was before a crash is not known
};

/// Its part in an auction. Written by AuctionExchange and, of what Slurm is told, by Planner.
struct AuctionTurn {
  Standing standing;
  bool stands = false;       ///< its job could start: it takes part, and others pay by it
  bool left = false;         ///< it stood, and did not wait for its start
  Time startable_since = 0;  ///< its job could have started ever since; 0: it could not now
  bool awarded = false;      ///< it runs where the auction awarded it nodes
  bool stood = false;        ///< `standing` is of an auction with the bid as it is now
  bool rated = false;        ///< its rate is of an auction under the rule of its terms
  bool kept_back = false;    ///< held by the market until nodes are awarded to it
  bool last = false;         ///< Slurm keeps it from its award: others come first, none pays by it
  std::optional<NodeWish> wish;  ///< its owner's, while Slurm's record names an award instead
  std::string award;             ///< these nodes, as Slurm was told; "" after a crash too
  SlurmSize size;                ///< with them, of a malleable bid
  double reach = 1;              ///< the part of its range that Slurm's limits leave open
  std::vector<NodeAsk> asks;     ///< of the nodes of `standing` when they were awarded
  std::vector<NodePay> pays;     ///< of its run, from its start on
  bool stopped = false;          ///< the market suspended its run, or sent it back to the queue
  bool unstoppable = false;      ///< Slurm refused that
  bool sent_back = false;        ///< its last run ended so
  Time room_since = 0;           ///< runs were stopped so that it starts; 0: not yet
  Time lacking_since = 0;        ///< it wants more than what may be stopped for it; 0: not so
  Time vain_at = 0;              ///< it waits alone from then on: nothing that stops lets it start
  std::vector<GoodRate> goods;   ///< of its run, where goods have markets of their own
  std::string refusal;           ///< why Slurm would never start it on an award
  AverageShares average;
  int refusals = 0;  ///< so many awards were refused since its last run
};

/// Its present or last run, and what that owes. Written by Confirmation and Settlement.
struct Run {
  Time start = 0, end = 0;  ///< as last seen
  Time ran = 0;             ///< seconds without suspended ones
  Accrued accrued;
  bool unbilled = false;                  ///< started while the bid waited
  std::optional<PreemptedRun> preempted;  ///< its bill waits until a pass knows for whom
  bool keeps_price = false;               ///< Slurm or an operator ended its last run
  std::string settled_note;               ///< after settlement of run `restart`
  std::string sized;                      ///< the size that the market gave it, for people
  /// Charged and refunded as settled before a crash, and what waits for its resale until when.
  struct Settled {
    Money charged, refunded, rest;
    Time rest_until = 0;
  };
  std::optional<Settled> resettle;
};

/// What Slurm told of it last. Written by Confirmation.
struct Seen {
  std::uint64_t pass = 0;
  Time at = 0;
  std::uint64_t fingerprint = 0;  ///< of what the price depends on
  std::string tres;
  Time begin = 0, deadline = 0;
  bool ready = true;  ///< not held, no open dependency, begin reached
  bool dependent = false, size_limited = false, held = false;
  bool dependency_failed = false;  ///< one that can never be satisfied
  std::uint32_t throttle = 0;      ///< tasks of its array that may run at a time; 0: all
  bool array_full = false;         ///< as many run
  bool owner_changed = false;      ///< its owner changed it since the last pass
  bool suspended = false;          ///< it runs, and is stopped now
};

/// What Slurm is still to be told of it.
struct Due {
  bool note = false, hold = false, release = false;
  std::string_view reason_set;  ///< in state_desc, of the market's codes
};

/// One job of the market: one bid, run after run.
struct Job {
  std::uint32_t id = 0, array_job_id = 0, array_task_id = UINT32_MAX, restart = 0;
  Time submitted = 0;  ///< of the job, part of the key of its bill
  std::string user, token;

  Phase phase = Phase::kConfirmed;
  Cause cause = Cause::kNone;
  Agreement agreed;
  Place place;
  Late<AuctionTurn> auction;
  Late<Run> run;
  Seen seen;
  Due due;
  Rare<ArrayBid> array;
  Rare<ArrayPart> part;
  Rare<Component> component;
};

}  // namespace market
