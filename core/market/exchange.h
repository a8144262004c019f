// SPDX-License-Identifier: GPL-2.0-or-later
// One market of the cluster: some partitions, one rule, its own prices. Cluster, plan, accounts and
// jobs are one for all exchanges; an exchange refers to them and owns none. A job keeps the terms it
// has, so that an exchange also sees jobs of rules of the past.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/market/array_block.h"
#include "core/market/menus.h"
#include "core/market/offer.h"
#include "core/market/sale.h"
#include "core/mechanism/auction.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

/// Credits as money, none below zero or where they are not finite.
inline Money money_of(double credits) {
  return Money::from_credits(std::max(0.0, credits)).value_or(Money());
}

/// What a budget would get in an auction now.
struct AuctionQuote {
  std::size_t live = 0;  ///< bids that stand in it
  Money budget;          ///< the mean of theirs, else what the lowest price asks
  std::optional<Standing> standing;
};

inline constexpr std::string_view kNoRates =
    "--budget-rate: only where runs are charged by a rate (dva, tycoon); give --budget=CREDITS";

struct AuctionFigures {
  double spent_rate = 0;        ///< credits per second that its runs spend
  std::optional<double> level;  ///< credits for a billing unit and hour, on average over the bids
                                ///< that stand; none when none has a rate
};

class PotExchange;

class Exchange {
 public:
  Exchange(Site& site, MarketSettings of) : settings(std::move(of)), site_(site) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const MarketSettings settings;
  std::string refusal;  ///< why bids are refused now; empty: they are not
  bool capacity_due = true;
  Time capacity_at = 0;
  Capacity stock;                                ///< what it has for sale, as last told to the rule
  std::set<std::string, std::less<>> sold_tres;  ///< names of the TRES for sale

  virtual std::string_view rule() const = 0;
  /// Whether accepted bids have a price, a start and a completion.
  virtual bool promises() const = 0;
  /// Whether runs cost anything.
  virtual bool is_priced() const { return true; }
  virtual void update(const Capacity& capacity, Time now) = 0;
  /// Does without the lock what would else be done at the first question under it.
  virtual void prepare() {}

  // ---- what is sold
  SalesJournal journal;
  void promise(const Request& request, Time start);
  void release(const Request& request, Time start, Time from);
  /// As promise() and release(), of all these tasks, each at the start of its wave.
  void promise_tasks(const Request& request, const BlockTasks& tasks);
  void release_tasks(const Request& request, const BlockTasks& tasks, Time from);
  /// What was promised with these terms is not sold after all.
  void release_terms(const Request& request, const Terms& terms);
  /// Starts that were priced so far: a measure of work.
  virtual std::uint64_t priced() const { return 0; }

  /// Whether nothing starts without nodes that the auction awarded to it.
  virtual bool awards_nodes() const { return false; }
  /// Takes over what the exchange whose place it takes remembers of users.
  virtual void succeed(Exchange& /*before*/) {}

  // ---- offers
  /// What the rule asks, times the rate of the partition and the factor of the QOS.
  virtual PriceList price_list(const Request&, Time /*now*/) const { return {}; }
  /// The classes of jobs that its prices are made for, where there are such.
  virtual std::vector<LearnedClass> learned_classes() const { return {}; }
  /// What multiplies the prices of a QOS; 1 in an auction.
  virtual double qos_factor(std::string_view /*qos*/) const { return 1; }
  /// The best start for sale that also has a place.
  virtual Found find(const Request&, const Wish&, Time /*now*/) const { return {}; }
  /// Nothing where prices are posted.
  virtual std::optional<AuctionQuote> auction_quote(const Bid&, Time /*now*/) {
    return std::nullopt;
  }
  /// Billing units of what a job asks for.
  double billing_of(const Tres& tres) const;
  /// All that a bid can ever cost, which is what funds must cover.
  Money most_it_costs(const Bid& bid) const;
  /// Credits that a completion at `end` owes at most.
  double worth_at(const Bid& bid, Time bid_made, Time end) const;
  /// Whether the bid buys nothing here, since it owes nothing at the end of its time limit.
  virtual bool is_worthless(const Bid&, Time /*bid_made*/, Time /*now*/) const { return false; }

  // ---- submissions
  /// Places for the tasks of a draft, until one has none; they are booked where places are sold. With
  /// a row of a menu: at the row's price, its start or the latest before that.
  virtual Group place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now) = 0;
  void take_back(Group& group, const Request& request, const std::string& token);
  /// The whole draft placed and taken back; nothing when it would be refused. So an alternative
  /// that is offered is one that passes.
  virtual std::optional<Trial> try_out(const Draft&, const Wish&, Time /*now*/) {
    return std::nullopt;
  }
  /// Whether a bid may be named by what it gives an hour, since runs are charged by their time.
  virtual bool takes_rates() const { return false; }
  /// Whether a bid may say what its job gains from shares (--utility).
  virtual bool takes_utilities() const { return false; }
  /// Whether an array of many tasks is sold as one place, a block.
  virtual bool sells_blocks() const { return false; }
  /// Whether an array can be one bid (--array-budget).
  virtual bool draws_tasks() const { return false; }
  /// Whether a deadline is a service level: a run that misses it owes nothing.
  virtual bool sells_levels() const { return false; }
  /// Whether the market holds such a bid until an auction lets it start.
  bool holds_until_turn(const Bid& bid) const {
    return awards_nodes() || (draws_tasks() && bid.array_tasks > 0);
  }
  /// What the user of an accepted bid is told, if not what is told of a promise; `what` goes before.
  virtual std::optional<std::string> acceptance(const Bid&, const std::string& /*what*/,
                                                Time /*now*/) {
    return std::nullopt;
  }

  /// Itself where users have pots, else null.
  virtual PotExchange* with_pots() { return nullptr; }
  /// What a job is told that waits or runs here, if not what is told of every bid.
  virtual std::optional<std::string> words_on(const Job&, Time /*now*/,
                                              std::string& /*code*/) const {
    return std::nullopt;
  }

  // ---- jobs
  /// The job buys for its request anew; at `keep_start` where that can be had, 0: at the best
  /// start. False: it waits now.
  virtual bool buy_again(Job& job, Time keep_start, Time now) = 0;
  /// Why the bid could not be changed to `bid`; nothing when it can.
  virtual std::optional<std::string> refusal_of_change(const Job& job, const Bid& bid,
                                                       Time now) const = 0;
  /// A new worth for a bid in an auction that stands or runs; why not, or nothing.
  virtual std::optional<std::string> rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                                Time now);
  /// What is to be done once a pass.
  virtual void work(Time /*now*/) {}
  /// The runs changed, or the nodes too.
  virtual void forget_rooms(bool /*nodes_too*/) {}
  /// A task of an array that is one bid has started; which draw let it, as Auction::started().
  virtual std::string task_started(std::uint32_t /*array*/) { return {}; }
  /// Others pay by this bid no longer.
  virtual void withdraw() {}
  /// A run that the auction saw nowhere gets the rate that a bid like it would have now.
  virtual void rate_unseen(Job&, const market_job_t& /*ended*/, Time /*now*/) {}
  /// The rate of a run becomes what owners ask, where it is not what they won.
  virtual void meet_asks(Job&, const Placement&, Time /*limit_end*/) {}
  /// What a run in an auction owes; here: of a rule that is in force no more.
  virtual Money owed(const Job& job, const market_job_t& ended, const Bill& bill) const;
  /// What an auction's bids pay now.
  virtual AuctionFigures figures() const { return {}; }
  /// Whether a run that completes owes all that it may cost, whatever its rate was.
  virtual bool completion_owes_all() const { return false; }

  /// Place and promise go together, and come back together.
  void place(Job& job, Choice choice);
  /// The place of an array's record from its planned start on, which may lie behind, until `until`.
  void place_block(Job& job, Placement placement, Time until);
  void unplace(Job& job, Time from);
  void unreserve(Job& job);
  /// The job waits: no place, no lien.
  void hold(Job& job, Cause cause, Money needed, Time now);

 protected:
  /// What the rule is told of a promise, and of one that is taken back from `from` on.
  virtual void sell(const Request&, Time /*start*/) {}
  virtual void take_from(const Request&, Time /*start*/, Time /*from*/) {}

  /// What a run has used of its rates, credits, and the most it may owe.
  struct Owed {
    Money most;
    double accrued = 0;
  };
  Owed owed_so_far(const Job& job, const market_job_t& ended, const Bill& bill) const;

  Site& site_;
};

/// Credits for an hour that `ask` comes to in the exchange for what is held of a node.
double asked_for(const Exchange& exchange, const Tres& held, const NodeAsk& ask);

/// Whether the bid covers the price; `slack`: the exchange's start_slack.
bool is_affordable(const Bid& bid, Time bid_made, const Choice& choice, Time slack);

/// What multiplies posted prices for this request, for people, "QOS high × 2"; "" where nothing does.
std::string markup_of(const Exchange& exchange, const Request& request);

/// What a bill and `why` tell of how the price came about that was asked at `priced`: what multiplied
/// it, and where it rests on a draw that draw's stream and counter, "draw contracts/gpu/urgent/500000", of
/// the market, class and epoch (core/util/draws.h). Who may read the seed can draw it again.
std::string record_of(const Exchange& exchange, const Request& request, Time priced);

/// The exchange of a mechanism that the settings name; fails when there is none.
Result<std::unique_ptr<Exchange>> make_exchange(Site& site, const MarketSettings& settings,
                                                const Capacity& capacity,
                                                const std::vector<PastBid>& lessons,
                                                Time learned_until, Time now);

}  // namespace market
