// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/billing.h"

#include <algorithm>
#include <iterator>

namespace market {

double weight_per_unit(const MarketSettings& config, std::string_view tres) {
  constexpr double kMbPerGb = 1024;
  const double weight = config.weight_of(tres);
  return tres == "mem" ? weight / kMbPerGb : weight;
}

double billing_units(const MarketSettings& config, const Amounts& actual) {
  double sum = 0;
  double most = 0;
  for (const auto& [name, amount] : actual) {
    const double units = weight_per_unit(config, name) * amount;
    sum += units;
    most = std::max(most, units);
  }
  return config.billing_rule == BillingRule::kSum ? sum : most;
}

Tres with_only_types(const Tres& tres, const std::set<std::string, std::less<>>& names) {
  Tres named;
  for (const auto& [name, amount] : tres) {
    const bool untyped = name.starts_with("gres/") && name.find(':') == std::string::npos;
    const std::string prefix = name + ":";
    const auto type = untyped ? names.lower_bound(prefix) : names.end();
    const auto has_prefix = [&](auto at) { return at != names.end() && at->starts_with(prefix); };
    const bool only = has_prefix(type) && !has_prefix(std::next(type));
    named[only ? *type : name] += amount;
  }
  return named;
}

double billing_units_of(const MarketSettings& config, const Tres& tres,
                        const std::set<std::string, std::less<>>& names) {
  if (config.configurations.empty())
    return billing_units(config, Amounts(tres.begin(), tres.end()));
  return billing_units(config, actual_amounts(with_only_types(tres, names), config.configurations));
}

}  // namespace market
