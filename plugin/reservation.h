// SPDX-License-Identifier: GPL-2.0-or-later
// The market's reservations in slurmctld: exactly the given cores of the given nodes for one user.
// All functions need the locks of a pass (job and node WRITE) and return NULL, or why it did not
// happen.
#ifndef SLURM_MARKET_RESERVATION_H
#define SLURM_MARKET_RESERVATION_H

#include "core/face/market.h"
#include "plugin/compat/slurm_api.h"

// Creates reservation order->name on order->allocs for [order->start, order->end), instead of one of that name unless it is
// the same. Cores that are taken then, by a running job or another reservation, are a reason to refuse; nothing is left behind
// in that case.
const char* reservation_create(const market_order_t* order, time_t now);

// Moves the end of the reservation.
const char* reservation_extend(const char* name, time_t end);

// Deletes the reservation; jobs bound to it stay in the queue or go on running. Those of a place that was
// bought end with it, unless it `moves`: then they keep its name, under which it comes again at once. No
// such reservation is no failure.
const char* reservation_delete(const char* name, bool moves);

// Binds a pending job to the reservation.
const char* reservation_bind(job_record_t* job, const char* name);

// Takes the job out of its market reservation, if it is in one.
void reservation_unbind(job_record_t* job);

#endif
