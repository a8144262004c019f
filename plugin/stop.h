// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that stop so that others get their share, and go on. All need the locks of a pass; each answers
// why it was not done, or NULL.
#ifndef SLURM_MARKET_STOP_H
#define SLURM_MARKET_STOP_H

#include "plugin/compat/slurm_api.h"

// The run leaves its cores. What it would keep beside them is refused: GRES, licences.
const char* stop_suspend(job_record_t* job);

// It goes on, if nobody has one of its cores, and no reservation for others will before its new end:
// Slurm does not look and would run two jobs on them.
const char* stop_resume(job_record_t* job);

// A batch job that may be requeued begins anew later; Slurm keeps it back for the life of its
// credential.
const char* stop_requeue(job_record_t* job);

#endif
