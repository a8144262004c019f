// SPDX-License-Identifier: GPL-2.0-or-later
// The nodes that a pending job is awarded, as the required nodes of its record.
#ifndef SLURM_MARKET_AWARD_H
#define SLURM_MARKET_AWARD_H

#include <stdint.h>
#include <time.h>

#include "plugin/compat/slurm_api.h"

// The job may start on these nodes alone (comma list, at most `most` of them; "" and 0: anywhere).
// NULL, or why it cannot: then its record is as it was. Needs the job WRITE and node READ locks.
const char* award_require(job_record_t* job, const char* nodes, uint32_t most);

// The same, and fails where Slurm would never start the job there. Needs the locks of a pass.
const char* award_give(job_record_t* job, const char* nodes, uint32_t most, time_t now);

#endif
