// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade remembers of one job between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/market/node_wish.h"
#include "core/mechanism/auction.h"
#include "core/plan/node_plan.h"
#include "core/valuation/ex_post.h"
#include "core/words/bid.h"

namespace market {

/// What was agreed for one run of one job or array task.
struct Terms {
  Money price;
  Time start = 0;         ///< planned; moves when the job can start earlier or its place is lost
  Time promised_end = 0;  ///< completion promised at acceptance; 0: none, as in every auction
  std::string rule;       ///< name and version of the rule that made the price
  /// What a run that starts late owes of the price. None: the rule `late` decides.
  std::optional<ExPost> ex_post{};
  std::string markup{};  ///< what multiplied the posted price, for people; empty: nothing

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

/// The texts of a bid, as they go into the job's note.
struct BidTexts {
  std::string budget, value;
  std::string quote{};  ///< "7f3a:3": `budget` is the price of that row of a menu
  std::string rate{};   ///< of --budget-rate
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
  bool told = false;  ///< its owner was told terms.price for it as it is: it never rises
  /// Of what it owes in an auction: others moved it there at a price told.
  std::optional<Money> cap;
  Money lien;  ///< set aside now; zero when none
  std::string lien_account;
  bool revoked = false;    ///< the ledger refused the lien
  bool taught = false;     ///< prices learn from this bid
  bool user_held = false;  ///< submitted with --hold: the market's release must not undo that
};

/// Where and when it is to run, and what Slurm made of that. Written by Planner.
struct Place {
  Placement placement;    ///< while booked
  bool booked = false;    ///< has a booking and a promise for terms.start
  bool reserved = false;  ///< Slurm holds a reservation for this run
  bool bound = false;     ///< told to run inside it, or runs inside it
  Time reserved_until = 0, bound_at = 0;
  bool retime = false;     ///< the next plan also moves the promise
  bool missed = false;     ///< not ready at its start: the next plan asks for the price again
  int start_failures = 0;  ///< planned starts at which Slurm did not start it, since its last run
  std::string start_failure;  ///< why, the last time
  int reserve_failures = 0;
  Time retry_at = 0, not_before = 0;
  Money tried_available;
  bool count_due = true;           ///< Slurm did not count its CPUs yet
  Time count_at = 0;               ///< not before
  std::uint32_t counted_cpus = 0;  ///< Slurm's count where that is more than what was sold
  std::uint32_t counted_nodes = 0;
  Time would_start = 0;  ///< of a market that observes: when it had it start; 0: not known
  std::optional<std::string> adopt_seats;  ///< taken over after a crash and not yet placed again
};

/// What a node's owner gets of a run at most.
struct NodePay {
  std::string node;
  double rate = 0;         ///< credits per second
  double asked = 0;        ///< its own ask for what the run holds of it, credits per second
  std::uint32_t cpus = 0;  ///< that the run holds
  bool operator==(const NodePay&) const = default;
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
  std::vector<NodeAsk> asks;     ///< of the nodes of `standing` when they were awarded
  std::vector<NodePay> pays;     ///< of its run, from its start on
  std::string refusal;           ///< why Slurm would never start it on an award
  int refusals = 0;              ///< so many awards were refused since its last run
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
  /// Charged and refunded as settled before a crash.
  std::optional<std::pair<Money, Money>> resettle;
};

/// What Slurm told of it last. Written by Confirmation.
struct Seen {
  std::uint64_t pass = 0;
  Time at = 0;
  std::uint64_t fingerprint = 0;  ///< of what the price depends on
  std::string tres;
  Time begin = 0, deadline = 0;
  bool ready = true;  ///< not held, no open dependency, begin reached
  bool dependent = false, held = false;
  bool dependency_failed = false;  ///< one that can never be satisfied
  std::uint32_t throttle = 0;      ///< tasks of its array that may run at a time; 0: all
  bool array_full = false;         ///< as many run
  bool owner_changed = false;      ///< its owner changed it since the last pass
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
  AuctionTurn auction;
  Run run;
  Seen seen;
  Due due;
};

}  // namespace market
