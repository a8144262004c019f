// SPDX-License-Identifier: GPL-2.0-or-later
// What jobcomp/market does at each of Slurm's calls; compat/jobcomp_entry.c gives them the names of
// each version.
#ifndef SLURM_MARKET_JOBCOMP_MARKET_H
#define SLURM_MARKET_JOBCOMP_MARKET_H

#include "plugin/compat/slurm_api.h"

// The functions of the site's own jobcomp plugin, in the order of Slurm's table for this version.
typedef struct site_jobcomp {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*set_location)(char* location);
#else
  int (*set_location)(void);
#endif
#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
  int (*log_record)(job_record_t* job);
#else
  int (*record_job_end)(job_record_t* job, uint32_t event);
#endif
  market_list_t* (*get_jobs)(slurmdb_job_cond_t* condition);
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_26_05
  int (*record_job_start)(job_record_t* job, uint32_t event);
#endif
} site_jobcomp_t;

// All members are NULL when the site has none.
extern site_jobcomp_t site_jobcomp;

extern const char* const site_jobcomp_names[];
extern const int site_jobcomp_name_count;

// Loads the jobcomp plugin that market.conf names, if any. Returns SLURM_SUCCESS or SLURM_ERROR
// (said in the log).
int jobcomp_market_open(void);

// Unloads it; a second call does nothing.
void jobcomp_market_close(void);

// Settles the run that just ended and writes what was charged into the job's note, and into its
// admin_comment where the site wants that.
void jobcomp_market_settle(job_record_t* job);

#endif
