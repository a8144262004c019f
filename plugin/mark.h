// SPDX-License-Identifier: GPL-2.0-or-later
// A number for all that the market is told of a job that waits or runs, so that a pass needs to read only the records
// that are other than they were.
#ifndef SLURM_MARKET_MARK_H
#define SLURM_MARKET_MARK_H

#include "plugin/compat/slurm_api.h"

// Another number when anything of the job is other that convert_job() would tell; 0 for a job that each pass is to
// be told of: one that is suspended or has ended, and the record of an array. Not seen are a text that Slurm itself replaced by
// another one at the same address, what the details point to, and the site's defaults for each GPU: the market asks for
// each record anew every few minutes, and whenever somebody changes the job.
uint64_t mark_of(const job_record_t* job);

// Another number when the job starts, ends, is held or released, waits for something of its own, or is to end at another
// time; cheap.
uint64_t glance_of(const job_record_t* job);

#endif
