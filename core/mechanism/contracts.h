// SPDX-License-Identifier: GPL-2.0-or-later
// Incentive-compatible contracts: "BIC pricing by replica-surrogate matching", sections II and III.
// A job is offered a menu of (expected completion, price); which row it takes tells its true
// urgency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/mechanism/assignment.h"
#include "core/predict/kernel_density.h"
#include "core/valuation/job_class.h"

namespace market {

/// A matching of replicas (rows) with surrogates (columns) and what each pair pays.
struct ContractPrices {
  std::vector<std::uint32_t> surrogate_of_replica;
  std::vector<double> price_of_replica;  ///< eq. (1) for the replica and its surrogate
  double total = 0;                      ///< weight of the matching
};

/// Matching and prices for weights v(replica, completion under surrogate) >= 0 (sections II-B and
/// II-C): 0 <= price <= weight, no replica prefers another contract at its price, and the cheapest
/// contract is free. One matching and one shortest-path search instead of the paper's 2M matchings.
ContractPrices price_contracts(const WeightMatrix& weights);

/// Price to pay in the end (eq. 2 with section III-C): `price` when not late, else reduced by the
/// value received over the value promised, and 0 when nothing was promised. Values are those of the
/// matched replica.
double ex_post_price(double price, double promised_completion, double promised_value,
                     double actual_completion, double actual_value);

struct MenuRow {
  double completion = 0;  ///< expected, seconds after submission
  double price = 0;       ///< credits
  double value = 0;  ///< to the matched replica, credits; what an ex-post price is measured against
  std::uint32_t replica = 0;
  std::uint32_t surrogate = 0;
  bool declared = false;  ///< matched to the type that the user declared
};

struct Menu {
  std::vector<MenuRow> rows;       ///< by completion, then price
  std::vector<double> replicas;    ///< types one after another
  std::vector<double> surrogates;  ///< types one after another
};

struct MenuOrder {
  std::span<const double> declared;  ///< the type the user declares
  std::size_t pairs = 100;           ///< M, at least 1
  std::size_t shown = 0;             ///< rows to show: a uniform sample of the M; 0 shows all
  std::uint64_t seed = 0;
};

/// Expected completions, seconds after submission, when each of `types` (one after another) is what
/// is declared to the scheduler in place of the user's own; as many as there are types.
using Completions = std::function<std::vector<double>(std::span<const double> types)>;

/// The menu of as many `replicas` as `surrogates` (types one after another): matching and prices.
Menu menu_of(const JobClass& valuations, std::vector<double> replicas,
             std::vector<double> surrogates, const Completions& completions);

/// The menu of section II-D: M − 1 replicas and M surrogates from `population`, the declared type
/// among the replicas at a random place, matching, prices, and `shown` of the rows sampled
/// uniformly (section III-D; this keeps the mechanism Bayesian incentive compatible, but only the
/// whole menu is sure to contain a free row).
Menu make_menu(const JobClass& valuations, const KernelDensity& population, const MenuOrder& order,
               const Completions& completions);

}  // namespace market
