// SPDX-License-Identifier: GPL-2.0-or-later
// Carries the market's orders out on Slurm's records.
#ifndef SLURM_MARKET_ORDERS_H
#define SLURM_MARKET_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "core/face/market.h"

// All of these tell the market which orders failed, and need the locks of a pass: conf READ, job WRITE, node WRITE, partition
// READ, federation READ. They set *changed when the scheduler should look again.

// Carries out those that may not wait, which come first, one after another. Returns their number.
size_t orders_carry_out(const market_order_t* orders, size_t count, time_t now, bool* changed);

// Carries out the first of `count` orders that may wait, at least one, and then others as long as `budget_us` last: for each
// reservation Slurm looks at all jobs. Returns their number. The locks may have been given back before.
size_t orders_carry_on(const market_order_t* orders, size_t count, int64_t budget_us, time_t now,
                       bool* changed);

// Carries none of them out: all have failed.
void orders_give_up(const market_order_t* orders, size_t count, const char* why, time_t now);

#endif
