// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/prior.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/mechanism/billing.h"

namespace market {
namespace {

/// All bids of one kind.
struct Sum {
  double billing_hours = 0;
  /// From the first that was made to the end of the last; a time limit may be far beyond that end.
  Time first = 0, last = 0;

  void add(double size, const PastBid& bid) {
    first = billing_hours == 0 ? bid.submitted : std::min(first, bid.submitted);
    last = std::max(last, bid.submitted + std::min(bid.duration, kDay));
    billing_hours += size;
  }
};

double cycles(Time span, const MarketSettings& settings) {
  return std::max(1.0, static_cast<double>(span) / static_cast<double>(settings.predictor_cycle));
}

}  // namespace

void weigh_prior(std::vector<PastBid>& bids, const MarketSettings& settings,
                 const Capacity& capacity, Time now) {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, amount] : capacity.total) names.insert(name);
  Sum prior, real;
  for (const PastBid& bid : bids) {
    const double hours = static_cast<double>(bid.duration) / kSecondsPerHour;
    const double size = billing_units_of(settings, bid.tres, names) * hours;
    // A bid that was refused has cost nothing: it takes no place of what was learned from a log.
    if (size > 0 && !bid.is_refused) (bid.is_prior ? prior : real).add(size, bid);
  }
  if (prior.billing_hours <= 0) return;
  const double prior_cycles = cycles(prior.last - prior.first, settings);
  const double of_a_cycle = prior.billing_hours / prior_cycles;
  const double left = std::max(0.0, 1 - real.billing_hours / of_a_cycle);
  // Learners divide by the cycles that real bids cover.
  const double real_cycles = real.billing_hours > 0 ? cycles(now - real.first, settings) : 1;
  for (PastBid& bid : bids) {
    if (bid.is_prior) bid.weight = left * real_cycles / prior_cycles;
  }
  std::erase_if(bids, [](const PastBid& bid) { return bid.weight <= 0; });
}

}  // namespace market
