// SPDX-License-Identifier: GPL-2.0-or-later
// How far a search for a start goes on where nothing fits.
#pragma once

#include "core/market/bookings.h"

namespace market {

/// The next start worth a try when nothing fits at `start`, after `tried` tries.
Time next_try(const Bookings& bookings, Time start, int tried);

}  // namespace market
