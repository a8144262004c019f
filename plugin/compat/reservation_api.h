// SPDX-License-Identifier: GPL-2.0-or-later
// Reservation calls of slurmctld that differ between versions.
#ifndef SLURM_MARKET_COMPAT_RESERVATION_API_H
#define SLURM_MARKET_COMPAT_RESERVATION_API_H

#include "plugin/compat/slurm_api.h"

// create_resv(): returns Slurm's code; strings of `wish` must be xmalloc'ed, those it took are NULL
// afterwards.
int compat_create_reservation(resv_desc_msg_t* wish);

// Sends the reservation as it is now to the accounting storage, which saw it as it was created.
void compat_record_reservation(slurmctld_resv_t* resv);

#endif
