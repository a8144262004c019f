// SPDX-License-Identifier: GPL-2.0-or-later
// What is bought and not used: a rest. Its owner owes of it what was paid above the floor, less what
// later posted sales bring in for the same hours of the same market, and has that much set aside
// until those hours are over. The books keep it (ledger::Rest), so it outlives its job and a crash.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/market/state.h"

namespace market {

struct Site;

/// A purchase as rests see it.
struct Purchase {
  std::string name;    ///< "" of one that is only thought of
  std::string market;  ///< where it was made
  Time start = 0, end = 0, bought = 0;
  double billing = 0;  ///< billing units
  double above = 0;    ///< credits above the floor for a billing unit and second
};

class Resales {
 public:
  explicit Resales(Site& site) : site_(site) {}

  /// What the job would owe of its place, and from when to when, if its owner gave it back at `now`;
  /// nothing where that is free: within cancel_grace, at the floor, where the cluster does not keep
  /// its promise, and where market.conf wants it so.
  std::optional<ledger::Rest> place_of(const Job& job, Time now) const;
  /// As place_of(), of the last `tasks` that a block was sold to.
  std::optional<ledger::Rest> tasks_of(const Job& job, std::uint32_t tasks, Time now) const;
  /// The last `unused` seconds of a run that its owner ended at `end`; `price`: of all of it.
  std::optional<ledger::Rest> end_of(const Job& job, Money price, Time unused, Time end) const;
  /// The last `unused` seconds of a place to run in, given back at `end`: from its start on all of it
  /// is owed, the floor too and at once, but for what failed nodes keep from use.
  ledger::Rest place_left(const Job& job, Money price, Time unused, Time end) const;
  /// A rest of which a crash left the amount and its end alone.
  ledger::Rest recalled(const Job& job, Money owed, Time from, Time until) const;
  /// What `request` costs above the floor at `price`, of it the part for `seconds`; `price` is for so many of them.
  Money above_floor(const Request& request, Money price, Time seconds,
                    std::uint32_t tasks = 1) const;
  /// What the rest would still owe after such a purchase.
  Money left_after(const ledger::Rest& rest, const Purchase& purchase) const;
  Purchase purchase_of(const Job& job) const;
  /// A purchase at this place and price that somebody thinks of.
  Purchase purchase_of(const Request& request, Time start, Money price, Time now) const;

  /// The rest waits from now on. With `own` its owner bought another place in the same step, which
  /// is counted at once.
  void offer(ledger::Rest rest, Job* own, Time now);
  /// What this purchase brings others.
  void count(Job& job, const Purchase& purchase);
  /// Once a pass: purchases that can no more be taken back for nothing count, and rests whose time
  /// is over are charged.
  void work(Time now);
  /// What the books have; rests that were decided since stay.
  void install(ledger::OpenRests open, const std::set<std::string>& decided);
  /// Forgets those of markets that trade no more.
  void forget_untraded();
  const std::vector<ledger::Rest>& waiting() const { return rests_; }

 private:
  std::vector<ledger::CountSale::Part> shares_of(const Purchase& purchase) const;
  void reduce(const ledger::CountSale::Part& part);
  void count_due(Time now);
  bool is_young(const Job& job, Time now) const;
  bool is_owed(const Job& job, Time now) const;
  std::vector<Purchase> young(Time now) const;
  void charge(ledger::Rest rest);
  ledger::Rest rest_of(const Job& job, Time from, Time until, Money owed, Time made) const;

  Site& site_;
  std::vector<ledger::Rest> rests_;  // in the order in which they were made
  std::set<std::string> counted_;    // purchases that the books had counted at the start
};

}  // namespace market
