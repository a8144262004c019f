// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs in a reservation that somebody bought from the market (smarket reserve).
#ifndef SLURM_MARKET_PLACE_H
#define SLURM_MARKET_PLACE_H

#include "plugin/compat/slurm_api.h"

enum { PLACE_UNKNOWN = -1 };

// Slurm's code for a job that names one: it costs nothing of its own, and Slurm says who else but the
// owner may use it. PLACE_UNKNOWN where nobody bought one of that name. A job without a time limit gets
// the time that is left.
int place_enter(job_desc_msg_t* request, uint32_t owner, bool bids, char** message);

// Slurm's code for a change of a job in one: it stays in there, and ends with it. Else jobs without a bid
// would come in that way where none may.
int place_keep(const job_desc_msg_t* change, const job_record_t* job, char** message);

#endif
