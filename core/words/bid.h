// SPDX-License-Identifier: GPL-2.0-or-later
// A bid: what a job wants, when, and what it is worth. Request is the part that a posted price may
// see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/words/money.h"
#include "core/words/resources.h"
#include "core/words/sigmoid.h"

namespace market {

/// Seconds since the epoch, and spans of seconds.
using Time = std::int64_t;

/// Everything about a job but its worth. Mechanisms that post prices get this and nothing else
/// (invariant 1).
struct Request {
  std::string partition;
  std::string qos;  ///< in small letters; empty: none
  Demand demand;
  Time earliest = 0;  ///< not before (--begin, else now)
  Time deadline = 0;  ///< must have ended by (exclusive); the market fills in earliest + horizon
                      ///< when none was given
  Time duration = 0;  ///< the time limit, seconds
};

/// A job's worth: a budget with an optional deadline, or a sigmoid of the delay since submission;
/// exactly one is set.
struct Worth {
  std::optional<Money> budget;
  std::optional<Sigmoid> value;
  std::optional<Money> rate{};  ///< credits per hour: `budget` is that × the time limit
};

struct Bid {
  Request request;
  Worth worth;
  std::string account;    ///< who pays
  std::uint32_t uid = 0;  ///< who asks, as Slurm authenticated
};

/// A budget that is named by its rate follows the time limit.
inline void fit_budget(Bid& bid) {
  constexpr Time kHour = 3600;
  if (bid.worth.rate) bid.worth.budget = bid.worth.rate->scaled(bid.request.duration, kHour);
}

}  // namespace market
