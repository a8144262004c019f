// SPDX-License-Identifier: GPL-2.0-or-later
// The entry points of a jobcomp plugin, as each version of Slurm wants them.
#include "plugin/jobcomp_market.h"

const char plugin_name[] = "slurm-market job completion: settles, then the site's own plugin";
const char plugin_type[] = "jobcomp/market";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

const char* const site_jobcomp_names[] = {
    "jobcomp_p_set_location",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
    "jobcomp_p_log_record",
    "jobcomp_p_get_jobs",
#else
    "jobcomp_p_record_job_end",
    "jobcomp_p_get_jobs",
    "jobcomp_p_record_job_start",
#endif
};
const int site_jobcomp_name_count = sizeof(site_jobcomp_names) / sizeof(site_jobcomp_names[0]);
_Static_assert(sizeof(site_jobcomp_t) == sizeof(site_jobcomp_names), "one function for each name");

extern int init(void) {
  return jobcomp_market_open();
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
extern int fini(void) {
  jobcomp_market_close();
  return SLURM_SUCCESS;
}
#else
extern void fini(void) {
  jobcomp_market_close();
}
#endif

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern int jobcomp_p_set_location(char* location) {
  return site_jobcomp.set_location ? site_jobcomp.set_location(location) : SLURM_SUCCESS;
}
#else
extern int jobcomp_p_set_location(void) {
  return site_jobcomp.set_location ? site_jobcomp.set_location() : SLURM_SUCCESS;
}
#endif

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
extern int jobcomp_p_log_record(job_record_t* job_ptr) {
  jobcomp_market_settle(job_ptr);
  return site_jobcomp.log_record ? site_jobcomp.log_record(job_ptr) : SLURM_SUCCESS;
}
#else
extern int jobcomp_p_record_job_end(job_record_t* job_ptr, uint32_t event) {
  jobcomp_market_settle(job_ptr);
  return site_jobcomp.record_job_end ? site_jobcomp.record_job_end(job_ptr, event) : SLURM_SUCCESS;
}

extern int jobcomp_p_record_job_start(job_record_t* job_ptr, uint32_t event) {
  return site_jobcomp.record_job_start ? site_jobcomp.record_job_start(job_ptr, event)
                                       : SLURM_SUCCESS;
}
#endif

extern market_list_t* jobcomp_p_get_jobs(slurmdb_job_cond_t* job_cond) {
  return site_jobcomp.get_jobs ? site_jobcomp.get_jobs(job_cond) : NULL;
}
