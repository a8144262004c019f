// SPDX-License-Identifier: GPL-2.0-or-later
// Carries the market's orders out on Slurm's records.
#ifndef SLURM_MARKET_ORDERS_H
#define SLURM_MARKET_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "core/face/market.h"

// The orders of one pass come in two parts, and tell the market which of them failed. Both need the locks of a pass: conf READ,
// job WRITE, node WRITE, partition READ, federation READ. Both return whether the scheduler should look again.

// Those that change jobs, one after another: under the locks under which the market decided them, so that what users do
// meanwhile is not undone.
bool orders_for_jobs(const market_order_t* orders, size_t count, time_t now);

// Those that make, move, use and delete reservations, of which Slurm looks at all jobs for each: one after another from *next
// on, until the clock shows `until_us` (clock.h), but at least one. Sets *next to the first one left, or to `count`. The locks
// may be given back in between.
bool orders_for_reservations(const market_order_t* orders, size_t count, size_t* next,
                             int64_t until_us, time_t now);

#endif
