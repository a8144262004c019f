// SPDX-License-Identifier: GPL-2.0-or-later
// Which jobs hold cores of a node, and which name a reservation: found in one walk over Slurm's list of jobs, for many orders.
// All functions need the locks of a pass; what they return holds until these are given back.
#ifndef SLURM_MARKET_JOB_INDEX_H
#define SLURM_MARKET_JOB_INDEX_H

#include "plugin/compat/slurm_api.h"

typedef struct job_span {
  job_record_t* const* jobs;
  size_t count;
} job_span_t;

// Other threads may have changed the list: the next question looks at it again.
void job_index_forget(void);

// Jobs that ran or were suspended on the node when the list was looked at.
job_span_t job_index_on_node(uint32_t node);

// Jobs that named a reservation when the list was looked at, and those that were told since.
job_span_t job_index_bound(void);

// The job names a reservation from now on.
void job_index_bind(job_record_t* job);

void job_index_free(void);

#endif
