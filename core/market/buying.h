// SPDX-License-Identifier: GPL-2.0-or-later
// A job that buys again, here or in another market than before.
#pragma once

#include "core/market/site.h"

namespace market {

/// Gives back what the job has and buys for `request`, at `keep_start` where that can be had (0: at
/// the best start). What its owner gives back waits for its resale. False: the job waits now.
bool buy_again(Site& site, Job& job, const Request& request, Time keep_start, Time now,
               bool by_owner = true);

/// Whether `request` is what the job has, for less time, so that it keeps its place and price.
bool is_cut(const Site& site, const Job& job, const Request& request, Time now);

/// The job keeps its place for the shorter time of `request`, at the same part of its price; the
/// rest waits for its resale.
void cut(Site& site, Job& job, const Request& request, Time now);

/// Its owner let its start pass: the place goes, and waits for its resale with what was set aside for
/// the job. False: that costs nothing, and the job keeps its lien.
bool lose_place(Site& site, Job& job, Time now);

/// A place for the job as it is now, at its start where that can still be had, at the price that its
/// owner was told. False: it waits now.
bool move_at_told_price(Site& site, Job& job, const Request& request, Time now);

/// A job that was not ready at its start buys again: at its price where that is still enough, else
/// at the posted one. Otherwise a hold would carry a cheap hour's price into a dear one.
void replan_missed(Site& site, Job& job, Time from, Time now);

}  // namespace market
