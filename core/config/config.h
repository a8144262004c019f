// SPDX-License-Identifier: GPL-2.0-or-later
// market.conf: one validated struct. etc/market.conf.example explains every key.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"
#include "core/words/bid.h"
#include "core/words/money.h"

namespace market {

/// How a job's end turns into money.
enum class EndRule {
  kCharge,  ///< the charge of `charge_basis`
  kFree,    ///< nothing; the whole lien returns
  kRefund,  ///< charged and refunded at once, both visible in the bill
};

/// What a run at a posted price owes when its owner ends it early, gives its place back or loses it.
enum class ChargeBasis {
  kResale,    ///< what it used, and of the rest above the floor what nobody buys again
  kReserved,  ///< all of it
  kUsed,      ///< what it used
};
enum class BillingRule { kSum, kMaxTres };
enum class OnError { kUnbilled, kRefuse };
enum class NoFunds { kRefuse, kWait };
enum class ArrayFunding { kWhole, kPerTask };
enum class ContractFloor { kSite, kNone };
enum class UnbidJobs { kBestEffort, kRefuse };
enum class Quiet { kNone, kAccepted };
/// kObserve: the market says what it would do, and does nothing.
enum class MarketMode { kActive, kObserve };

/// dva: what to do when the real payment would exceed the budget (eq. 12 of the paper).
enum class OverBudget {
  kCap,   ///< pay the budget
  kSkip,  ///< try the next candidate
};

struct TresWeight {
  std::string tres;   ///< "cpu", "mem" (weight per GB), "node", "gres/gpu", "gres/gpu:a100"
  double weight = 0;  ///< billing units per CPU, GB, node, gres
};

/// An amount of a TRES as Slurm counts it (memory: MB), or of a virtual resource "virtual/NAME".
struct ResourceAmount {
  std::string tres;
  double amount = 0;
};

/// One resource configuration (ERA, section 2.2): who asks for the formal bundle needs the actual
/// one.
struct ResourceConfiguration {
  std::string name;
  std::vector<ResourceAmount> formal, actual;
};

/// Whose a node is that is not the site's.
struct NodeOwner {
  std::string account;  ///< gets what the node earns in dva
  double ask = 0;       ///< credits per billing-hour, until it asks another price (smarket ask)
};

/// Between which prices owners of nodes may ask, credits per billing-hour, and how often.
struct AskBounds {
  double least = 0;
  double most = 1e6;
  Time every = 0;  ///< seconds between two prices of one node
};

struct Ends {
  /// Completed, failed, out of time or memory, cancelled or requeued by its user, preempted by a
  /// job of its own. One rule, since a user may choose among these.
  EndRule own = EndRule::kCharge;
  /// Not set: as `own` where prices are posted and the rest is for resale, else free.
  std::optional<EndRule> cancelled_before_start;
  EndRule cancelled_by_operator = EndRule::kFree;  ///< before the start or while running
  EndRule node_fail = EndRule::kFree;
  EndRule boot_fail = EndRule::kFree;
  EndRule preempted = EndRule::kFree;  ///< by somebody else's job
  EndRule deadline = EndRule::kFree;   ///< Slurm dropped it at its deadline before it ran
  EndRule late =
      EndRule::kRefund;  ///< ended after the promised completion through no fault of the job
};

/// A class of jobs whose valuations have one shape ("BIC pricing by replica-surrogate matching",
/// section III-B).
struct ContractClass {
  std::string name;
  std::string shape = "hard_deadline";  ///< a name of valuation/job_class.h
  double value = 0;             ///< recurrent: credits that a billing-hour of its jobs is worth
  double seconds_per_work = 0;  ///< recurrent: of the deadline, for each unit of work
  std::string unit{};           ///< recurrent: of work, for people
  /// That may use it, account and QOS in small letters; empty: all.
  std::vector<std::string> accounts{}, partitions{}, qos{};

  bool is_open_to(std::string_view account, std::string_view partition,
                  std::string_view with_qos) const;
  bool is_recurrent() const { return shape == "recurrent"; }
};

/// What the mechanism abacus draws, and what a run owes.
enum class AbacusOrder : unsigned char {
  kLottery,  ///< who starts next is drawn with the shares as odds
  kShare,    ///< by how much of what it asks for a bid's share buys
};
enum class AbacusWeight : unsigned char {
  kTime,   ///< a start takes its time limit of a share, and owes what it used of that
  kStart,  ///< the paper's: every start takes the same, and owes the whole budget
};
/// What a bid's utility is that names none (Abacus, section 3).
enum class AbacusUtility : unsigned char {
  kDemandLog,  ///< log, weighted by the part of the cluster that it asks for
  kDemand,     ///< linear, weighted so
  kEqual,      ///< log, every resource that it asks for weighs the same
};

/// Whether a deadline is a service level (Abacus, section 6).
enum class AbacusLevels : unsigned char { kNone, kDeadline };

/// Of the mechanism abacus.
struct Abacus {
  AbacusOrder order = AbacusOrder::kLottery;
  double alpha = 0.5;  ///< exponent of equation (1), 0..1
  AbacusWeight weight = AbacusWeight::kTime;
  AbacusUtility utility = AbacusUtility::kDemandLog;
  double draw_ahead = 0.05;  ///< of the cluster: for so much lots are drawn before it is free
  AbacusLevels levels = AbacusLevels::kNone;
  Time history = Time{90} * 86400;  ///< seconds for which a run counts for the utility of its name
  double max_rss = 0.1;             ///< part of the squares that a learned utility may leave
};

/// Of the mechanism tycoon.
enum class TycoonAccounts : unsigned char {
  kJob,   ///< every bid is an account, its interval the time limit
  kUser,  ///< users have pots at hosts, which their jobs without a bid are charged to
};
/// How shares are kept up among jobs that run for long.
enum class TycoonEnforce : unsigned char {
  kStart,    ///< by who starts next alone; what a run pays never falls
  kSuspend,  ///< the newest run of who holds too much is suspended
  kRequeue,  ///< it goes back into the queue
};
struct Tycoon {
  TycoonAccounts accounts = TycoonAccounts::kJob;
  Time interval = Time{7} * 86400;  ///< over which a pot is spent whose user names no other
  TycoonEnforce enforce = TycoonEnforce::kStart;
  double fund_max = 0.1;  ///< part of an account that one user may have in his pots
  Time min_run = 300;     ///< seconds for which no run is stopped
  double slack = 0.1;     ///< part of a share by which it may be missed
  bool has_pots() const { return accounts == TycoonAccounts::kUser; }
};

/// Of the mechanism contracts.
struct Contracts {
  ContractFloor floor = ContractFloor::kSite;  ///< whether contracts keep to floor_price
  std::uint32_t pairs = 100;                   ///< replicas and surrogates of a menu
  std::uint32_t rows = 8;                      ///< shown of a menu
  Time epoch = 3600;                           ///< seconds for which a draw holds
  std::uint32_t minimum = 50;  ///< bids from which types are learned; with fewer, types are made up
  std::vector<ContractClass> classes{};  ///< each bid is of one; empty: all bids are of one kind
};

/// One market: some partitions, one rule, its own prices and plans.
struct MarketSettings {
  std::string name = "market";
  std::vector<std::string> partitions;  ///< that trade; empty: all
  std::string mechanism = "era";
  MarketMode mode = MarketMode::kActive;
  std::string currency = "credits";  ///< of all markets
  std::string seed;  ///< of all draws; empty: the one that the ledger keeps. Never shown
  UnbidJobs unbid = UnbidJobs::kBestEffort;
  NoFunds no_funds = NoFunds::kRefuse;
  ArrayFunding arrays = ArrayFunding::kWhole;
  std::uint32_t max_array_tasks = 10'000;

  ChargeBasis charge_basis = ChargeBasis::kResale;
  Time cancel_grace = 300;  ///< seconds after the acceptance in which only what ran is owed
  Ends ends;

  BillingRule billing_rule = BillingRule::kSum;
  std::vector<TresWeight> weights = {{"cpu", 1.0}};
  double floor_price = 0.1;  ///< credits per billing-hour
  double cap_price = 1.0;
  double fixed_price = 0.1;  ///< first_fit, on_demand
  Contracts contracts;
  Abacus abacus;
  Tycoon tycoon;
  double late_penalty =
      0;  ///< era: a start d hours from now costs e^(late_penalty·d) times as much

  /// What multiplies posted prices, by partition; of those that are missing: 1.
  std::map<std::string, double, std::less<>> rates;
  double rate_of(std::string_view partition) const;

  /// What multiplies posted prices, by QOS in small letters; of those that are missing: 1.
  std::map<std::string, double, std::less<>> qos;
  double qos_factor(std::string_view wanted) const;

  /// The classes of which each bid here has one; none where the mechanism makes no menus of types.
  const std::vector<ContractClass>& job_classes() const;
  /// Null where there is none of that name.
  const ContractClass* job_class(std::string_view wanted) const;

  std::map<std::string, NodeOwner, std::less<>> owners;  ///< by node; those of the site are missing
  AskBounds asks;                                        ///< dva
  OverBudget over_budget = OverBudget::kCap;             ///< dva

  std::vector<ResourceConfiguration> configurations;
  std::vector<ResourceAmount> virtual_resources;  ///< how much there is of each

  Time slot = 60;  ///< grid of planned starts, seconds
  Time horizon = Time{7} * 86400;
  Time start_slack = 60;          ///< planned time beyond the time limit, for start-up and clean-up
  Time reservation_lead = 86400;  ///< real reservations are made this long ahead
  double spare = 0;               ///< part of each TRES that posted prices never sell
  Time auction_period = 10;       ///< seconds between two auctions over the live bids
  Time quote_hold = 600;          ///< seconds for which a menu's prices hold
  std::uint32_t priority = 1000000;  ///< site_factor of an accepted job

  std::string predictor = "spread";
  Time predictor_history = Time{28} * 86400;
  Time predictor_cycle = Time{7} * 86400;

  /// Whether AdminComment tells what an ended run cost; not set: unless its rule is an auction.
  std::optional<bool> bill_in_admin_comment;

  /// Weight for a TRES name as it appears in Tres; "gres/gpu:a100" falls back to "gres/gpu",
  /// unknown names weigh 0.
  double weight_of(std::string_view tres) const;
  /// What a bid at a posted price owes when its user takes it back before its start.
  EndRule taken_back() const {
    const bool is_resold = charge_basis == ChargeBasis::kResale;
    return ends.cancelled_before_start.value_or(is_resold ? ends.own : EndRule::kFree);
  }
  bool observes() const { return mode == MarketMode::kObserve; }
  /// Whether bids in this partition are the market's.
  bool trades(std::string_view partition) const;
};

constexpr std::size_t kKeyBytes = 32;
using KeyBytes = std::array<unsigned char, kKeyBytes>;

/// Receipts between clusters (Tycoon, section 3.2).
struct Bank {
  std::string key_file;          ///< of the secret seed of this cluster's key; empty: none
  std::optional<KeyBytes> seed;  ///< what it holds: load_config() leaves that out
  std::string fault;             ///< why it could not be read
  /// Clusters that credits may be sent to, in small letters; receipts are taken of those with a
  /// public key.
  std::map<std::string, std::optional<KeyBytes>, std::less<>> trusts;
};

/// A whole file. What it holds of MarketSettings itself are the defaults of its markets.
struct Config : MarketSettings {
  std::string file;      ///< where it was read from
  std::string database;  ///< path of the ledger
  OnError on_error = OnError::kRefuse;
  bool bids_in_comment = false;  ///< whether --comment may hold a bid (words/comment_bid.h)
  Quiet quiet = Quiet::kNone;    ///< kAccepted: users are not told that a bid was accepted
  Time refund_window = Time{14} * 86400;
  std::uint32_t interval_ms = 1000;      ///< between two passes of the market's thread
  std::uint32_t max_reservations = 200;  ///< of jobs that wait, at a time: those of the next starts
  std::string jobcomp;                   ///< the site's own jobcomp plugin; empty: none
  std::vector<MarketSettings> markets;   ///< empty: the defaults are the one market
  Bank bank;

  /// The markets, at least one.
  std::vector<MarketSettings> all_markets() const;
  /// Those that only observe.
  std::vector<MarketSettings> observing() const;
  /// Whether all do.
  bool only_observes() const { return observing().size() == all_markets().size(); }
};

/// Reads and validates a file with libconfig. Money, prices, weights are quoted decimal strings and
/// durations Slurm's duration strings (libconfig wraps large integers silently, so bare numbers are
/// refused where a string is meant). Fails with "FILE:LINE: KEY: VALUE: what is allowed"; unknown
/// keys are failures. The file is never half applied. `mechanisms` are the names that there are
/// (mechanism_names()).
Result<Config> load_config(const std::string& path, const std::vector<std::string>& mechanisms);

/// The seed in the file of `bank.key`, which must be its owner's alone.
Result<KeyBytes> read_key_file(const std::string& path, uid_t owner);

}  // namespace market
