// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm itself says of a pending job: how much it would allocate, whether it could start.
#ifndef SLURM_MARKET_SLURM_COUNT_H
#define SLURM_MARKET_SLURM_COUNT_H

#include "plugin/compat/slurm_api.h"

// The CPUs and nodes that Slurm would allocate to the pending job on the nodes of its partition
// that are up, by now or when running jobs have ended. False when it has no place for it. The job
// stays as it is. Needs the write locks of jobs and nodes.
bool slurm_count(job_record_t* job, uint32_t* cpus, uint32_t* nodes);

// Why Slurm could not start the pending job in the reservation that begins at `start` and that it
// is bound to; NULL when it could.
const char* slurm_start_refused(job_record_t* job, time_t start);

#endif
