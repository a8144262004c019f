// SPDX-License-Identifier: GPL-2.0-or-later
// A job that buys again, here or in another market than before.
#pragma once

#include "core/market/site.h"

namespace market {

/// Gives back what the job has and buys for `request`, at `keep_start` where that can be had (0: at
/// the best start). False: it waits now.
bool buy_again(Site& site, Job& job, const Request& request, Time keep_start, Time now);

/// A place for the job as it is now, at its start where that can still be had, at the price that its
/// owner was told. False: it waits now.
bool move_at_told_price(Site& site, Job& job, const Request& request, Time now);

/// A job that was not ready at its start buys again: at its price where that is still enough, else
/// at the posted one. Otherwise a hold would carry a cheap hour's price into a dear one.
void replan_missed(Site& site, Job& job, Time from, Time now);

}  // namespace market
