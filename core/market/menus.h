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

#include "core/valuation/ex_post.h"
#include "core/words/bid.h"

namespace market {

/// A completion and its price.
struct Contract {
  Time start = 0;       ///< the latest with which it is kept
  Time completion = 0;  ///< start, time limit and start_slack
  Money price;
  std::optional<ExPost> ex_post{};  ///< what a run that starts late owes of the price
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
/// row's cannot be had any more.
struct RowName {
  std::string menu;
  std::size_t row = 0;  ///< from 1
  bool later = false;
};
Result<RowName> parse_row_name(std::string_view text);

/// What a submission takes of a menu.
struct TakenRow {
  RowName name;
  Contract contract;
};

/// The menus that are good. A user has one: the next one takes its place. They are kept in memory
/// only.
class Menus {
 public:
  /// The menu gets an id made of `token`, which no other acceptance has.
  const HeldMenu& keep(HeldMenu menu, std::string_view token);
  /// The row for a bid of that request, payer and user while `rule` is in force; fails when there is none, or it is not for
  /// them. Does not look whether the menu is in use.
  Result<Contract> find(const RowName& name, const Bid& bid, std::string_view rule, Time now) const;
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
