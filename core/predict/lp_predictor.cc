// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/lp_predictor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>

#include "core/predict/allocation_lp.h"
#include "core/predict/lagrangian.h"

namespace market {
namespace {

/// About a second.
constexpr std::uint64_t kMostExactSteps = 100'000'000;
constexpr std::size_t kMostVariables = 1'000'000;

/// Quantities up to this part of the capacity are left out of the curves.
constexpr double kNegligibleShare = 1e-9;

std::int64_t first_slot(const PastDemand& demand) {
  return static_cast<std::int64_t>(std::floor(demand.begin));
}

std::int64_t end_slot(const PastDemand& demand) {
  return static_cast<std::int64_t>(std::ceil(demand.end));
}

/// Units by request, then slot of its window.
std::vector<double> allocate(std::span<const SlotRequest> requests, std::size_t slots,
                             double capacity) {
  std::vector<double> units;
  const auto best =
      best_allocation_within(requests, std::vector<double>(slots, capacity), kMostExactSteps);
  if (best) {
    units.reserve(best->size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      units.insert(units.end(), best->units(i).begin(), best->units(i).end());
    }
    return units;
  }
  std::vector<BundleRequest> bundles;
  bundles.reserve(requests.size());
  for (const SlotRequest& request : requests) {
    bundles.push_back({request.arrival,
                       request.deadline,
                       request.amount / request.width,
                       request.price * request.width,
                       {request.width}});
  }
  const PriceForecast found = search_prices(bundles, slots, std::span(&capacity, 1));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t at = found.offset[i]; at < found.offset[i + 1]; ++at) {
      units.push_back(found.rates[at] * requests[i].width);
    }
  }
  return units;
}

}  // namespace

void LpPredictor::learn(std::span<const PastDemand> demands, double cycles_covered) {
  const auto cycle = static_cast<std::int64_t>(curves_.size());
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  std::size_t variables = 0;
  for (const PastDemand& demand : demands) {
    first = std::min(first, first_slot(demand));
    variables += static_cast<std::size_t>(end_slot(demand) - first_slot(demand));
  }
  const std::size_t each = variables / kMostVariables + 1;
  std::vector<SlotRequest> requests;
  requests.reserve(demands.size() / each + 1);
  for (std::size_t i = 0; i < demands.size(); i += each) {
    const PastDemand& demand = demands[i];
    const std::int64_t end = end_slot(demand) - first;
    last = std::max(last, end);
    const double width = demand.width * static_cast<double>(std::min(each, demands.size() - i));
    requests.push_back({static_cast<std::size_t>(first_slot(demand) - first),
                        static_cast<std::size_t>(end), width, width * demand.duration,
                        demand.price});
  }
  const std::vector<double> units = allocate(requests, static_cast<std::size_t>(last), capacity_);

  std::vector<std::map<double, double, std::greater<>>> sums(curves_.size());
  std::size_t at = 0;
  for (const SlotRequest& request : requests) {
    for (std::size_t slot = request.arrival; slot < request.deadline; ++slot, ++at) {
      if (units[at] <= 0) continue;
      const std::int64_t place = (first + static_cast<std::int64_t>(slot)) % cycle;
      sums[static_cast<std::size_t>(place < 0 ? place + cycle : place)][request.price] += units[at];
    }
  }
  for (std::size_t slot = 0; slot < curves_.size(); ++slot) {
    curves_[slot].clear();
    for (const auto& [price, quantity] : sums[slot]) {
      if (quantity > kNegligibleShare * capacity_) {
        curves_[slot].push_back({quantity / cycles_covered, price});
      }
    }
  }
}

}  // namespace market
