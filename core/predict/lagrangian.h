// SPDX-License-Identifier: GPL-2.0-or-later
// Price search for the linear program of the LP-based predictor (ERA, section 3.2) with any number
// of resources: relax the capacities of the slots, one price for each slot and resource, and let
// every request answer the prices on its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace market {

/// One bid of the past for several resources at once.
struct BundleRequest {
  std::size_t arrival = 0;
  std::size_t deadline = 0;  ///< > arrival
  double duration = 0;       ///< slots wanted in [arrival, deadline), > 0
  double value = 0;          ///< credits for each slot at full rate, >= 0
  std::vector<double>
      widths;  ///< units of each resource held in a slot at full rate, >= 0, not all 0
};

struct PriceSearchOptions {
  int rounds = 80;    ///< most answers of all requests
  double gap = 2e-3;  ///< stop when the allocation is within this part of the bound
};

/// Prices and an allocation that prove each other nearly best: objective <= optimum <= bound.
struct PriceForecast {
  std::size_t resources = 0;
  std::vector<double> prices;       ///< credits per unit, by slot, then resource
  double bound = 0;                 ///< Lagrangian bound, the best of all rounds
  double objective = 0;             ///< of `rates`
  std::vector<std::size_t> offset;  ///< of each request in `rates`
  std::vector<double> rates;        ///< part of full rate, by request, then slot of its window
  int rounds = 0;

  double price(std::size_t slot, std::size_t resource) const {
    return prices[slot * resources + resource];
  }
};

/// Maximises Σ value_j x_jt subject to Σ_t x_jt <= duration_j, 0 <= x_jt <= 1, Σ_j widths_jr x_jt
/// <= capacity[r] in each of `slots`. In every round each request takes the cheapest slots of its
/// window that cost less than their value; prices move by Polyak's subgradient step toward the gap
/// to the best allocation so far, which is filled in order of value over price, cheapest slots
/// first. O(variables) time a round, O(variables) memory.
PriceForecast search_prices(std::span<const BundleRequest> requests, std::size_t slots,
                            std::span<const double> capacity,
                            const PriceSearchOptions& options = {});

}  // namespace market
