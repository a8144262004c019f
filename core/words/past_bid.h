// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "core/words/bid.h"

namespace market {

/// One bid of the past, as the ledger keeps it; what demand prediction learns from. Its window ends
/// with the bid's own, at most the horizon ahead; that of a sigmoid where half of its value is
/// left.
struct PastBid {
  Time submitted = 0;
  Time earliest = 0;
  Time deadline = 0;
  Time duration = 0;
  Tres tres;
  double value = 0;         ///< credits: the budget, or the sigmoid's maximum
  std::string partition{};  ///< where it was made
  bool is_prior = false;    ///< made up from a log by `smarket learn`
  double weight = 1;        ///< so many such bids
  bool observed = false;    ///< by a market that only observes: others learn nothing from it
  bool is_refused = false;  ///< what it asks for is bounded by its value alone
  std::string job_class{};  ///< of contracts; empty: none
  Time drop = 0, zero = 0;  ///< of a sigmoid, seconds after the bid; `zero` 0: it is none
  double work = 0;          ///< of a recurrent class; 0: none
  bool operator==(const PastBid&) const = default;
};

}  // namespace market
