// SPDX-License-Identifier: GPL-2.0-or-later
// Requests that start at one moment, each on nodes of its own, as Slurm starts the components of a
// heterogeneous job.
#pragma once

#include <optional>
#include <vector>

#include "core/market/offer.h"

namespace market {

struct Site;

/// One choice for each request, all with the same start, and the sum of their prices.
struct Together {
  std::vector<Choice> parts;
  Money total;
};

/// The start in the windows of all requests at which their prices have the least sum, of those with
/// places for all; each is priced as bought after those before it (ERA, section 3.1: a request is a
/// list of requests that are all needed). Of the starts with places only a few are priced, those
/// first at which one request for all would cost least. Nothing is booked. Nothing where there
/// is none.
std::optional<Together> cheapest_together(Site& site, const std::vector<Request>& requests,
                                          Time now);
/// The first start in [from, until] with places for all, at no price, whatever their windows.
std::optional<Together> earliest_together(const Site& site, const std::vector<Request>& requests,
                                          Time from, Time until);

}  // namespace market
