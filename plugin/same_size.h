// SPDX-License-Identifier: GPL-2.0-or-later
// Whether Slurm counts the same CPUs and nodes for two jobs that wait.
#ifndef SLURM_MARKET_SAME_SIZE_H
#define SLURM_MARKET_SAME_SIZE_H

#include "plugin/compat/slurm_api.h"

// True when all that slurm_count() may look at is the same in both records. Of lists, bitmaps and texts in the details only
// that there are none is known to be the same: jobs that name nodes or features, or wait for other jobs, are never.
bool same_size(const job_record_t* a, const job_record_t* b);

#endif
