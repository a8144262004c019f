// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus with service levels: only jobs that reach their least utility take part.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "core/mechanism/abacus.h"

namespace market::abacus {

struct SloJob {
  double budget = 0;  ///< credits, > 0
  Utility utility;
  double min_utility = 0;
};

struct Pools {
  std::vector<std::size_t> order;     ///< all jobs, most budget per needed share first
  std::vector<double> density;        ///< in that order, credits; infinity where nothing is needed
  std::vector<std::size_t> prolific;  ///< in order of admission
  std::vector<std::size_t> others;    ///< in that greedy order
  std::vector<std::size_t> members;   ///< the prolific ones in input order, rows of `outcome`
  Outcome outcome;                    ///< of the auction among them; converged when there is none
  bool complete = true;               ///< false: given up after `most_work`, the rest is not final
};

/// The prolific pool (Abacus, section 6; rules of solve.md, abacus-slo): jobs are tried in greedy
/// order, those that need nothing at once, and stay when everybody in the pool then reaches its least utility within
/// 1e-9·max(1, |least|). All utilities have `resources` resources. Costs one auction for each job
/// that needs something and could reach its least utility if it had everything; gives up when rounds × jobs × resources
/// of all auctions together exceed `most_work`.
Pools divide_pools(const std::vector<SloJob>& jobs, std::size_t resources, const Options& options,
                   double most_work = std::numeric_limits<double>::infinity());

}  // namespace market::abacus
