// SPDX-License-Identifier: GPL-2.0-or-later
// A price and a place that somebody keeps for a while, with a lien, before he submits; or several, of
// the bids of a list (lists.h). They are kept in memory only, as acceptances are that no job came of
// yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/market/menus.h"
#include "core/plan/node_plan.h"

namespace market {

struct Site;

struct HeldQuote {
  std::string id;
  std::uint32_t uid = 0;
  std::string account;
  std::string rule;  ///< that made the price
  Request request;
  Contract contract;  ///< its start and price
  Placement placement;
  Time made = 0, good_until = 0;
  bool has_place = true;
  std::string used_by{};  ///< token of the acceptance that is not a job yet
  std::size_t row = 0;    ///< in its list, from 1; 0: of no list
  std::optional<ListPart> list{};
  std::optional<Reserved> reserved{};
};

/// One bid of a list as it is wanted.
struct WantedPart {
  std::string account;
  Request request;
  std::size_t after = 0;  ///< starts when this one is done, from 1; 0: whenever
};

/// What a list is to be.
struct WantedList {
  std::vector<WantedPart> parts;
  Money budget;                        ///< for all of them together
  std::optional<Reserved> reserved{};  ///< its one bid is for a place to run in
};

/// Books the place and sets the price aside, or gives both back.
void keep_place(Site& site, HeldQuote& quote);
void let_place_go(Site& site, HeldQuote& quote);

class HeldQuotes {
 public:
  explicit HeldQuotes(Site& site) : site_(site) {}

  /// The cheapest start of the request is kept for the user, who has no other one. Fails when it
  /// cannot be had, the account cannot pay it, or the user's last one lapsed less than an hour ago.
  Result<HeldQuote> hold(std::uint32_t uid, const std::string& account, const Request& request,
                         Time now);
  /// Places for all bids of the list, each at its cheapest start after those before it have theirs,
  /// or for none: their prices in sum are compared with the budget once. Fails with what is missing.
  Result<std::vector<HeldQuote>> hold_list(std::uint32_t uid, const WantedList& wanted, Time now);
  /// Gives back what is held of the user's list of that id; its name, or nothing when there is none.
  std::optional<std::string> drop_list(std::uint32_t uid, const std::string& id, Time now);
  /// Whether the name is of a quote or a list, and not of a menu.
  bool knows(const RowName& name, std::uint32_t uid) const;
  /// The price and start for a bid of that request, payer and user; fails when there is none, or it
  /// is not for them.
  Result<TakenRow> find(const RowName& name, const Bid& bid, Time now) const;
  /// Its place and lien are free, for the bid that takes them.
  void let_go(std::uint32_t uid, std::size_t row);
  /// That bid was refused, or became no job: they are kept on.
  void take_again(std::uint32_t uid, std::size_t row, Time now);
  /// The job that took the user's quote was taken back for nothing: as if the quote had lapsed.
  void lapse(std::uint32_t uid, Time now) { lapsed_[uid] = now; }
  bool in_use(std::uint32_t uid, std::size_t row) const;
  void use(std::uint32_t uid, std::size_t row, const std::string& token);
  /// The acceptance became a job: the quote goes.
  void used(std::uint32_t uid, const std::string& token);
  /// The acceptance became no job.
  void give_back(std::uint32_t uid, const std::string& token, Time now);
  /// Those that are good no more go.
  void expire(Time now);
  /// A list of the user's kept its places from `since` until `until`, and became no jobs: counts
  /// against the next ones.
  void waste(std::uint32_t uid, Time since, Time until);
  using Key = std::pair<std::uint32_t, std::size_t>;  // uid and row
  const std::map<Key, HeldQuote>& all() const { return held_; }

 private:
  struct Wasted {  // seconds for which a user's lists kept places for nothing
    Time since = 0, until = 0, seconds = 0;
  };
  using Held = std::map<Key, HeldQuote>;
  Held::iterator used_by(std::uint32_t uid, const std::string& token);
  std::optional<std::string> refusal_of_list(std::uint32_t uid, Time now) const;

  Site& site_;
  Held held_;
  std::map<std::uint32_t, Time> lapsed_;    // when the last quote of a user did
  std::map<std::uint32_t, Wasted> wasted_;  // by uid
};

}  // namespace market
