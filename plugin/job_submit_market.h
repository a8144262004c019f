// SPDX-License-Identifier: GPL-2.0-or-later
// What job_submit/market does at each of Slurm's calls; compat/job_submit_entry.c gives them the
// names of each version.
#ifndef SLURM_MARKET_JOB_SUBMIT_MARKET_H
#define SLURM_MARKET_JOB_SUBMIT_MARKET_H

#include "plugin/compat/slurm_api.h"

// Lets the market judge a new job. Returns SLURM_SUCCESS, or the code the user gets; `message`
// becomes xmalloc'ed lines for the user, or stays NULL. Reads only memory.
int job_submit_market_submit(job_desc_msg_t* request, uint32_t uid, char** message);

// Lets the market judge a change of a job that is the market's.
int job_submit_market_modify(job_desc_msg_t* change, job_record_t* job, uint32_t uid,
                             char** message);

#endif
