// SPDX-License-Identifier: GPL-2.0-or-later
// What a bid can have: starts with a price and a place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/market/menus.h"
#include "core/market/starts.h"
#include "core/market/state.h"

namespace market {

/// A start with its price and its place.
struct Choice {
  Time start = 0;
  Money price;
  Placement placement;
  std::optional<ExPost> ex_post{};  // as Terms::ex_post
};

enum class Prefer { kCheapest, kEarliest, kValue };

/// Which of the starts is wanted.
struct Wish {
  Prefer prefer = Prefer::kCheapest;
  const Sigmoid* value = nullptr;  // kValue
  Time bid_made = 0;               // kValue
  std::optional<Money> limit;      // no start dearer than this
  Time only_start = 0;             // a start less than a slot from this one, or none
  std::string ignore;              // key of a booking that counts as free
  StartSpans* full = nullptr;      // closed starts, kept between searches for one request
};

/// What a bid wants: the cheapest start, or with a value the one that leaves it most.
inline Wish wish_for(const Bid& bid, Time bid_made) {
  Wish wish;
  if (bid.worth.value) {
    wish.prefer = Prefer::kValue;
    wish.value = &*bid.worth.value;
    wish.bid_made = bid_made;
  }
  return wish;
}

struct Found {
  std::optional<Choice> choice;
  bool capped = false;    // gave up after kMaxPlacements places
  bool for_sale = false;  // at least one start has a price within the limit
};

/// A submission that passed all checks but price and funds.
struct Draft {
  Bid bid;
  BidTexts texts;
  std::string user;
  std::uint32_t tasks = 1, throttle = 0;
  bool set_account = false, set_partition = false;
  bool held = false, array = false;
  Time wanted_deadline = 0;       // as the user gave it; 0: none
  std::size_t learned_runs = 0;   // from which its utility was learned; 0: it was not
  std::optional<TakenRow> row{};  // of the menu named in texts.quote
};

/// The tasks of a draft that have a place.
struct Group {
  std::vector<Provisional::Task> tasks;
  Money total, dearest;
  std::optional<Found> missing;  // what the next task would have got
};

/// A draft that would be accepted.
struct Trial {
  Money dearest;
  Time last_start = 0;
  Money total;  // of all tasks
};

/// A run's end as the books and its user will see it.
struct Bill {
  const char* state = "";
  Time elapsed = 0;
  bool ran = false, late = false;
  bool own = false;               // the job's doing or its user's
  bool is_void = false;           // it never began and costs nothing: the lien returns
  std::optional<double> ex_post;  ///< part of a contract\'s price owed by a run that began late
  Money charged, refunded;
  std::optional<ledger::Rest> rest;  // bought and not used
};

}  // namespace market
