// SPDX-License-Identifier: GPL-2.0-or-later
// How far a search for a start goes on where nothing fits.
#pragma once

#include "core/market/bookings.h"
#include "core/plan/place_search.h"

namespace market {

/// The next start worth a try when nothing fits at `start`, after `tried` tries; `start` when there is none.
Time next_try(const Bookings& bookings, Time start, int tried);
/// The same when places.at(start, end) has just found nothing.
Time next_try(const Bookings& bookings, PlaceSearch& places, Time start, Time end, int tried);

}  // namespace market
