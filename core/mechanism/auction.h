// SPDX-License-Identifier: GPL-2.0-or-later
// The interface of the mechanisms that hold auctions: they see whole bids, promise no start, and
// say again and again how far each bid reaches. core/mechanism/README.md tells how each answers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanism/mechanism.h"
#include "core/words/node_ask.h"

namespace market {

/// A bid that takes part: of a job that waits to start, or that runs.
struct LiveBid {
  std::uint64_t id = 0;      ///< the job's; 0: not a job yet, asked what it would get
  const Bid* bid = nullptr;  ///< never null
  Time made = 0;             ///< when the bid was made
  double budget = 0;         ///< credits it can still spend: all it may cost less what it owes now
  bool running = false;
  Time ran = 0;                      ///< seconds run so far, without suspended ones
  std::optional<double> rate{};      ///< credits per second of its last standing; none: it had none
  std::optional<double> bid_rate{};  ///< credits per second that it was named by
  bool last = false;  ///< gets what is left when all others have chosen; none pays by it
  /// By node: may it run there, kRequiredNode: it must; null: anywhere.
  const std::vector<char>* able = nullptr;
  double reach = 1;  ///< of a malleable bid: the part of its range, from the least on, that is open
  std::uint32_t waiting = 1;  ///< equal tasks that wait; more than one of an array that is one bid
  bool in_array = false;      ///< a run whose money counts in the bid of its array
};

constexpr char kRequiredNode = 2;

/// A node as the auction sees it.
struct NodeRoom {
  std::string name;
  Tres total;
  Tres free;                     ///< not held by running jobs with a bid
  std::optional<NodeAsk> ask{};  ///< its owner's; none: the site's node
};

/// The size that an auction gave to a malleable bid.
struct AwardedSize {
  std::int64_t cpus = 0, mem_mb = 0;  ///< of the whole job; 0: none
  double seconds = 0;                 ///< that its work takes with them
  bool operator==(const AwardedSize&) const = default;
};

/// Of a bid with a service level (Abacus, section 6).
struct ServiceLevel {
  bool prolific = false;      ///< it reaches its level beside all others that do
  double needs = 0, has = 0;  ///< parts of all CPUs
};

/// Parts of what there is of each TRES, 0..1, by its name.
using TresShares = std::vector<std::pair<std::string, double>>;

/// How far a bid reaches now.
struct Standing {
  double priority = 0;  ///< 0..1: what starts first
  double share = 0;     ///< 0..1: of what the auction sells, for the user to read
  std::shared_ptr<const TresShares> shares{};  ///< the same of each TRES; null: not told
  double rate = 0;                             ///< credits per second while it runs
  std::vector<std::uint32_t> nodes;            ///< indices of the nodes it was awarded, best first
  /// Credits per second of the rate that are for the owner of each of `nodes`; may be empty.
  std::vector<double> payments{};
  std::optional<AwardedSize> size{};
  std::uint32_t turn = 0, turns = 0;  ///< the how manieth of so many that wait it is; 0: not told
  std::uint32_t tokens = 0;           ///< of an array that is one bid: tasks that may start now
  std::optional<ServiceLevel> level{};
};

/// A run that ended.
struct EndedRun {
  const Bid* bid = nullptr;
  double budget = 0;   ///< credits it may cost at most
  double accrued = 0;  ///< credits: its rates times the seconds they held
  Time elapsed = 0;    ///< seconds it ran, without suspended ones
  bool completed = false;
  Time start = 0;
  Time limit = std::numeric_limits<Time>::max();  ///< seconds that it might have run in the end
};

/// A mechanism that holds auctions over the live bids. The façade accepts a bid when funds cover
/// all it may cost, calls auction() once in `auction_period`, turns priorities into Slurm's, adds
/// up rate × time, and charges what owes() says, never more than the bid allows.
class Auction : public Mechanism {
 public:
  /// Standings of all bids, in their order. The same bids in the same order give the same answer.
  virtual std::vector<Standing> auction(std::span<const LiveBid> bids,
                                        std::span<const NodeRoom> nodes, Time now) = 0;
  /// A bid of the last auction is no longer one that waits: its job has started. Which draw let it, for
  /// bills: "draw abacus/main/1000/17", the stream and counter of core/util/draws.h; "" where none did.
  virtual std::string started(std::uint64_t /*job*/) { return {}; }
  /// Takes over what the one before it, whose place it takes, remembers of users; of another kind: nothing.
  virtual void succeed(Auction& /*before*/) {}
  /// Credits that a run owes in the end.
  virtual double owes(const EndedRun& run) const { return run.accrued; }
  /// Whether owes() of a run that completed is its whole budget, whatever it accrued.
  virtual bool completion_owes_all() const { return false; }
  /// Whether a bid is its budget divided by its time limit, so that a run pays a rate for each
  /// second.
  virtual bool bids_rates() const { return false; }
  /// Whether a bid may say what its job gains from shares (--utility).
  virtual bool takes_utilities() const { return false; }
  /// Whether an array can be one bid, of which standings tell how many tasks may start (--array-budget).
  virtual bool draws_tasks() const { return false; }
  /// Whether a deadline is a service level: a run that misses it owes nothing.
  virtual bool sells_levels() const { return false; }
  /// False: runs cost nothing, bids need no funds.
  virtual bool priced() const { return true; }
  /// False: `nodes` is empty, which saves looking at them.
  virtual bool wants_nodes() const { return false; }
};

/// The seconds that a bid's job may still run, at least one.
inline double seconds_left(const LiveBid& bid) {
  const Time left = bid.bid->request.duration - bid.ran;
  return static_cast<double>(left < 1 ? 1 : left);
}

/// Amount of a TRES that is asked for or there; 0 when it is not named.
inline double amount_of(const Tres& tres, std::string_view name) {
  const auto found = tres.find(name);
  return found == tres.end() ? 0.0 : static_cast<double>(found->second);
}

}  // namespace market
