// SPDX-License-Identifier: GPL-2.0-or-later
// What all rooms of the market share: cluster, money, jobs and orders are one for all markets.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/market/accounts.h"
#include "core/market/array_bids.h"
#include "core/market/asks.h"
#include "core/market/cluster.h"
#include "core/market/exchange.h"
#include "core/market/held_quotes.h"
#include "core/market/jobs.h"
#include "core/market/lessons.h"
#include "core/market/note.h"
#include "core/market/orders.h"
#include "core/market/pots.h"
#include "core/market/requests.h"
#include "core/market/resale.h"
#include "core/market/slips.h"
#include "core/market/utilities.h"
#include "core/market/would_starts.h"
#include "core/util/log.h"

namespace market {

/// What is wrong with what the market stands on, for people.
struct Health {
  std::string config_error, ledger_error;  ///< as said in the log
  Time config_read = 0;
  int failed_rounds = 0;    ///< of the books one after another, up to now; 2: or more
  Time ledger_gone_at = 0;  ///< its file was deleted, moved or replaced while it was open
};

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

/// What a market does with what it decides.
enum class Role {
  kActs,      ///< it has it done
  kObserves,  ///< nothing: Slurm does as without it, no credit moves, and its books tell what it
              ///< would have done
};

struct Site {
  Site(std::string cluster_name, Log log, std::function<void()> wake_books, Role role);
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const std::string cluster_name;
  const Log log;
  const bool observes;
  Config config;
  bool has_config = false, books_usable = false;
  Health health;
  Cluster cluster;
  Accounts accounts;
  Asks asks;
  Pots pots{cluster_name};
  /// Accounts that joined with nodes and earn by them, by node.
  std::map<std::string, std::string> joined;
  Requests requests;  ///< of asks, pots and receipts
  JobBook jobs;
  Orders orders;
  /// As market.conf lists them; before it was read one of the defaults, which sells nothing.
  Exchanges exchanges;
  std::uint64_t pass_number = 0;
  Time last_pass = 0;
  double last_pass_ms = 0;
  std::size_t stocked_markets = 0;  ///< that have nodes
  bool in_pass = false;
  Lessons lessons{*this};
  Resales resales{*this};
  Slips slips{*this};
  HeldQuotes held_quotes{*this};
  ArrayBids arrays{*this};
  Menus menus;
  Utilities utilities;
  WouldStarts would_starts;  ///< of a market that observes

  /// Before the first pass nobody knows what runs and what was promised before a restart.
  bool ready() const { return has_config && books_usable && cluster.is_known() && pass_number > 0; }
  /// Settings, books and nodes have been read: what was agreed before a start can be told from its notes.
  bool may_decide() const { return has_config && accounts.liens_read() && cluster.is_known(); }
  /// Not ready, and nothing has failed: it will be in a moment.
  bool is_starting() const {
    return !ready() && health.config_error.empty() && health.ledger_error.empty();
  }
  /// One round of the books failed after a good one: the next one opens them anew.
  bool is_recovering() const {
    return cluster.is_known() && pass_number > 0 && accounts.liens_read() &&
           health.failed_rounds == 1;
  }
  bool refuses_unbid(std::string_view partitions) const;
  std::string rules_text() const;
  void set_lien(Job& job, Money amount);
  /// Whether a market takes bids in the partition.
  bool trades(std::string_view partition) const;
  /// Whether what happens there is for a market of the other role, which observes.
  bool only_observed(std::string_view partition) const {
    return !observes && trades(partition) && exchange_of(partition).settings.observes();
  }
  /// The market of a partition; the first one for a partition that is in none any more.
  Exchange& exchange_of(std::string_view partition) const;
  Exchange& exchange_of(const Request& request) const { return exchange_of(request.partition); }
  Exchange& exchange_of(const Job& job) const { return exchange_of(job.agreed.bid.request); }
  /// Whether a text is a note of this market, not one of a market of the other role. Cheap.
  bool has_note(std::string_view text) const {
    return is_note(text) && is_observed_note(text) == observes;
  }
  /// Nothing when it is none, or is damaged.
  std::optional<Note> note_in(std::string_view text) const {
    return has_note(text) ? read_note(text) : std::nullopt;
  }
  void forget_rooms();
  Result<Demand> demand_for(const SizeOptions& size, const std::string& partition) const;
  double billing_of(const Request& request) const {
    return exchange_of(request).billing_of(request.demand.tres);
  }
  /// What each market has for sale, told to its rule when it changed or time went on.
  void update_capacity(Time now);
  /// The starts at which the job would be one task too many of its array.
  StartSpans closed_by_sisters(const Job& job) const;
  /// The earliest start in [from, until] with a place, at no price. `ignore`: key of a booking that
  /// counts as free.
  std::optional<Choice> earliest_place(const Request& request, Time from, Time until,
                                       const std::string& ignore,
                                       const StartSpans* closed = nullptr) const;
  /// The same for what the job waits for; of an array's record a place for all of its tasks that wait.
  std::optional<Choice> earliest_place(const Job& job, Time from, Time until,
                                       const StartSpans* closed = nullptr) const;
  /// When the window of a request ends as a mechanism sees it: start_slack before the deadline, so
  /// that start-up and clean-up are in time too, and not beyond the horizon.
  Time window_end(const Request& request, Time deadline, Time now) const;
  /// Which settings are in force, for a line of the log.
  std::string settings_in_force(Time now) const;

 private:
  void find_shared_nodes();
  void take_stock();
};

}  // namespace market
