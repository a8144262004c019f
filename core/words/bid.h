// SPDX-License-Identifier: GPL-2.0-or-later
// A bid: what a job wants, when, and what it is worth. Request is the part that a posted price may
// see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/util/rare.h"
#include "core/util/units.h"
#include "core/words/malleable.h"
#include "core/words/money.h"
#include "core/words/resources.h"
#include "core/words/sigmoid.h"
#include "core/words/utility_wish.h"

namespace market {

/// Seconds since the epoch, and spans of seconds.
using Time = std::int64_t;

/// Everything about a job but its worth. Mechanisms that post prices get this and nothing else
/// (invariant 1).
struct Request {
  std::string partition;
  RareText qos;  ///< in small letters; empty: none
  Demand demand;
  Time earliest = 0;     ///< not before (--begin, else now)
  Time deadline = 0;     ///< must have ended by (exclusive); the market fills in earliest + horizon
                         ///< when none was given
  Time duration = 0;     ///< the time limit, seconds
  RareText job_class{};  ///< of contracts: market.conf names them; empty: none
  std::string payer{};   ///< the bid's account, since classes may be open to some accounts only
};

/// A job's worth: a budget with an optional deadline, or a sigmoid of the delay since submission;
/// exactly one is set.
struct Worth {
  std::optional<Money> budget;
  Rare<Sigmoid> value;
  std::optional<Money> rate{};  ///< credits per hour: `budget` is that × the time limit
  double work = 0;              ///< of a recurrent class: the units that `budget` is for
};

struct Bid {
  Request request;
  Worth worth;
  std::string account;    ///< who pays
  std::uint32_t uid = 0;  ///< who asks, as Slurm authenticated
  /// The request is the smallest size then, and its duration the longest run.
  Rare<Malleable> malleable{};
  /// The pot from which a job without a bid pays, "@hpc1:main/cpu/ada/physics"; empty: it has a bid.
  RareText pot{};
  Rare<UtilityWish> utility{};  ///< of abacus, where the user named one
  /// Of abacus: the budget is for an array of so many equal tasks, of each of which the request tells; 0: no array.
  std::uint32_t array_tasks = 0;
  Time level =
      0;  ///< of abacus: by when a run must be able to end to owe anything; 0: no service level
};

/// The account in the books that a run is charged to.
inline const std::string& payer(const Bid& bid) {
  return bid.pot.empty() ? bid.account : bid.pot.str();
}

inline void set_account(Bid& bid, std::string account) {
  bid.request.payer = account;
  bid.account = std::move(account);
}

/// A budget that is named by its rate follows the time limit.
inline void fit_budget(Bid& bid) {
  if (bid.worth.rate) bid.worth.budget = bid.worth.rate->scaled(bid.request.duration, kHour);
}

}  // namespace market
