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
  return bookings.next_end(start, 1 << std::min(tried / kStrideEvery, 8));
}

Time next_try(const Bookings& bookings, PlaceSearch& places, Time start, Time end, int tried) {
  const Time open = places.open_from(start, end, bookings.next_end(start));
  return std::max(next_try(bookings, start, tried), open);
}

}  // namespace market
