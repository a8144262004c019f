// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/resource_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace market {
namespace {

constexpr double kPartsOfUnit = 1 << 20;
/// Quotients of decimals that should be whole are a little less now and then.
constexpr double kBillingRounding = 1e-3;

/// Whether a part of a configuration named `part` takes of `tres`: a gres without a type takes of
/// all its types.
bool takes_of(std::string_view part, std::string_view tres) {
  if (part == tres) return true;
  return part.starts_with("gres/") && part.find(':') == part.npos && tres.size() > part.size() &&
         tres.starts_with(part) && tres[part.size()] == ':';
}

double amount_for(const Amounts& left, std::string_view part) {
  double amount = 0;
  for (const auto& [tres, there] : left) {
    if (takes_of(part, tres)) amount += there;
  }
  return amount;
}

double bundles_in(const Amounts& left, const ResourceConfiguration& configuration) {
  double bundles = std::numeric_limits<double>::infinity();
  for (const ResourceAmount& part : configuration.formal)
    bundles = std::min(bundles, amount_for(left, part.tres) / part.amount);
  return std::isfinite(bundles) ? std::max(0.0, bundles) : 0;
}

void take(Amounts& left, std::string_view part, double amount) {
  for (auto& [tres, there] : left) {
    if (!takes_of(part, tres)) continue;
    const double taken = std::min(there, amount);
    there -= taken;
    amount -= taken;
  }
}

}  // namespace

Amounts actual_amounts(const Tres& formal, std::span<const ResourceConfiguration> configurations) {
  Amounts left(formal.begin(), formal.end());
  Amounts actual;
  for (const ResourceConfiguration& configuration : configurations) {
    const double bundles = bundles_in(left, configuration);
    if (bundles <= 0) continue;
    for (const ResourceAmount& part : configuration.formal)
      take(left, part.tres, bundles * part.amount);
    for (const ResourceAmount& part : configuration.actual)
      actual[part.tres] += bundles * part.amount;
  }
  for (const auto& [tres, amount] : left) actual[tres] += amount;
  for (auto& [tres, amount] : actual)
    amount = std::floor(amount * kPartsOfUnit + kBillingRounding) / kPartsOfUnit;
  return actual;
}

}  // namespace market
