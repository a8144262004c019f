// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade remembers of bids between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/mechanism/auction.h"
#include "core/plan/node_plan.h"
#include "core/words/bid.h"
#include "core/words/slurm_view.h"

namespace market {

/// What was agreed for one run of one job or array task.
struct Terms {
  Money price;
  Time start = 0;         ///< planned; moves when the job can start earlier or its place is lost
  Time promised_end = 0;  ///< completion promised at acceptance; 0: none, as in every auction
  std::string rule;       ///< name and version of the rule that made the price
  /// The ex-post price of a late run: all until then, nothing after. 0: the rule `late` decides.
  Time free_after = 0;
  std::string markup{};  ///< what multiplied the posted price, for people; empty: nothing

  /// The bid takes part in an auction: `price` is the most it can cost.
  bool auctioned() const { return promised_end == 0; }
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
};

enum class Phase {
  kWaiting,    ///< held by the market: no lien, no place
  kConfirmed,  ///< accepted, lien set aside, not running
  kRunning,
  kEnded,  ///< the run was settled; the job may come back with a new run
};

/// Why a bid waits, or why its plan changed.
enum class Cause { kNone, kNoFunds, kOutbid, kResources, kNotReady, kWorthless, kNotStarted };

/// One job of the market: one bid, run after run.
struct Job {
  std::uint32_t id = 0, array_job_id = 0, array_task_id = UINT32_MAX, restart = 0;
  Time submitted = 0;  ///< of the job, part of the key of its bill
  Time bid_made = 0;   ///< a sigmoid's delay counts from here
  std::string user, token, tres_text;
  Placement placement;  ///< while placed
  Bid bid;
  BidTexts texts;
  Terms terms;

  Phase phase = Phase::kConfirmed;
  Cause cause = Cause::kNone;
  Money needed;  ///< price that was asked when it last had to wait
  Money lien;    ///< set aside now; zero when none
  std::string lien_account;
  bool revoked = false;   ///< the ledger refused the lien
  bool placed = false;    ///< has a booking and a promise for terms.start
  bool reserved = false;  ///< Slurm holds a reservation for this run
  bool bound = false;     ///< told to run inside it, or runs inside it
  Time reserved_until = 0;
  bool user_held = false;  ///< submitted with --hold: the market's release must not undo that

  Standing standing;         ///< in the auction
  bool stands = false;       ///< its job could start: it takes part, and others pay by it
  bool left = false;         ///< it stood, and did not wait for its start
  Time startable_since = 0;  ///< its job could have started ever since; 0: it could not now
  bool awarded = false;      ///< it runs where the auction awarded it nodes
  bool stood = false;        ///< `standing` is of an auction with the bid as it is now
  bool rated = false;        ///< its rate is of an auction under the rule of `terms`
  Accrued accrued;
  Time ran = 0;           ///< seconds without suspended ones
  bool taught = false;    ///< prices learn from this bid
  bool unbilled = false;  ///< the run was started while the bid waited

  std::uint64_t fingerprint = 0;  ///< of what the price depends on
  Time begin = 0, deadline = 0;   ///< as Slurm has them
  bool ready = true;              ///< not held, no open dependency, begin reached
  bool dependent = false, held = false;
  std::uint32_t throttle = 0;  ///< tasks of its array that may run at a time; 0: all
  bool array_full = false;     ///< as many run
  bool retime = false;         ///< the next plan also moves the promise
  bool missed = false;         ///< not ready at its start: the next plan asks for the price again
  std::optional<Money>
      cap;            ///< of what it owes in an auction: others moved it there at a price told
  bool told = false;  ///< its owner was told terms.price for it as it is: it never rises
  bool owner_changed = false;      ///< its owner changed it since the last pass
  bool count_due = true;           ///< Slurm did not count its CPUs yet
  Time count_at = 0;               ///< not before
  std::uint32_t counted_cpus = 0;  ///< Slurm's count where that is more than what was sold
  std::uint32_t counted_nodes = 0;
  Time bound_at = 0;
  int start_failures = 0;  ///< planned starts at which Slurm did not start it, since its last run
  std::string start_failure;  ///< why, the last time
  Time retry_at = 0, not_before = 0;
  Money tried_available;
  int reserve_failures = 0;
  std::string_view reason_set;  ///< in state_desc, of the market's codes
  bool note_due = false, hold_due = false, release_due = false;
  std::optional<std::string> adopt_seats;  ///< taken over after a crash and not yet placed again
  std::uint64_t seen_pass = 0;
  Time seen_at = 0;
  Time run_start = 0, run_end = 0;        ///< of the running run as last seen
  std::optional<PreemptedRun> preempted;  ///< its bill waits until a pass knows for whom
  bool keeps_price = false;               ///< Slurm or an operator ended its last run
  std::string settled_note;               ///< after settlement of run `restart`
  std::optional<std::pair<Money, Money>>
      resettle;  ///< charged and refunded as settled before a crash
};

/// An acceptance whose job has not been seen yet; one entry of `tasks` for each array task.
struct Provisional {
  struct Task {
    Terms terms;
    Placement placement;
    bool funded = true;
    bool claimed = false;
  };
  std::string token, user;
  std::uint64_t ticket = 0;  ///< names it to the thread that serves the submission
  Bid bid;
  BidTexts texts;
  Time made = 0, seen = 0;
  std::uint64_t seen_pass = 0;  ///< the last pass that saw its array or a task of it; 0: none yet
  bool over = false;            ///< its call has ended: no job can come of it later
  std::uint32_t counted_cpus = 0, counted_nodes = 0;  ///< Slurm's count for each task of an array
  bool user_held = false;
  bool comes_held = false;  ///< submitted held because some tasks lack funds
  std::vector<Task> tasks;
};

/// The acceptances of one user without a job so far.
struct UnseenBids {
  std::uint32_t open = 0;     ///< now
  std::uint32_t dropped = 0;  ///< that became no job since `since`
  Time since = 0;
};
/// Why a job that Slurm did not start at its planned start waits.
std::string explain_not_started(const Job& job, Time now);

/// The job's present run in the books of `cluster`.
inline ledger::SegmentKey run_key(const std::string& cluster, const Job& job) {
  return {cluster, job.id, job.submitted, job.restart, job.token};
}

/// Whether an open lien is of this job's bid and not of one that Slurm forgot and whose number it
/// gave again.
bool is_of_bid(const ledger::Segment& lien, const Job& job);

/// What Slurm says of the job that stays the same for all of a run.
void identify(Job& job, const market_job_t& seen);

/// The name of the job's reservation in Slurm.
std::string reservation_name(const Job& job);

/// Until when a placed job, `slack` included, has its place.
inline Time busy_until(const Job& job, Time slack) {
  const bool runs = job.phase == Phase::kRunning;
  return (runs ? job.run_end : job.terms.start + job.bid.request.duration) + slack;
}

/// Keys of bookings in the node plan.
inline std::string booking_key(const Job& job) {
  return "j" + std::to_string(job.id);
}
inline std::string booking_key(const std::string& token, std::size_t task) {
  return "p" + token + "." + std::to_string(task);
}

}  // namespace market
