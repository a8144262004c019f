// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/resource_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace market {
namespace {

constexpr double kPartsOfUnit = 1 << 20;
/// Quotients of decimals that should be whole are a little less now and then.
constexpr double kRounding = 1e-3;

double bundles_in(const Amounts& left, const ResourceConfiguration& configuration) {
  double bundles = std::numeric_limits<double>::infinity();
  for (const ResourceAmount& part : configuration.formal) {
    const auto found = left.find(part.tres);
    bundles = std::min(bundles, found == left.end() ? 0 : found->second / part.amount);
  }
  return std::isfinite(bundles) ? std::max(0.0, bundles) : 0;
}

}  // namespace

Amounts actual_amounts(const Tres& formal, std::span<const ResourceConfiguration> configurations) {
  Amounts left(formal.begin(), formal.end());
  Amounts actual;
  for (const ResourceConfiguration& configuration : configurations) {
    const double bundles = bundles_in(left, configuration);
    if (bundles <= 0) continue;
    for (const ResourceAmount& part : configuration.formal)
      left[part.tres] -= bundles * part.amount;
    for (const ResourceAmount& part : configuration.actual)
      actual[part.tres] += bundles * part.amount;
  }
  for (const auto& [tres, amount] : left) actual[tres] += amount;
  for (auto& [tres, amount] : actual)
    amount = std::floor(amount * kPartsOfUnit + kRounding) / kPartsOfUnit;
  return actual;
}

}  // namespace market
