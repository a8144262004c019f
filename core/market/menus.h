// SPDX-License-Identifier: GPL-2.0-or-later
// Menus of (completion, price) that users were shown: each holds its prices for a while, for who
// asked and for what was asked, and is used once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/job.h"
#include "core/valuation/ex_post.h"
#include "core/words/bid.h"

namespace market {

/// A completion and its price.
struct Contract {
  Time start = 0;       ///< the latest with which it is kept
  Time completion = 0;  ///< start, time limit and start_slack
  Money price;
  std::optional<ExPost> ex_post{};  ///< what a run that starts late owes of the price
  Time priced = 0;                  ///< when the price was made
};

struct HeldMenu {
  std::string id;
  std::uint32_t uid = 0;
  std::string account;
  std::string rule;  ///< that made the prices
  Request request;
  Time good_until = 0;
  std::vector<Contract> rows;  ///< completions rise, prices fall
  std::string used_by{};       ///< token of the acceptance that is not a job yet
};

/// "7f3a:3" or "7f3a:3,later": a row of a menu, and whether a later completion is welcome where that
/// row's cannot be had any more. "9c1e": a held quote (held_quotes.h).
struct RowName {
  std::string menu;     ///< or the quote
  std::size_t row = 0;  ///< from 1; 0: of a held quote
  bool later = false;
};
Result<RowName> parse_row_name(std::string_view text);
/// A short id made of `token`, which no other acceptance has.
std::string short_id(std::string_view token);
/// Why what was quoted for `sold` and `account` is not for this bid; nothing when it is. `what` names
/// the quote.
std::optional<std::string> other_than_quoted(const std::string& what, const Request& sold,
                                             const std::string& account, const Bid& bid);

/// What a submission takes of a menu.
struct TakenRow {
  RowName name;
  Contract contract;
  std::string job_class{};  ///< that the menu was made for
  bool is_held = false;     ///< of a held quote or list: the place is kept too
  std::optional<ListPart> list{};
  std::optional<Reserved> reserved{};
};

/// "row 3 of menu 7f3a", "quote 9c1e", or "job 2 of list 9c1e".
std::string words_for(const TakenRow& row);

/// The menus that are good. A user has one: the next one takes its place. They are kept in memory
/// only.
class Menus {
 public:
  /// The menu gets an id made of `token`, which no other acceptance has.
  const HeldMenu& keep(HeldMenu menu, std::string_view token);
  /// The row for a bid of that request (of any class, where it names none), payer and user while `rule` is in force; fails when there is none, or it is not for
  /// them. Does not look whether the menu is in use.
  Result<TakenRow> find(const RowName& name, const Bid& bid, std::string_view rule, Time now) const;
  /// Whether an acceptance that is not a job yet has taken a row of the user's menu.
  bool in_use(std::uint32_t uid) const;
  void use(std::uint32_t uid, const std::string& token);
  /// The acceptance became a job: its menu goes.
  void used(std::uint32_t uid, const std::string& token);
  /// The acceptance became no job: its menu can be used again.
  void give_back(std::uint32_t uid, const std::string& token);
  /// Those that are good no more go.
  void forget(Time now);

 private:
  std::map<std::uint32_t, HeldMenu> menus_;  ///< by uid
};

}  // namespace market
