// SPDX-License-Identifier: GPL-2.0-or-later
// From how a user's jobs of one name did to the utility of the next one (Abacus, section 5).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/ledger/utility_runs.h"
#include "core/words/utility_wish.h"

namespace market {

/// What the runs of a name tell.
struct LearnedUtility {
  std::size_t runs = 0;  ///< that ask for the same TRES as the newest one
  Time last = 0;         ///< when that ended
  UtilityWish wish;      ///< linear, weights add up to 1; holds where `why_not` is empty
  double rss = 0;        ///< of the sum of the squares of 1/seconds, what the fit leaves, 0..1
  std::string why_not;   ///< why it is not used, for people
  bool is_used() const { return why_not.empty(); }
};

/// The fit of equation (2) to the runs of one name, in the order of their ends, with 1 ÷ response time as
/// the utility. It is not used with fewer runs than resources and one, where the shares hardly vary by themselves
/// (a weight is then known to less than kMostError, or the columns differ by less than kLeastVariation), and
/// where it leaves more than `max_rss`.
LearnedUtility learn_utility(std::span<const ledger::UtilityRun> runs, const Abacus& settings);

/// The name under which a job's runs are learned from: "" for what is no name, or too long to be told from
/// others by its beginning.
std::string utility_name(std::string_view job_name);

/// "cpu:0.86,mem:0.14", as --utility takes it.
std::string utility_text(const UtilityWish& wish);

}  // namespace market
