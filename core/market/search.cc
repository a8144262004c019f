// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/search.h"

#include <algorithm>

namespace market {
namespace {

constexpr int kStrideEvery = 40;  // tries after which twice as many ends are skipped at once

}  // namespace

// Room appears only where a booking ends.
// On a full cluster many ends free too little; so that a quote stays bounded and is still found
// weeks ahead, ever more of them are passed over, at the price of a start that much later.
Time next_try(const Bookings& bookings, Time start, int tried) {
  Time next = start;
  for (int skip = 1 << std::min(tried / kStrideEvery, 8); skip > 0; --skip)
    next = bookings.next_end(next);
  return next;
}

}  // namespace market
