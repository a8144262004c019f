// SPDX-License-Identifier: GPL-2.0-or-later
// Carries the market's orders out on Slurm's records.
#ifndef SLURM_MARKET_ORDERS_H
#define SLURM_MARKET_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "core/face/market.h"

// Carries the orders out one after another and tells the market which of them failed. Needs the
// locks of a pass: conf READ, job WRITE, node WRITE, partition READ, federation READ. Returns
// whether the scheduler should look again.
bool orders_carry_out(const market_order_t* orders, size_t count, time_t now);

#endif
